# Sets or takes back values in a JSON text, and leaves every other byte as it is.
#   MG_MODE    apply | revert
#   MG_TEXT    file: the text, with a line holding one \001 after its last byte
#   MG_BEFORE  file, for revert: the text as it was before, in the same form; may not exist
#   MG_OPS     file: lines "op TAB path TAB value"; op is set, default (only where nothing is there), or touch (a default that the
#              tool writes anew: taken back whatever it says by then)
#   MG_COMMENTS  1: comments and trailing commas are allowed
#   MG_KEY     stands for @key@ in values
# Writes the new text. Ends with 3 and a sentence on standard error where the text is not what it should be.
BEGIN {
  SEP = "\034"
  TAB = "\t"
  comments = ENVIRON["MG_COMMENTS"] == "1"
  text = read_text(ENVIRON["MG_TEXT"])
  if (ENVIRON["MG_MODE"] == "apply") apply()
  else revert()
  printf "%s", text
  exit 0
}

function read_text(file, line, all, lines) {
  while ((getline line < file) > 0) all = all (lines++ ? "\n" : "") line
  close(file)
  sub(/\001$/, "", all)
  return all
}

function fail(message) {
  print message > "/dev/stderr"
  exit_code = 3
  exit 3
}

function read_ops(line, fields) {
  op_count = 0
  while ((getline line < ENVIRON["MG_OPS"]) > 0) {
    split(line, fields, TAB)
    op_count++
    op_kind[op_count] = fields[1]
    op_path[op_count] = to_path(fields[2])
    op_value[op_count] = fields[3]
  }
  close(ENVIRON["MG_OPS"])
}

# "a/b" in memory is SEP "a" SEP "b"; ~1 stands for a slash within a name.
function to_path(written, parts, count, i, path) {
  count = split(written, parts, "/")
  for (i = 1; i <= count; i++) {
    gsub(/~1/, "/", parts[i])
    path = path SEP parts[i]
  }
  return path
}

function apply(i, value) {
  read_ops()
  if (text ~ /^(\357\273\277)?[ \t\r\n]*$/) text = text "{}\n"
  for (i = 1; i <= op_count; i++) {
    parse()
    value = op_value[i]
    gsub(/@key@/, ENVIRON["MG_KEY"], value)
    if (op_kind[i] != "set" && (op_path[i] in from)) continue
    set_value(op_path[i], value)
  }
  parse()
}

function revert(i, before, path, current) {
  read_ops()
  before = ENVIRON["MG_BEFORE"] == "" ? "" : read_text(ENVIRON["MG_BEFORE"])
  remember(before)
  for (i = op_count; i >= 1; i--) {
    path = op_path[i]
    parse()
    if (!(path in from)) continue
    current = substr(text, from[path], to[path] - from[path])
    if (op_kind[i] != "touch" && without_key(canonical(current)) != without_key(canonical(op_value[i]))) continue
    if (path in old_value) replace_value(path, old_value[path])
    else remove_up(path)
  }
  parse()
}

# What was at each path; an empty file had nothing.
function remember(before, kept, path) {
  if (before ~ /^(\357\273\277)?[ \t\r\n]*$/) return
  kept = text
  text = before
  parse()
  for (path in from) old_value[path] = substr(text, from[path], to[path] - from[path])
  text = kept
}

function without_key(value) {
  gsub(/sk-mg-[0-9A-Za-z]+/, "@key@", value)
  return value
}

# Removes what we wrote, and the objects that we made for it, once nothing else is in them.
function remove_up(path, parent) {
  remove_member(path)
  parent = parent_of(path)
  while (parent != "" && !(parent in old_value)) {
    parse()
    if (!(parent in from) || members[parent] > 0) return
    remove_member(parent)
    parent = parent_of(parent)
  }
}

function parent_of(path, at) {
  at = length(path)
  while (at > 0 && substr(path, at, 1) != SEP) at--
  return substr(path, 1, at - 1)
}

function name_of(path) {
  return substr(path, length(parent_of(path)) + 2)
}

function set_value(path, value, parent) {
  if (path in from) {
    if (canonical(substr(text, from[path], to[path] - from[path])) == canonical(value)) return
    replace_value(path, pretty(value, line_indent(from[path])))
    return
  }
  parent = parent_of(path)
  if (!(parent in from)) {
    set_value(parent, name_of(path) ~ /^\[.*=.*\]$/ ? "[]" : "{}")
    parse()
  }
  if (kind[parent] != (name_of(path) ~ /^\[.*=.*\]$/ ? "array" : "object"))
    fail("\"" name_of(parent) "\" is not " (kind[parent] == "object" ? "a list" : "an object") ", as this tool's settings need it to be.")
  insert_member(parent, name_of(path), value)
}

function replace_value(path, value) {
  text = substr(text, 1, from[path] - 1) value substr(text, to[path])
}

