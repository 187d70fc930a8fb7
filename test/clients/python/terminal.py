"""Runs a program at a terminal of its own, and answers its questions: [[text that it ends with, answer], …]."""

import json
import os
import pty
import re
import select
import sys

answers = json.loads(sys.argv[1])
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(sys.argv[2], sys.argv[2:])

shown = ""
while True:
    ready, _, _ = select.select([terminal], [], [], 60)
    if not ready:
        sys.exit("The program asked for something else, or hangs: " + shown)
    try:
        piece = os.read(terminal, 4096).decode()
    except OSError:
        break
    if not piece:
        break
    sys.stdout.write(piece)
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown + piece)
    if answers and answers[0][0] in shown and shown.rstrip(" ").endswith(("]", ":")):
        shown = ""
        os.write(terminal, (answers.pop(0)[1] + "\n").encode())
sys.stdout.flush()
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
