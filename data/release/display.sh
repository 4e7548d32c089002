#!/bin/sh
# Runs a command on a new display, which roots reach through the abstract socket: data/release/display.sh COMMAND…
set -eu
file=$(mktemp)
Xvfb -noreset -displayfd 3 -screen 0 1000x800x24 3>"$file" >/dev/null 2>&1 &
server=$!
trap 'kill $server; rm -f "$file"' EXIT
while [ ! -s "$file" ]; do sleep 0.1; done
DISPLAY=:$(cat "$file") "$@"
