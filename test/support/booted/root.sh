#!/bin/sh
# A Debian root whose systemd can be process 1. What it mounts is seen by its own processes alone, and ends with them.
#   root.sh install ROOT PACKAGE…   installs packages of the release, with no service started
#   root.sh boot ROOT CGROUP        becomes the systemd of the root, in an empty cgroup and a network of its own
#   root.sh contain ROOT COMMAND…   becomes the command, as process 1 of a container without systemd
set -eu

if [ -z "${BOOTED_STEP-}" ]; then
  spaces='--mount --pid'
  case $1 in
    boot)
      spaces="$spaces --net --uts --ipc --cgroup"
      echo $$ >"$3/cgroup.procs" ;;
    contain) spaces="$spaces --net --uts --ipc" ;;
  esac
  # shellcheck disable=SC2086
  BOOTED_STEP=inside exec unshare $spaces --fork --kill-child -- "$0" "$@"
fi

command=$1
root=$2
shift 2
mount --make-rprivate /
mount --bind "$root" "$root"
cd "$root"
mount -t proc proc proc
mount -t tmpfs -o mode=755 tmpfs dev
mkdir dev/net dev/pts dev/shm
for device in null zero full random urandom tty net/tun; do
  : >"dev/$device"
  mount --bind "/dev/$device" "dev/$device"
done
mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts dev/pts
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd

path=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
if [ "$command" = install ]; then
  cp /etc/resolv.conf etc/
  printf '#!/bin/sh\nexit 101\n' >usr/sbin/policy-rc.d
  chmod 755 usr/sbin/policy-rc.d
  chroot . env -i PATH=$path DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 sh -euc '
    apt-get -q update
    apt-get -qy --no-install-recommends install "$@"
    apt-get clean' - "$@"
  rm usr/sbin/policy-rc.d
  exit
fi
if [ "$command" = contain ]; then
  # tests keep /run, where they find what marks an engine
  ip link set lo up
  mount -t tmpfs tmpfs tmp
  mkdir -p old
  pivot_root . old
  umount -l old
  # shellcheck disable=SC2086
  exec env -i PATH=$path HOME=/root LANG=C.UTF-8 ${CONTAINER_VARIABLES-} "$@"
fi
mount -t sysfs sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
for place in run tmp; do mount -t tmpfs tmpfs $place; done
mkdir -p old
pivot_root . old
umount -l old
exec env -i PATH=$path container=other /lib/systemd/systemd --system --unit=multi-user.target --show-status=no
