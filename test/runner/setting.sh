#!/bin/sh
# Runs a command where the clock, the time zone and so every program are elsewhere: test/runner/setting.sh OFFSET ZONE COMMAND…
# Takes root. OFFSET is in seconds, empty for none; ZONE is empty for that of the machine. Both stand in /etc, in a mount namespace of
# its own, since most programs that tests start get an environment of their own. The clock moves, as does the monotonic one.
set -eu
if [ -z "${CULVERT_TEST_SETTING-}" ]; then
  CULVERT_TEST_SETTING=1 exec unshare --mount "$0" "$@"
fi
unset CULVERT_TEST_SETTING
offset=$1 zone=$2
shift 2
layer=/mnt
mount -t tmpfs -o mode=755 tmpfs "$layer"
mkdir "$layer/etc" "$layer/work"
if [ -n "$offset" ]; then
  for library in /usr/lib/*/faketime/libfaketime.so.1; do printf '%s\n' "$library" >"$layer/etc/ld.so.preload"; done
  printf '%s\n' "$offset" >"$layer/etc/faketimerc"
fi
if [ -n "$zone" ]; then
  ln -s "/usr/share/zoneinfo/$zone" "$layer/etc/localtime"
  printf '%s\n' "$zone" >"$layer/etc/timezone"
fi
mount -t overlay -o "lowerdir=/etc,upperdir=$layer/etc,workdir=$layer/work" overlay /etc
exec "$@"