function insert_member(parent, name, value, open_at, close_at, last_end, after, indent, member, outer) {
  open_at = from[parent]
  close_at = to[parent] - 1
  outer = line_indent(open_at)
  indent = outer unit()
  if (members[parent] > 0 && starts_line(first_member[parent])) indent = line_indent(first_member[parent])
  member = (kind[parent] == "array" ? "" : quote(name) ": ") pretty(value, indent)
  if (members[parent] == 0) {
    text = substr(text, 1, close_at - 1) eol() indent member eol() outer substr(text, close_at)
    if (substr(text, open_at, close_at - open_at + 1) ~ /\n[ \t\r]*$/) tidy_empty(open_at, close_at)
    return
  }
  last_end = last_member_end[parent]
  after = close_at - 1
  while (index(" \t\r\n", substr(text, after, 1))) after--
  if (starts_line(first_member[parent])) member = eol() indent member
  else member = " " member
  text = substr(text, 1, last_end - 1) (trailing[parent] ? "" : ",") substr(text, last_end, after - last_end + 1) \
    member (trailing[parent] ? "," : "") substr(text, after + 1)
}

# An object without members, whose brace closes on a line of its own: no empty line is left in it.
function tidy_empty(open_at, close_at, blank) {
  blank = close_at - 1
  while (blank > open_at && index(" \t\r\n", substr(text, blank, 1))) blank--
  text = substr(text, 1, blank) substr(text, close_at)
}

function remove_member(path, parent, begin, end, i) {
  parent = parent_of(path)
  begin = member_start[path]
  end = to[path]
  i = end
  while (index(" \t\r\n", substr(text, i, 1)) && i <= length(text)) i++
  if (substr(text, i, 1) == "," && members[parent] > 1) {
    end = i + 1
    if (starts_line(begin)) {
      while (index(" \t\r", substr(text, end, 1)) && end <= length(text)) end++
      if (substr(text, end, 1) == "\n") {
        end++
        begin = line_start(begin)
      } else end = i + 1
    } else while (substr(text, end, 1) == " ") end++
  } else {
    if (members[parent] > 1) {
      begin = comma_before[path]
      text = substr(text, 1, begin - 1) after_comma(begin, member_start[path]) substr(text, end)
      return
    }
    if (substr(text, i, 1) == ",") end = i + 1
    while (begin > 1 && index(" \t\r\n", substr(text, begin - 1, 1))) begin--
    while (index(" \t\r\n", substr(text, end, 1))) end++
  }
  text = substr(text, 1, begin - 1) substr(text, end)
}

# A comment between the comma before a member and that member stays.
function after_comma(comma, start, between) {
  between = substr(text, comma + 1, start - comma - 1)
  sub(/[ \t\r\n]+$/, "", between)
  return between
}

function eol() {
  return text ~ /\r\n/ ? "\r\n" : "\n"
}

function unit() {
  if (text ~ /\n\t/) return "\t"
  if (text ~ /\n    ["\/]/ && text !~ /\n  ["\/]/) return "    "
  return "  "
}

function line_start(at) {
  while (at > 1 && substr(text, at - 1, 1) != "\n") at--
  return at
}

function line_indent(at, begin, end) {
  begin = line_start(at)
  end = begin
  while (index(" \t", substr(text, end, 1)) && end <= length(text)) end++
  return substr(text, begin, end - begin)
}

function starts_line(at, begin) {
  begin = line_start(at)
  return begin > 1 && substr(text, begin, at - begin) ~ /^[ \t]*$/
}

function quote(name) {
  gsub(/\\/, "\\\\", name)
  gsub(/"/, "\\\"", name)
  return "\"" name "\""
}

# A JSON value of ours over several lines, as deep as the place where it goes.
function pretty(value, indent, out, i, c, in_string, step, line_end) {
  step = unit()
  line_end = eol()
  value = canonical(value)
  for (i = 1; i <= length(value); i++) {
    c = substr(value, i, 1)
    if (in_string) {
      out = out c
      if (c == "\\") out = out substr(value, ++i, 1)
      else if (c == "\"") in_string = 0
    } else if (c == "\"") {
      in_string = 1
      out = out c
    } else if (c == "{" || c == "[") {
      if (index("}]", substr(value, i + 1, 1))) out = out c substr(value, ++i, 1)
      else {
        indent = indent step
        out = out c line_end indent
      }
    } else if (c == "}" || c == "]") {
      indent = substr(indent, 1, length(indent) - length(step))
      out = out line_end indent c
    } else if (c == ",") out = out c line_end indent
    else if (c == ":") out = out ": "
    else out = out c
  }
  return out
}

# Without white space and comments between tokens.
function canonical(value, out, i, c, in_string) {
  for (i = 1; i <= length(value); i++) {
    c = substr(value, i, 1)
    if (in_string) {
      out = out c
      if (c == "\\") out = out substr(value, ++i, 1)
      else if (c == "\"") in_string = 0
    } else if (c == "\"") {
      in_string = 1
      out = out c
    } else if (c == "/" && substr(value, i, 2) == "//") {
      while (i < length(value) && substr(value, i, 1) != "\n") i++
    } else if (c == "/" && substr(value, i, 2) == "/*") {
      i += index(substr(value, i + 2), "*/") + 2
    } else if (!index(" \t\r\n", c)) out = out c
  }
  return out
}

