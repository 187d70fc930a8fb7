# Usage: sh orphan-guard.sh PID SIGNAL SECONDS [SIGNAL SECONDS]…
# Waits on standard input. A line ends this script. If the input closes without one, whoever held it is gone: the process
# gets the signals one after the other, with so many seconds between them, until it is gone.
IFS= read -r _ && exit 0
pid=$1
shift
while [ $# -ge 2 ]; do
  kill -s "$1" "$pid" 2>/dev/null || exit 0
  tries=$(($2 * 5))
  while [ "$tries" -gt 0 ]; do
    sleep 0.2
    kill -s 0 "$pid" 2>/dev/null || exit 0
    tries=$((tries - 1))
  done
  shift 2
done
