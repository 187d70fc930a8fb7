#!/bin/sh
# Sets up the coding tools on this machine for the model gateway at the address below; --help says how.
# It reads no file but the tools' own settings and your shell's profiles, and speaks to that address alone.
set -eu
umask 077
LC_ALL=C
export LC_ALL

base_url='@BASE_URL@'
tab=$(printf '\t')

# Which tools there are, and what each one's settings must say.
data() {
  cat <<'DATA'
@DATA@
DATA
}

json_program() {
  cat <<'AWK'
@JSON_AWK@
AWK
}

lines_program() {
  cat <<'AWK'
@LINES_AWK@
AWK
}

usage() {
  cat <<HELP
Sets up coding tools for the model gateway at $base_url.

  curl -fsSL $base_url/install.sh | sh
  curl -fsSL $base_url/install.sh | sh -s -- --yes --tools claude-code,opencode

The key comes from the environment variable MODEL_GATEWAY_API_KEY, or is asked for. It is sent to $base_url alone, once,
to see whether it works, and written into the settings of the tools that you choose. It is never shown.

  --tools A,B          these tools; "all" for each one found. A tool may name its interface and model:
                       opencode:messages:modelx-v4-flash
  --model NAME         the model that the tools begin with
  --interface NAME     chat, messages or responses, where a tool has the choice
  --clear-variables    turn lines of your shell's profiles that set other providers' variables into comments
  --dry-run            say what would be written, and write nothing
  --yes                ask nothing
  --uninstall          put every file back as it was
  --list               name the tools that this program knows
  --help               this text

Copies of the files as they were are kept in $state.
HELP
}

say() { printf '%s\n' "$*"; }
warn() { printf '%s\n' "$*" >&2; }
die() {
  warn "$*"
  exit 1
}

main() {
  home=${HOME:?Set HOME to your home folder first.}
  state=${XDG_STATE_HOME:-$home/.local/state}/model-gateway/install
  wanted_tools='' wanted_model='' wanted_interface='' is_dry_run='' is_yes='' is_uninstall='' clears_variables=''
  read_options "$@"
  work=$(mktemp -d "${TMPDIR:-/tmp}/model-gateway-install.XXXXXX") || die "There is no room for temporary files in ${TMPDIR:-/tmp}: set TMPDIR to a folder that you can write to."
  trap 'rm -rf "$work"' EXIT
  trap 'exit 130' INT HUP TERM
  data >"$work/data"
  json_program >"$work/json.awk"
  lines_program >"$work/lines.awk"
  [ -n "$(sum_of "$work/data" 2>/dev/null)" ] || die "cksum or sha256sum is needed, to see later which files were changed: install one first."
  if [ -n "$is_uninstall" ]; then uninstall; else install_tools; fi
}

read_options() {
  while [ $# -gt 0 ]; do
    case $1 in
      --tools=* | --model=* | --interface=*)
        option=${1%%=*} value=${1#*=}
        shift
        set -- "$option" "$value" "$@"
        continue
        ;;
      --tools | --model | --interface)
        [ $# -gt 1 ] || die "$1 needs a value. --help lists the options."
        case $1 in
          --tools) wanted_tools=$2 ;;
          --model) wanted_model=$2 ;;
          --interface) wanted_interface=$2 ;;
        esac
        shift
        ;;
      --dry-run) is_dry_run=1 ;;
      --yes | -y) is_yes=1 ;;
      --uninstall) is_uninstall=1 ;;
      --clear-variables) clears_variables=1 ;;
      --list)
        data | awk -F "$tab" '$1 == "tool" { printf "%-14s %s\n", $2, $3 }'
        exit 0
        ;;
      --help | -h)
        usage
        exit 0
        ;;
      *) die "There is no option $1. --help lists the options." ;;
    esac
    shift
  done
  case $wanted_interface in
    '' | chat | messages | responses) ;;
    *) die "--interface must be chat, messages or responses." ;;
  esac
}

