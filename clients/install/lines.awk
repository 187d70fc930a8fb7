# Sets or takes back statements in a TOML, YAML or shell variable file, and leaves every other line as it is.
#   MG_MODE    apply | revert
#   MG_FORMAT  toml | yaml | env
#   MG_TEXT    file: the text, with a line holding one \001 after its last byte
#   MG_BEFORE  file, for revert: the text as it was before, in the same form; may not exist
#   MG_OPS     file: lines "op TAB statement TAB text"; op is set, or default (only where nothing is there); \n ends a line
#   MG_KEY     stands for @key@ in texts
# A statement is a key of the first level; in TOML also [a.table]; in YAML also key[name=item] in a list.
# Writes the new text. Ends with 3 and a sentence on standard error where the text is not what it should be.
BEGIN {
  TAB = "\t"
  format = ENVIRON["MG_FORMAT"]
  read_lines(ENVIRON["MG_TEXT"])
  read_ops()
  if (ENVIRON["MG_MODE"] == "apply") apply()
  else revert()
  for (i = 1; i <= count; i++) printf "%s%s", lines[i], ((i < count || final) ? "\n" : "")
  exit 0
}

function read_lines(file, line) {
  count = 0
  final = 1
  while ((getline line < file) > 0) lines[++count] = line
  close(file)
  if (count > 0 && lines[count] == "\001") count--
  else if (count > 0 && sub(/\001$/, "", lines[count])) final = 0
}

function read_ops(line, fields) {
  op_count = 0
  while ((getline line < ENVIRON["MG_OPS"]) > 0) {
    split(line, fields, TAB)
    op_count++
    op_kind[op_count] = fields[1]
    op_name[op_count] = fields[2]
    op_text[op_count] = fields[3]
  }
  close(ENVIRON["MG_OPS"])
}

function fail(message) {
  print message > "/dev/stderr"
  exit 3
}

function apply(i, value) {
  for (i = 1; i <= op_count; i++) {
    parse()
    value = op_text[i]
    gsub(/@key@/, ENVIRON["MG_KEY"], value)
    gsub(/\\n/, "\n", value)
    if (op_name[i] in from) {
      if (op_kind[i] == "set") replace(op_name[i], value)
    } else insert(op_name[i], value)
  }
  parse()
}

function revert(i, j, name, wanted, current, now, kept) {
  for (i = op_count; i >= 1; i--) {
    name = op_name[i]
    parse()
    if (!(name in from)) continue
    wanted = op_text[i]
    gsub(/\\n/, "\n", wanted)
    current = statement(name)
    if (plain(current) != plain(wanted)) continue
    kept = before_of(name)
    if (had) replace(name, kept)
    else remove(name)
  }
  parse()
}

# The statement as it was before; had says whether there was one.
function before_of(name, i, text, kept, kept_count, kept_final) {
  had = 0
  if (ENVIRON["MG_BEFORE"] == "") return ""
  for (i = 1; i <= count; i++) kept[i] = lines[i]
  kept_count = count
  kept_final = final
  read_lines(ENVIRON["MG_BEFORE"])
  parse()
  had = name in from
  if (had) text = statement(name)
  had_list = list_of(name) in from
  for (i = 1; i <= kept_count; i++) lines[i] = kept[i]
  count = kept_count
  final = kept_final
  parse()
  return text
}

function plain(text) {
  gsub(/sk-mg-[0-9A-Za-z]+/, "@key@", text)
  gsub(/[ \t\r]+/, " ", text)
  gsub(/(^|\n) /, "\n", text)
  gsub(/\n+/, "\n", text)
  sub(/^\n/, "", text)
  return text
}

function statement(name, i, text) {
  for (i = from[name]; i <= to[name]; i++) text = text (i > from[name] ? "\n" : "") lines[i]
  return text
}

function replace(name, value, parts, size, i, indent) {
  indent = item_indent(name)
  if (plain(statement(name)) == plain(value)) return
  size = split(value, parts, "\n")
  splice(from[name], to[name] - from[name] + 1, size)
  for (i = 1; i <= size; i++) lines[from[name] + i - 1] = indented(parts[i], indent)
}

