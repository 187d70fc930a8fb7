#!/bin/sh
# Sets up the coding tools on this machine for the model gateway at the address below; --help lists the options.
# The program below needs Node.js 18 or later. It reads no files but the tools' own settings and your shell's profiles,
# and connects to that address only. Its source is in the gateway's repository, in clients/install/program.
set -eu

base_url='@BASE_URL@'

main() {
  for node in node nodejs; do
    if is_new_enough "$node"; then
      run "$node" "$@"
      return
    fi
  done
  cat >&2 <<TEXT
This installer needs Node.js 18 or later, which was not found on the PATH. Nothing is changed.
Install Node.js and run it again, or write the settings by hand: $base_url/install.md
shows the file and the text for each tool, under "By hand".
TEXT
  exit 1
}

is_new_enough() {
  [ "$("$1" -p 'parseInt(process.versions.node, 10) >= 18' 2>/dev/null </dev/null)" = true ]
}

# The program comes through standard input: no copy of it is left anywhere.
run() {
  node=$1
  shift
  "$node" - "$@" <<'PROGRAM'
@DATA@
@PROGRAM@
PROGRAM
}

main "$@"