install_tools() {
  say "Model Gateway at $base_url"
  find_tools
  choose_tools
  if [ -z "$chosen" ]; then
    say "No tool was chosen: nothing is changed."
    return
  fi
  key=''
  if [ -z "$is_dry_run" ]; then
    read_key
    check_key
  else
    awk -F "$tab" '$1 == "model" { print $2 }' "$work/data" >"$work/usable"
  fi
  failures=0
  for choice in $chosen; do
    set_up_tool "$choice"
  done
  look_for_variables
  if [ "$failures" -gt 0 ]; then
    die "$failures file(s) could not be written: what to do by hand is said above."
  fi
  if [ -n "$is_dry_run" ]; then
    say "This was a dry run: nothing is changed."
  else
    say "Done. To undo it: curl -fsSL $base_url/install.sh | sh -s -- --uninstall"
  fi
}

# --- Which tools -----------------------------------------------------------------------------------------------------

# A tool is here if one of its commands or one of its settings folders is.
find_tools() {
  found=''
  while IFS="$tab" read -r what id _ _ commands folders; do
    [ "$what" = tool ] || continue
    if has_command "$commands" || has_folder "$folders"; then found="$found $id"; fi
  done <"$work/data"
}

has_command() {
  for name in $(split_list "$1"); do
    if command -v "$name" >/dev/null 2>&1; then return 0; fi
  done
  return 1
}

has_folder() {
  for name in $(split_list "$1"); do
    if [ -d "$home/$name" ]; then return 0; fi
  done
  return 1
}

# "-" stands for nothing.
split_list() {
  [ "$1" = - ] || printf '%s' "$1" | tr ',' ' '
}

tool_field() {
  awk -F "$tab" -v id="$1" -v field="$2" '$1 == "tool" && $2 == id { print $field }' "$work/data"
}

choose_tools() {
  chosen=''
  case $wanted_tools in
    all) chosen=$found ;;
    '') choose_from_found ;;
    *) for choice in $(split_list "$wanted_tools"); do
      id=${choice%%:*}
      [ -n "$(tool_field "$id" 2)" ] || die "This program knows no tool \"$id\". It knows: $(awk -F "$tab" '$1 == "tool" { printf "%s ", $2 }' "$work/data")"
      chosen="$chosen $choice"
    done ;;
  esac
}

choose_from_found() {
  if [ -z "$found" ]; then
    say "No tool that this program knows was found here. Name one with --tools; --list lists them."
    return
  fi
  for id in $found; do say "  found: $(tool_field "$id" 3) ($id)"; done
  if [ -n "$is_yes" ] || [ -n "$is_dry_run" ]; then
    chosen=$found
    return
  fi
  need_terminal
  for id in $found; do
    if ask "Set up $(tool_field "$id" 3)?"; then chosen="$chosen $id$(ask_choice "$id")"; fi
  done
}

# The interface and the model of one tool, as ":interface:model".
ask_choice() {
  interfaces=$(tool_field "$1" 4)
  interface=$wanted_interface
  case $interfaces in
    *,*) [ -n "$interface" ] || interface=$(ask_word "  Interface ($interfaces)" "${interfaces%%,*}") ;;
  esac
  model=$wanted_model
  if [ -z "$model" ]; then
    names=$(models_of "${interface:-${interfaces%%,*}}" | tr '\n' ' ')
    model=$(ask_word "  Model (${names% })" "${names%% *}")
  fi
  printf ':%s:%s' "$interface" "$model"
}

models_of() {
  awk -F "$tab" -v interface="$1" '$1 == "model" && index("," $3 ",", "," interface ",") { print $2 }' "$work/data"
}

# --- Questions; standard input is the program itself where it came through a pipe -----------------------------------------

need_terminal() {
  if ! (: </dev/tty) 2>/dev/null; then
    die "There is no terminal to ask at: run it with --yes, or name the tools with --tools and set MODEL_GATEWAY_API_KEY."
  fi
}

ask() {
  printf '%s [Y/n] ' "$1" >/dev/tty
  read -r answer </dev/tty || answer=n
  case $answer in
    '' | [Yy]*) return 0 ;;
    *) return 1 ;;
  esac
}