# Where every value stands: from, to (after it), kind; of members, where they start and the comma before; of objects and
# lists, how many members they have, where the first starts, where the last ends, and whether a comma trails.
function parse() {
  split("", from)
  split("", to)
  split("", kind)
  split("", members)
  split("", trailing)
  size = length(text)
  pos = substr(text, 1, 3) == "\357\273\277" ? 4 : 1
  depth = 0
  skip()
  if (substr(text, pos, 1) != "{") malformed("it does not begin with {")
  parse_value("")
  skip()
  if (pos <= size) malformed("there is something after its end")
}

function malformed(why, line, i) {
  line = 1
  for (i = 1; i < pos && i <= size; i++) if (substr(text, i, 1) == "\n") line++
  fail("It is not valid JSON: " why ", line " line ".")
}

function skip(c, end) {
  while (pos <= size) {
    c = substr(text, pos, 1)
    if (index(" \t\r\n", c)) pos++
    else if (c == "/" && comments && substr(text, pos, 2) == "//") {
      while (pos <= size && substr(text, pos, 1) != "\n") pos++
    } else if (c == "/" && comments && substr(text, pos, 2) == "/*") {
      end = index(substr(text, pos + 2), "*/")
      if (!end) malformed("a comment has no end")
      pos += end + 3
    } else return
  }
}

function parse_value(path, c, rest) {
  if (++depth > 100) malformed("it nests too deep")
  from[path] = pos
  c = substr(text, pos, 1)
  if (c == "{") parse_members(path, "object", "}")
  else if (c == "[") parse_members(path, "array", "]")
  else if (c == "\"") {
    kind[path] = "string"
    parse_string()
  } else {
    kind[path] = "plain"
    rest = substr(text, pos, 64)
    if (!match(rest, /^[-+.0-9A-Za-z]+/)) malformed("a value is missing")
    rest = substr(rest, 1, RLENGTH)
    if (rest !~ /^(true|false|null|-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?)$/) malformed("a value is no JSON")
    pos += RLENGTH
  }
  to[path] = pos
  depth--
}

function parse_string(start, c) {
  start = pos++
  while (pos <= size) {
    c = substr(text, pos, 1)
    if (c == "\\") pos += 2
    else if (c == "\"") {
      pos++
      return substr(text, start + 1, pos - start - 2)
    } else if (c == "\n") malformed("a string has no end")
    else pos++
  }
  malformed("a string has no end")
}

function parse_members(path, what, closing, count, start, child, comma, name) {
  kind[path] = what
  pos++
  skip()
  while (pos <= size && substr(text, pos, 1) != closing) {
    start = pos
    if (what == "object") {
      if (substr(text, pos, 1) != "\"") malformed("a name in quotes is missing")
      name = parse_string()
      skip()
      if (substr(text, pos, 1) != ":") malformed("a colon is missing")
      pos++
      skip()
      child = path SEP unescape(name)
    } else child = path SEP count
    if (count++ == 0) first_member[path] = start
    forget(child)
    parse_value(child)
    member_start[child] = start
    comma_before[child] = comma
    last_member_end[path] = pos
    if (what == "array") name_item(path, child)
    trailing[path] = 0
    skip()
    if (substr(text, pos, 1) == ",") {
      comma = pos++
      trailing[path] = 1
      skip()
    } else if (substr(text, pos, 1) != closing) malformed("a comma or " closing " is missing")
  }
  if (pos > size) malformed(closing " is missing")
  if (trailing[path] && !comments) malformed("a comma has nothing after it")
  members[path] = count + 0
  pos++
}

# Of a name that comes twice, the last counts: nothing of the first may be taken for it.
function forget(child, path) {
  if (!(child in from)) return
  for (path in from) if (path == child || index(path, child SEP) == 1) delete from[path]
}

# An item of a list is also found by its id or name: a/[id=x].
function name_item(path, child, field, value, named, i, fields) {
  fields = "id name"
  for (i = 1; i <= split(fields, named_by, " "); i++) {
    field = child SEP named_by[i]
    if (!(field in from) || kind[field] != "string") continue
    value = unescape(substr(text, from[field] + 1, to[field] - from[field] - 2))
    named = path SEP "[" named_by[i] "=" value "]"
    from[named] = from[child]
    to[named] = to[child]
    kind[named] = kind[child]
    members[named] = members[child]
    member_start[named] = member_start[child]
    comma_before[named] = comma_before[child]
  }
}

function unescape(name) {
  gsub(/\\\//, "/", name)
  gsub(/\\"/, "\"", name)
  gsub(/\\\\/, "\\", name)
  return name
}
