"""Answers requests, JSON lines on standard input, beside what comes over the bus."""
import json
import sys

from gi.repository import GLib


def serve(perform):
    loop = GLib.MainLoop()

    def line(_fd, _condition):
        text = sys.stdin.readline()
        if not text:
            loop.quit()
            return False
        try:
            answer = {"ok": perform(json.loads(text))}
        except Exception as error:  # told to the test, which fails with it
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)
        return True

    GLib.io_add_watch(sys.stdin.fileno(), GLib.PRIORITY_DEFAULT, GLib.IO_IN | GLib.IO_HUP, line)
    loop.run()