ask_word() {
  printf '%s [%s]: ' "$1" "$2" >/dev/tty
  read -r answer </dev/tty || answer=''
  printf '%s' "${answer:-$2}" | tr -cd 'A-Za-z0-9._/@-'
}

# --- The key --------------------------------------------------------------------------------------------------------

read_key() {
  key=${MODEL_GATEWAY_API_KEY:-}
  if [ -z "$key" ]; then
    if ! (: </dev/tty) 2>/dev/null; then die "There is no key: put it into the environment variable MODEL_GATEWAY_API_KEY. Keys are made at $base_url/dashboard/keys"; fi
    terminal=$(stty -g </dev/tty)
    trap 'stty "$terminal" </dev/tty; exit 130' INT HUP TERM
    # First of all: what is pasted fast comes before the question is read.
    stty -echo </dev/tty
    printf 'Key (made at %s/dashboard/keys; it is not shown): ' "$base_url" >/dev/tty
    read -r key </dev/tty || key=''
    stty "$terminal" </dev/tty
    trap 'exit 130' INT HUP TERM
    printf '\n' >/dev/tty
  fi
  unset MODEL_GATEWAY_API_KEY
  case $key in
    *'*'* | *…*) die "This is the masked form of a key. The full value is shown once, when the key is made: make a new one at $base_url/dashboard/keys" ;;
    sk-mg-*[!0-9A-Za-z]* | sk-mg-) die "This is not a whole key: something is in it that no key has. Copy it again." ;;
    sk-mg-*) ;;
    *) die "This is not a key of this service: those begin with sk-mg-. Make one at $base_url/dashboard/keys" ;;
  esac
}

# The one call. The key reaches curl through its standard input, so that no list of processes shows it.
check_key() {
  command -v curl >/dev/null 2>&1 || die "curl is needed to check the key: install it first."
  printf 'Checking the key with %s … ' "$base_url"
  status=$(
    printf 'url = "%s/v1/models"\nheader = "authorization: Bearer %s"\nheader = "accept: application/json"\n' "$base_url" "$key" |
      curl -q --config - --silent --max-time 30 --output "$work/answer" --write-out '%{http_code}'
  ) || status=000
  case $status in
    200) say "it works." ;;
    000)
      say "no answer."
      die "$base_url cannot be reached from here. Nothing is changed."
      ;;
    401)
      say "refused."
      die "The service does not know this key, or it was deleted, disabled or has expired. Make a new one at $base_url/dashboard/keys. Nothing is changed."
      ;;
    *)
      say "refused."
      die "The service answered with status $status. Nothing is changed: try again later."
      ;;
  esac
  # The list is ours: each model is one {"id":"…"}.
  tr '{' '\n' <"$work/answer" | sed -n 's/.*"id": *"\([^"]*\)".*/\1/p' >"$work/usable"
}

# --- One tool -------------------------------------------------------------------------------------------------------

