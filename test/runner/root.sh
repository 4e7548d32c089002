#!/usr/bin/env bash
# Repeats the tests in a fresh root of another Debian release: test/runner/root.sh RELEASE [WORD…]
# The root is made from scratch each time; downloaded packages are kept. Needs root, debootstrap and npm packages in node_modules.
set -eu
cd "$(dirname "$(readlink -f "$0")")/../.."
release=$1
shift
mirror=$("$(dirname "$(readlink -f "$0")")/../../data/release/mirror.sh")
cache=${CULVERT_TEST_CACHE:-/var/cache/culvert-test}/$release
root=$cache/root

say() { printf '%s\n' "test in $release: $*" >&2; }

# Mounts and processes of the root live in their own namespaces, which end with this script, however it ends.
if [ -z "${CULVERT_TEST_NAMESPACE-}" ]; then
  mkdir -p "$cache"
  exec 9>"$cache/lock"
  flock -n 9 || { say "another run uses $cache; wait for it to end" >&2; exit 1; }
  CULVERT_TEST_NAMESPACE=1 exec unshare --mount --pid --fork --kill-child --mount-proc "$0" "$release" "$@"
fi

mkdir -p "$cache/archives/partial"
rm -rf "$root"
say 'making the root'
debootstrap --variant=minbase --cache-dir="$cache/archives" --include=ca-certificates,nodejs \
  "$release" "$root" "$mirror" >"$cache/debootstrap.log" 2>&1 || { tail -20 "$cache/debootstrap.log" >&2; exit 1; }

# tests create mount namespaces, which need a root that is a mount point
mount --bind "$root" "$root"
# no service starts in a root
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
chmod 755 "$root/usr/sbin/policy-rc.d"
mount --bind "$cache/archives" "$root/var/cache/apt/archives"
# downloads of tests stay as well
mkdir -p "$cache/../appimage" "$root/var/cache/culvert-test/appimage"
mount --bind "$cache/../appimage" "$root/var/cache/culvert-test/appimage"
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
for device in null zero full random urandom tty; do
  : >"$root/dev/$device"
  mount --bind "/dev/$device" "$root/dev/$device"
done
mkdir -p "$root/dev/pts" "$root/dev/shm" "$root/dev/net"
for device in fuse net/tun; do
  [ ! -e "/dev/$device" ] || { : >"$root/dev/$device"; mount --bind "/dev/$device" "$root/dev/$device"; }
done
mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
for number in 0:stdin 1:stdout 2:stderr; do ln -s "/proc/self/fd/${number%:*}" "$root/dev/${number#*:}"; done
mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
mount -t tmpfs -o mode=755 tmpfs "$root/run"
mkdir -p "$root/run/lock"
cp /etc/resolv.conf /etc/hosts "$root/etc/"
chroot "$root" useradd --create-home --uid 1000 culvert
# the certificates and the proxy by which this machine reaches the mirror
[ ! -d /usr/local/share/ca-certificates ] || cp -R /usr/local/share/ca-certificates "$root/usr/local/share/"
chroot "$root" update-ca-certificates >"$cache/certificates.log" 2>&1 || true
for file in /etc/apt/apt.conf.d/*proxy* /etc/apt/apt.conf; do [ ! -f "$file" ] || cp "$file" "$root/etc/apt/apt.conf.d/"; done

say 'copying the sources'
mkdir -p "$root/src/culvert"
git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' file; do
  [ ! -e "$file" ] && [ ! -L "$file" ] || printf '%s\0' "$file"
done 2>/dev/null | tar --null -T - -cf - | tar -xf - -C "$root/src/culvert"
cp -a node_modules "$root/src/culvert/"

say "running on $(chroot "$root" sh -c '. /etc/os-release; echo "$PRETTY_NAME"'), Node $(chroot "$root" node --version)"
[ $# -gt 0 ] || set -- test/
# the root of its mount namespace, since a chroot can make no user namespace, and nsenter leaves it
cd "$root"
pivot_root . .
umount --lazy .
exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
  TERM="${TERM-dumb}" ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} \
  sh -c 'dbus-uuidgen --ensure 2>/dev/null; cd /src/culvert && exec ./culvert-tool test "$@"' - "$@"
