# Runs COMMAND (such as `npm ci && npm test`). The last line is that of the tests, or says what went wrong.
cd "$HOME/model-gateway" || exit
bash -c "$COMMAND" < /dev/null 2>&1 || true