function insert(name, value, at, parts, size, i, indent) {
  at = place(name)
  if (format == "toml" && name ~ /^\[/ && at > 1 && lines[at - 1] !~ /^[ \t\r]*$/) value = "\n" value
  if (format == "toml" && name !~ /^\[/ && at <= count && lines[at] ~ /^[ \t]*\[/) value = value "\n"
  if (format == "yaml" && name ~ /\[name=/ && !(list_of(name) in from)) {
    value = list_of(name) ":\n" value
  }
  indent = item_indent(name)
  size = split(value, parts, "\n")
  splice(at, 0, size)
  for (i = 1; i <= size; i++) lines[at + i - 1] = i == 1 && parts[i] ~ /^[a-z]+:$/ ? parts[i] : indented(parts[i], indent)
  final = 1
}

function indented(line, indent) {
  return line == "" ? "" : indent line cr()
}

function cr() {
  return count > 1 && lines[1] ~ /\r$/ ? "\r" : ""
}

function remove(name, list) {
  list = list_of(name)
  splice(from[name], to[name] - from[name] + 1, 0)
  # The empty line that came with a table, and the list that was made for an item.
  if (format == "toml" && name ~ /^\[/ && from[name] > 1 && lines[from[name] - 1] ~ /^[ \t\r]*$/) splice(from[name] - 1, 1, 0)
  if (format == "toml" && from[name] == 1 && count > 0 && lines[1] ~ /^[ \t\r]*$/) splice(1, 1, 0)
  if (list == "" || had_list) return
  parse()
  if (list in from && from[list] == to[list]) splice(from[list], 1, 0)
}

# Takes lines out at a place and makes room for others.
function splice(at, out, into, i) {
  if (into > out) for (i = count; i >= at + out; i--) lines[i + into - out] = lines[i]
  else for (i = at + out; i <= count; i++) lines[i + into - out] = lines[i]
  count += into - out
}

function list_of(name) {
  return format == "yaml" && match(name, /\[name=/) ? substr(name, 1, RSTART - 1) : ""
}

function item_indent(name, list, i) {
  list = list_of(name)
  if (list == "") return ""
  if (list in from)
    for (i = from[list] + 1; i <= to[list]; i++) if (match(lines[i], /^ *- /)) return substr(lines[i], 1, RLENGTH - 2)
  return "  "
}

# The line before which a new statement goes.
function place(name, list, i) {
  if (format == "toml") {
    if (name ~ /^\[/) {
      check_table(name)
      return count + 1
    }
    return last_key > 0 ? last_key + 1 : 1
  }
  list = list_of(name)
  if (list == "" || !(list in from)) return count + 1
  if (lines[from[list]] !~ /^[^:]*:[ \t\r]*(#.*)?$/) fail("\"" list "\" is not written as a list of lines that begin with a dash.")
  for (i = from[list] + 1; i <= to[list]; i++)
    if (lines[i] !~ /^[ \t\r]*(#.*)?$/) {
      if (lines[i] !~ /^ *- /) fail("\"" list "\" is not written as a list of lines that begin with a dash.")
      break
    }
  return from[list] + 1
}

function check_table(name, root, key) {
  root = substr(name, 2, index(name ".", ".") - 2)
  for (key in from)
    if (key == root || index(key, root ".") == 1) fail("\"" root "\" is not written as [" root ".…] tables.")
}

# Where every statement stands: from and to, its first and last line.
function parse() {
  split("", from)
  split("", to)
  if (format == "toml") parse_toml()
  else if (format == "yaml") parse_yaml()
  else parse_env()
}

function malformed(what, line) {
  fail("It is not valid " toupper(format) ": " what ", line " line ".")
}

function parse_toml(i, name, table, end) {
  table = ""
  last_key = 0
  for (i = 1; i <= count; i++) {
    if (lines[i] ~ /^[ \t\r]*(#.*)?$/) continue
    if (lines[i] ~ /^[ \t]*\[/) {
      if (!match(lines[i], /^[ \t]*\[+[^]#]+\]+/)) malformed("a table's name has no end", i)
      table = substr(lines[i], 1, RLENGTH)
      gsub(/[ \t"']/, "", table)
      if (table in from && table !~ /^\[\[/) malformed("the table " table " comes twice", i)
      if (!(table in from)) from[table] = i
      to[table] = i
      continue
    }
    if (!match(lines[i], /^[ \t]*[-A-Za-z0-9_."' \t]+=/)) malformed("a name and = are missing", i)
    name = substr(lines[i], 1, RLENGTH - 1)
    gsub(/[ \t"']/, "", name)
    match(lines[i], /=/)
    if (substr(lines[i], RSTART + 1) ~ /^[ \t\r]*(#.*)?$/) malformed("a value is missing", i)
    end = end_of_value(i, RSTART + 1)
    if (table == "") {
      from[name] = i
      last_key = to[name] = end
    } else to[table] = end
    i = end
  }
}

# The last line of a TOML value that begins at a column of a line.
function end_of_value(i, column, c, three, depth, quote, line) {
  depth = 0
  quote = ""
  line = lines[i]
  while (1) {
    if (column > length(line)) {
      if (quote == "\"" || quote == "'") malformed("a string has no end", i)
      if (quote == "" && depth == 0) return i
      if (i >= count) malformed("a value has no end", i)
      line = lines[++i]
      column = 1
      continue
    }
    c = substr(line, column, 1)
    three = substr(line, column, 3)
    if (quote != "") {
      if (c == "\\" && quote ~ /^"/) column++
      else if (substr(line, column, length(quote)) == quote) {
        column += length(quote) - 1
        quote = ""
      }
    } else if (three == "\"\"\"" || three == "'''") {
      quote = three
      column += 2
    } else if (c == "\"" || c == "'") quote = c
    else if (c == "#") column = length(line)
    else if (c == "[" || c == "{") depth++
    else if (c == "]" || c == "}") depth--
    column++
  }
}

function parse_yaml(i, name, item, indent, key) {
  name = ""
  for (i = 1; i <= count; i++) {
    if (lines[i] ~ /^[ \t\r]*(#.*)?$/ || (lines[i] ~ /^---[ \t\r]*$/ && name == "") || (lines[i] ~ /^%/ && name == "")) continue
    if (lines[i] ~ /^\t/) malformed("a tab is no indentation", i)
    if (lines[i] ~ /^ / || (lines[i] ~ /^-( |$)/ && name != "")) {
      if (name == "") malformed("it does not begin with a name", i)
      to[name] = i
      if (match(lines[i], /^ *- /)) {
        if (indent < 0) indent = RLENGTH
        if (RLENGTH == indent) item = ""
      }
      match(lines[i], /^[- ]*/)
      if (RLENGTH == indent && substr(lines[i], indent + 1) ~ /^name:[ \t]/) item = name_item(name, i, indent)
      if (item != "" && item in from) to[item] = i
      continue
    }
    if (!match(lines[i], /^("[^"]+"|'[^']+'|[A-Za-z_][-A-Za-z0-9_.]*)[ \t]*:([ \t\r]|$)/)) malformed("a name and a colon are missing", i)
    name = substr(lines[i], 1, index(lines[i], ":") - 1)
    gsub(/[ \t"']/, "", name)
    if (name in from) malformed("the name " name " comes twice", i)
    from[name] = to[name] = i
    item = ""
    indent = -1
  }
}

# An item is known by its name, and begins at its dash.
function name_item(list, at, indent, item) {
  item = substr(lines[at], indent + 1)
  sub(/^name:[ \t]+/, "", item)
  sub(/[ \t\r]+$/, "", item)
  gsub(/^["']|["']$/, "", item)
  item = list "[name=" item "]"
  while (lines[at] !~ /^ *- /) at--
  from[item] = at
  return item
}

function parse_env(i, name) {
  for (i = 1; i <= count; i++) {
    if (!match(lines[i], /^[ \t]*((export[ \t]+)?[A-Za-z_][A-Za-z0-9_]*=|unset[ \t]+[A-Za-z_][A-Za-z0-9_]*[ \t\r]*$)/)) continue
    name = substr(lines[i], 1, RLENGTH)
    gsub(/^[ \t]*((export|unset)[ \t]+)?|[= \t\r]+$/, "", name)
    from[name] = to[name] = i
  }
}
