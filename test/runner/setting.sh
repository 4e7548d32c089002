#!/bin/sh
# Runs a command at another time and in another time zone: test/runner/setting.sh CLOCK OFFSET ZONE COMMAND…
# Takes root. CLOCK is the library of clock.c, OFFSET in seconds, and ZONE empty for that of the machine. They stand in /etc, in a
# mount namespace of its own, since most programs that tests start get an environment of their own.
set -eu
if [ -z "${CULVERT_TEST_SETTING-}" ]; then
  CULVERT_TEST_SETTING=1 exec unshare --mount "$0" "$@"
fi
unset CULVERT_TEST_SETTING
clock=$1 offset=$2 zone=$3
shift 3
# every machine has it, and no test needs it
layer=/mnt
mount -t tmpfs -o mode=755 tmpfs "$layer"
mkdir "$layer/etc" "$layer/work"
if [ "$offset" -ne 0 ]; then
  install -m 755 "$clock" "$layer/etc/culvert-test-clock.so"
  echo "$offset" >"$layer/etc/culvert-test-clock"
  echo /etc/culvert-test-clock.so >"$layer/etc/ld.so.preload"
fi
if [ -n "$zone" ]; then
  ln -s "/usr/share/zoneinfo/$zone" "$layer/etc/localtime"
  echo "$zone" >"$layer/etc/timezone"
fi
mount -t overlay -o "lowerdir=/etc,upperdir=$layer/etc,workdir=$layer/work" overlay /etc
umount --lazy "$layer" # a test may look there
exec "$@"
