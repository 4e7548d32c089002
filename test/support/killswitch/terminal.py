"""Types at a shell in a new terminal: terminal.py STEPS. Each step of the JSON list is ["type", TEXT], ["see", TEXT], which waits
until the text appears after what was seen before, or ["resize", ROWS, COLUMNS]. Fails with what the terminal showed."""

import fcntl
import json
import os
import pty
import select
import struct
import sys
import termios

SECONDS = 60

pid, terminal = pty.fork()
if pid == 0:
    os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])
shown = ""


def see(text):
    global shown
    while text not in shown:
        if not select.select([terminal], [], [], SECONDS)[0]:
            sys.exit(f"{text!r} is missing in {shown!r}")
        shown += os.read(terminal, 65536).decode(errors="replace")
    shown = shown[shown.index(text) + len(text):]


for name, *given in json.loads(sys.argv[1]):
    if name == "see":
        see(*given)
    elif name == "type":
        os.write(terminal, given[0].encode())
    else:
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", *given, 0, 0))
os.close(terminal)