# Takes tool[:interface[:model]].
set_up_tool() {
  id=${1%%:*}
  rest=${1#"$id"}
  rest=${rest#:}
  interface=${rest%%:*}
  model=${rest#"$interface"}
  model=${model#:}
  name=$(tool_field "$id" 3)
  choose_interface
  choose_models || return 0
  say "$name: $interface interface, model $model"
  file_count=$(awk -F "$tab" -v id="$id" -v interface="$interface" '$1 == "file" && $2 == id && $3 == interface' "$work/data" | wc -l)
  number=1
  while [ "$number" -le "$file_count" ]; do
    set_up_file "$number"
    number=$((number + 1))
  done
  awk -F "$tab" -v id="$id" -v interface="$interface" '$1 == "say" && $2 == id && ($3 == interface || $3 == "-") { print "  " $4 }' "$work/data"
}

choose_interface() {
  interfaces=$(tool_field "$id" 4)
  [ -n "$interface" ] || interface=$wanted_interface
  case ",$interfaces," in
    *,"${interface:-none}",*) ;;
    *)
      [ -z "$interface" ] || [ "$interface" = "$wanted_interface" ] || die "$name has no $interface interface; it has: $interfaces."
      interface=${interfaces%%,*}
      ;;
  esac
}

# What the key may use on this interface, the best first: the first one, unless another was asked for; and the cheapest.
choose_models() {
  awk -F "$tab" -v interface="$interface" -v usable="$work/usable" '
    BEGIN { while ((getline line < usable) > 0) may[line] = 1 }
    $1 == "model" && index("," $3 ",", "," interface ",") && (($2 in may) || index("," $3 ",", ",chat,") == 0)
  ' "$work/data" >"$work/models"
  if [ ! -s "$work/models" ]; then
    warn "$name: this key may use no model on the $interface interface. It is left as it is."
    failures=$((failures + 1))
    return 1
  fi
  [ -n "$model" ] || model=$wanted_model
  [ -n "$model" ] || model=$(awk -F "$tab" 'NR == 1 { print $2 }' "$work/models")
  if ! awk -F "$tab" -v model="$model" '$2 == model { found = 1 } END { exit !found }' "$work/models"; then
    warn "$name: there is no model \"$model\" for this key on the $interface interface. There is: $(awk -F "$tab" '{ printf "%s ", $2 }' "$work/models")"
    failures=$((failures + 1))
    return 1
  fi
  small_model=$(awk -F "$tab" '$6 == "small" { print $2; exit }' "$work/models")
  [ -n "$small_model" ] || small_model=$model
}

# What one settings file must say, with everything filled in but the key.
fill_in() {
  awk -F "$tab" -v OFS="$tab" -v id="$id" -v interface="$interface" -v number="$1" -v base="$base_url" \
    -v model="$model" -v small="$small_model" -v models="$work/models" '
    function limits_of(name, line, fields) {
      while ((getline line < models) > 0) {
        split(line, fields, FS)
        if (fields[2] == name) { context = fields[4]; output = fields[5] }
      }
      close(models)
    }
    # @each{…}each@ is said once for each model.
    function unroll(text, begin, end, before, inner, after, out, line, fields, one) {
      begin = index(text, "@each{")
      if (!begin) return text
      end = index(text, "}each@")
      before = substr(text, 1, begin - 1)
      inner = substr(text, begin + 6, end - begin - 6)
      after = substr(text, end + 6)
      while ((getline line < models) > 0) {
        split(line, fields, FS)
        one = inner
        gsub(/@id@/, fields[2], one)
        gsub(/@context@/, fields[4], one)
        gsub(/@output@/, fields[5], one)
        out = out (out == "" ? "" : ",") one
      }
      close(models)
      return before out after
    }
    function filled(text) {
      text = unroll(text)
      gsub(/@base@/, base, text)
      gsub(/@model@/, model, text)
      gsub(/@small@/, small, text)
      gsub(/@context@/, context, text)
      gsub(/@output@/, output, text)
      return text
    }
    BEGIN { limits_of(model) }
    $1 != "set" || $2 != id || $3 != interface || $4 != number { next }
    $5 == "each" {
      while ((getline line < models) > 0) {
        split(line, fields, FS)
        path = $6
        escaped = fields[2]
        gsub(/\//, "~1", escaped)
        gsub(/@id@/, escaped, path)
        value = $7
        gsub(/@id@/, fields[2], value)
        gsub(/@context@/, fields[4], value)
        gsub(/@output@/, fields[5], value)
        print "set", path, filled(value)
      }
      close(models)
      next
    }
    { print $5, filled($6), filled($7) }
  ' "$work/data"
}

set_up_file() {
  line=$(awk -F "$tab" -v id="$id" -v interface="$interface" -v number="$1" \
    '$1 == "file" && $2 == id && $3 == interface && $4 == number' "$work/data")
  format=$(printf '%s' "$line" | cut -f 5)
  variable=$(printf '%s' "$line" | cut -f 6)
  folder=$(printf '%s' "$line" | cut -f 7)
  names=$(printf '%s' "$line" | cut -f 8)
  directory=$home
  if [ "$folder" != . ]; then directory=$home/$folder; fi
  if [ "$variable" != - ]; then
    moved=''
    eval "moved=\${$variable:-}"
    case $moved in /*) directory=$moved ;; esac
  fi
  # Of several names that the tool reads, the one that is there; else the last.
  for file_name in $(split_list "$names"); do
    file=$directory/$file_name
    if [ -e "$file" ]; then break; fi
  done
  fill_in "$1" >"$work/ops"
  write_file || failures=$((failures + 1))
}

# --- Files ----------------------------------------------------------------------------------------------------------

# Puts what $work/ops says into $file. Says in one sentence why not, and what to put there by hand.
write_file() {
  if [ -n "$is_dry_run" ]; then
    say "  would write $file:"
    show_ops
    return 0
  fi
  if [ -e "$file" ] && { [ ! -f "$file" ] || [ ! -r "$file" ]; }; then
    refuse "It is no file that can be read."
    return 1
  fi
  if is_read_only; then
    refuse "It is read-only."
    return 1
  fi
  edit apply "$file" "$format" "$work/ops" '' >"$work/new" 2>"$work/why" || {
    refuse "$(head -n 1 "$work/why")"
    return 1
  }
  if [ -f "$file" ] && cmp -s "$file" "$work/new"; then
    chmod 600 "$file"
    say "  $file says so already."
    return 0
  fi
  make_folders "$(dirname "$file")" || {
    refuse "Its folder cannot be made."
    return 1
  }
  remember || {
    refuse "No copy of it could be kept in $state."
    return 1
  }
  replace_file "$work/new" "$file" 600 || {
    refuse "It cannot be written to."
    return 1
  }
  record_written
  say "  wrote $file"
}

refuse() {
  warn "  $file is left as it is: $1 Put this there by hand:"
  show_ops >&2
}

show_ops() {
  sed -e 's/@key@/<your key>/g' -e 's/\\n/\n      /g' "$work/ops" | awk -F "$tab" -v format="$format" '
    format == "json" || format == "jsonc" { gsub(/\//, " › ", $2); print "      " $2 " = " $3; next }
    NF >= 3 { print "      " $3; next }
    { print }'
}

# The owner's own right to write, which root has without it.
is_read_only() {
  [ -e "$file" ] || return 1
  case $(ls -ldL "$file") in
    ??w*) [ ! -w "$file" ] ;;
    *) return 0 ;;
  esac
}

# edit MODE FILE FORMAT OPS BEFORE: the new text, on standard output.
edit() {
  marked "$2" >"$work/text"
  before_text=''
  if [ -n "$5" ] && [ -f "$5" ]; then
    marked "$5" >"$work/before"
    before_text=$work/before
  fi
  case $3 in
    profile) sed 's/^# model-gateway: //' "$2" ;;
    json | jsonc)
      MG_MODE=$1 MG_TEXT=$work/text MG_OPS=$4 MG_BEFORE=$before_text MG_KEY=$key \
        MG_COMMENTS=$([ "$3" = json ] || echo 1) awk -f "$work/json.awk"
      ;;
    *)
      MG_MODE=$1 MG_TEXT=$work/text MG_OPS=$4 MG_BEFORE=$before_text MG_KEY=$key MG_FORMAT=$3 awk -f "$work/lines.awk"
      ;;
  esac
}

# awk does not tell whether a file ends in a line's end: a mark after the last byte does.
marked() {
  if [ -f "$1" ]; then cat "$1"; fi
  printf '\001\n'
}

replace_file() {
  if [ -L "$2" ]; then
    chmod "$3" "$2" && cat "$1" >"$2"
    return
  fi
  if cat "$1" >"$2.model-gateway" && chmod "$3" "$2.model-gateway" && mv -f "$2.model-gateway" "$2"; then return 0; fi
  rm -f "$2.model-gateway"
  return 1
}

make_folders() {
  [ -d "$1" ] && return 0
  make_folders "$(dirname "$1")" || return 1
  mkdir -m 700 "$1" 2>/dev/null || return 1
  printf 'folder\t-\t-\t-\t-\t%s\n' "$1" >>"$work/folders"
}

mode_of() {
  stat -L -c %a "$1" 2>/dev/null || stat -L -f %Lp "$1"
}

# --- The record of what was changed: lines "file NUMBER FORMAT MODE SUM PATH"; MODE is - where there was no file ----------

remember() {
  make_folders "$state" || return 1
  manifest=$state/manifest
  [ -f "$manifest" ] || : >"$manifest" || return 1
  if [ -f "$work/folders" ]; then
    cat "$work/folders" >>"$manifest"
    rm -f "$work/folders"
  fi
  record=$(record_of "$file")
  if [ -n "$record" ]; then
    remember_again
    return
  fi
  entry=$(($(awk -F "$tab" '$1 == "file" && $2 > most { most = $2 } END { print most + 0 }' "$manifest") + 1))
  mode=-
  if [ -f "$file" ]; then
    mode=$(mode_of "$file")
    cp "$file" "$state/$entry.before" && chmod 600 "$state/$entry.before" || return 1
  fi
}

# A file that we have written before, and that was changed since, is first rid of what we wrote: that is its "before" now.
remember_again() {
  entry=$(printf '%s' "$record" | cut -f 2)
  mode=$(printf '%s' "$record" | cut -f 4)
  if [ -f "$file" ] && [ "$(sum_of "$file")" != "$(printf '%s' "$record" | cut -f 5)" ]; then
    edit revert "$file" "$format" "$state/$entry.ops" "$state/$entry.before" >"$work/reverted" 2>/dev/null || return 1
    if [ "$mode" = - ]; then mode=600; fi
    replace_file "$work/reverted" "$state/$entry.before" 600
  fi
}

record_written() {
  cp "$work/ops" "$state/$entry.ops"
  { grep -v "^file$tab$entry$tab" "$manifest" || :; } >"$work/manifest"
  printf 'file\t%s\t%s\t%s\t%s\t%s\n' "$entry" "$format" "$mode" "$(sum_of "$file")" "$file" >>"$work/manifest"
  replace_file "$work/manifest" "$manifest" 600
}

record_of() {
  awk -F "$tab" -v path="$1" '$1 == "file" && $6 == path' "$manifest"
}

# Small systems have one or the other.
sum_of() {
  if command -v cksum >/dev/null 2>&1; then cksum <"$1" | tr ' ' '-'; else sha256sum <"$1" | cut -c 1-64; fi
}

# --- Variables of other providers -----------------------------------------------------------------------------------------

look_for_variables() {
  variables=$(for choice in $chosen; do
    awk -F "$tab" -v id="${choice%%:*}" '$1 == "clear" && $2 == id { print $3 }' "$work/data"
  done | sort -u)
  for variable in $variables; do
    eval "is_set=\${$variable+1}"
    if [ -n "${is_set:-}" ]; then
      warn "  The variable $variable is set in this shell, and may override the setup. Clear it: unset $variable"
    fi
  done
  for file in .profile .bash_profile .bash_login .bashrc .zshenv .zprofile .zshrc .kshrc .config/fish/config.fish; do
    file=$home/$file
    [ -f "$file" ] || continue
    find_assignments >"$work/assignments"
    if [ -s "$work/assignments" ]; then clear_assignments; fi
  done
}

# Lines "NUMBER NAME HOW"; HOW is whole where the line does nothing else, and part where it does. Values are not read.
find_assignments() {
  printf '%s\n' "$variables" | awk '
    NR == FNR { if ($0 != "") names[$0] = 1; next }
    /^[ \t]*#/ { next }
    {
      for (name in names) {
        if ($0 !~ "(^|[ \t;&])" name "=" && $0 !~ "^[ \t]*set[ \t]+(-[A-Za-z]+[ \t]+|--[a-z]+[ \t]+)*" name "[ \t]") continue
        single = "^[ \t]*(export[ \t]+|declare[ \t]+-x[ \t]+|typeset[ \t]+-x[ \t]+)?" name "=(\"[^\"]*\"|\047[^\047]*\047|[^ \t;&|\"\047()]*)[ \t]*(#.*)?$"
        fish = "^[ \t]*set[ \t]+(-[A-Za-z]+[ \t]+|--[a-z]+[ \t]+)*" name "[ \t]+(\"[^\"]*\"|\047[^\047]*\047|[^ \t;&|\"\047()]*)[ \t]*$"
        print FNR, name, ($0 ~ single || $0 ~ fish ? "whole" : "part")
      }
    }' - "$file"
}

clear_assignments() {
  format=profile
  while read -r line_number variable how; do
    warn "  $file, line $line_number sets $variable, which may override the setup."
    if [ "$how" = part ]; then warn "    That line does more: change it by hand."; fi
  done <"$work/assignments"
  grep ' whole$' "$work/assignments" >"$work/whole" || return 0
  [ -z "$is_dry_run" ] || return 0
  if [ -z "$clears_variables" ]; then
    if [ -n "$is_yes" ] || [ -n "$wanted_tools" ] || ! (: </dev/tty) 2>/dev/null; then
      warn "    Clear it yourself, or run this again with --clear-variables."
      return 0
    fi
    ask "  Turn it into a comment?" || return 0
  fi
  if is_read_only; then
    warn "    It is read-only, and left as it is."
    return 0
  fi
  awk 'NR == FNR { whole[$1] = 1; next } { print (FNR in whole ? "# model-gateway: " : "") $0 }' "$work/whole" "$file" >"$work/new"
  : >"$work/ops"
  if remember && replace_file "$work/new" "$file" "$(mode_of "$file")"; then
    record_written
    say "  $file: turned into a comment. It holds from your next shell on."
  else
    warn "    $file cannot be changed."
    failures=$((failures + 1))
  fi
}

# --- Undoing it -----------------------------------------------------------------------------------------------------------

uninstall() {
  manifest=$state/manifest
  key=''
  if [ ! -f "$manifest" ]; then
    say "There is nothing to undo: $state does not exist."
    return
  fi
  failures=0
  awk '{ lines[NR] = $0 } END { for (i = NR; i >= 1; i--) print lines[i] }' "$manifest" >"$work/record"
  while IFS="$tab" read -r what entry format mode sum file; do
    if [ "$what" = file ]; then put_back || failures=$((failures + 1)); fi
  done <"$work/record"
  if [ "$failures" -gt 0 ]; then die "$failures file(s) could not be put back: $state is kept."; fi
  if [ -n "$is_dry_run" ]; then return; fi
  rm -rf "$state"
  while IFS="$tab" read -r what _ _ _ _ file; do
    if [ "$what" = folder ]; then rmdir "$file" 2>/dev/null || :; fi
  done <"$work/record"
  say "Done: everything is as it was."
}

put_back() {
  if [ -z "$file" ]; then
    warn "  $state/manifest has a line that says no file."
    return 1
  fi
  if [ ! -e "$file" ]; then
    say "  $file is gone already."
    return 0
  fi
  if [ -n "$is_dry_run" ]; then
    say "  would put back $file"
    return 0
  fi
  if [ "$(sum_of "$file")" != "$sum" ]; then
    take_out
    return
  fi
  if [ "$mode" = - ]; then
    rm -f "$file" || return 1
    say "  removed $file"
    return 0
  fi
  replace_file "$state/$entry.before" "$file" "$mode" || return 1
  say "  put back $file"
}

# Somebody has changed the file since: only what we wrote leaves it.
take_out() {
  edit revert "$file" "$format" "$state/$entry.ops" "$state/$entry.before" >"$work/new" 2>"$work/why" || {
    warn "  $file was changed, and is left as it is: $(head -n 1 "$work/why") As it was before, it is in $state/$entry.before"
    return 1
  }
  if [ "$mode" = - ] && [ "$(tr -d ' \t\r\n' <"$work/new" | head -c 3)" = "{}" ]; then : >"$work/new"; fi
  if [ "$mode" = - ] && [ ! -s "$work/new" ]; then
    rm -f "$file" || return 1
    say "  removed $file"
    return 0
  fi
  if [ "$mode" = - ]; then mode=600; fi
  replace_file "$work/new" "$file" "$mode" || return 1
  say "  took the gateway's settings out of $file, which was changed since"
}

main "$@"
