# Runs COMMAND (such as `npm ci && npm start`) as a terminal would, then the curl commands that it prints, then Ctrl-C.
# Its last line is `ok` or says what went wrong. With job control a background job is a process group with the usual signals.
set -m
cd "$HOME/model-gateway" || exit
log=/tmp/start.log

fail() {
  tail -n 30 "$log"
  echo "$1"
  exit 1
}

is_open() { (exec 3<>/dev/tcp/127.0.0.1/8080) 2> /dev/null; }
# The network may be the machine's own: whoever else uses the port there is waited for.
for _ in $(seq 300); do is_open || break; sleep 1; done

# Emptied here: the loop below may read it before the background job empties it.
: > "$log"
bash -c "$COMMAND" > "$log" 2>&1 < /dev/null &
job=$!
for _ in $(seq 1200); do
  if [ "$(grep -c 'curl -N' "$log")" -ge 2 ]; then break; fi
  kill -0 "$job" 2> /dev/null || fail "ended before it was ready"
  sleep 1
done
[ "$(grep -c 'curl -N' "$log")" -ge 2 ] || fail "not ready within 20 minutes"
sleep 1

awk '/curl -N/ { inside = 1 } inside { print } inside && !/\\$/ { inside = 0; printf "\n" }' "$log" > /tmp/curl-lines
answers=$(timeout 120 bash /tmp/curl-lines 2> /tmp/curl-errors) || fail "a curl command failed: $(tail -n 1 /tmp/curl-errors)"
case $answers in *'[DONE]'*) ;; *) fail "no whole answer to the chat completions command" ;; esac
case $answers in *'message_stop'*) ;; *) fail "no whole answer to the messages command" ;; esac

kill -INT -- "-$job"
for _ in $(seq 120); do
  kill -0 "$job" 2> /dev/null || break
  sleep 1
done
kill -0 "$job" 2> /dev/null && fail "did not stop within two minutes of Ctrl-C"
wait "$job"
code=$?
[ "$code" -eq 0 ] || fail "ended with $code after Ctrl-C"

left=$(for program in /proc/[0-9]*/exe; do readlink "$program"; done 2> /dev/null | grep -E '/(node|envoy|postgres)$' | sort | uniq -c)
[ -z "$left" ] || fail "left processes behind: $left"
echo ok
