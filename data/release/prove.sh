#!/bin/sh
# Proves a release of this commit: built twice with the same bytes, then installed, run and removed in fresh roots.
# As root; takes some ten minutes and 4 GB in build/prove, where everything is left for a look.
set -eu
top=$(readlink -f "$(dirname "$(readlink -f "$0")")/../..")
cd "$top"
work=$top/build/prove
say() { printf '%s\n' "prove: $*"; }
die() { say "$@" >&2; exit 1; }
[ "$(id -u)" -eq 0 ] || die 'Roots are made and entered as root.'
version=$(node -p 'require("./package.json").version')
mkdir -p "$work"

# a clean clone each time, in directories of different length; what was downloaded is kept
for copy in one another; do
  rm -rf "$work/$copy/culvert"
  mkdir -p "$work/$copy"
  git clone -q . "$work/$copy/culvert"
  cp -a node_modules "$work/$copy/culvert/"
done
mkdir -p "$work/one/culvert/build/release"
[ ! -d "$work/kept" ] || cp -a "$work/kept" "$work/one/culvert/build/release/appimage"
[ -f "$work/key.key" ] || node build/meson/manifest/main.cjs keygen "/tmp/culvert-prove-$$" >/dev/null
[ ! -f "/tmp/culvert-prove-$$.key" ] || { mv "/tmp/culvert-prove-$$.key" "$work/key.key"; mv "/tmp/culvert-prove-$$.pub" "$work/key.pub"; }
for copy in one another; do
  say "release, $copy time"
  (cd "$work/$copy/culvert" && data/release/release.sh "$version" --key "$work/key.key" --serial 1 --expires 90d) 2>"$work/$copy/log" ||
    { cat "$work/$copy/log" >&2; die 'The release failed.'; }
  [ $copy = another ] || {
    rm -rf "$work/kept"
    mkdir -p "$work/kept/sysroot/apt" "$work/another/culvert/build/release/appimage/sysroot"
    cp -a "$work/one/culvert/build/release/appimage/node" "$work/kept/"
    cp -a "$work/one/culvert/build/release/appimage/sysroot/apt/cache" "$work/kept/sysroot/apt/"
    cp -a "$work/kept/." "$work/another/culvert/build/release/appimage/"
  }
done
dist=$work/one/culvert/dist
for file in "$dist"/*; do
  cmp "$file" "$work/another/culvert/dist/${file##*/}" || die "${file##*/} differs from one build to the next."
done
say "$(find "$dist" -type f | wc -l) files, the same bytes both times:"
(cd "$dist" && stat -c '%10s %n' -- *)
node build/meson/manifest/main.cjs verify "$dist/release-manifest.v1.json" --key "$work/key.pub"
lintian --fail-on error "$dist/culvert-$version.deb" || die 'lintian found errors.'

# a display that programs in the roots reach through the abstract socket
Xvfb -noreset -displayfd 3 -screen 0 1000x800x24 3>"$work/display" >/dev/null 2>&1 &
server=$!
trap 'kill $server' EXIT
while [ ! -s "$work/display" ]; do sleep 0.1; done
DISPLAY=:$(cat "$work/display")
export DISPLAY

for suite in bookworm trixie; do
  root=$work/$suite
  if [ ! -f "$root.tar" ]; then
    say "debootstrap $suite"
    rm -rf "$root"
    debootstrap --variant=minbase --include=ca-certificates "$suite" "$root" http://deb.debian.org/debian >"$root.log" 2>&1 ||
      { tail "$root.log" >&2; die "debootstrap $suite failed."; }
    tar -C "$root" -cf "$root.tar" .
  fi
  for what in appimage user deb; do
    rm -rf "$root"
    mkdir "$root"
    tar -C "$root" -xf "$root.tar"
    say "$suite: $what"
    # a mount namespace of its own: nothing stays mounted, whatever happens
    unshare --mount --pid --fork --kill-child sh -eu -c '
      root=$1
      mount --rbind /dev "$root/dev"
      mount -t proc proc "$root/proc"
      mount -t tmpfs tmpfs "$root/run"
      mount -t tmpfs -o mode=1777,exec tmpfs "$root/tmp"
      mkdir "$root/run/dist" "$root/run/release" "$root/run/session"
      mount --bind "$2" "$root/run/dist"
      mount --bind "$3" "$root/run/release"
      cp /etc/resolv.conf "$root/etc/resolv.conf"
      cp -r /etc/apt/apt.conf.d/. "$root/etc/apt/apt.conf.d/"
      exec chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 DISPLAY="$DISPLAY" \
        XDG_RUNTIME_DIR=/run/session GTK_A11Y=none DEBIAN_FRONTEND=noninteractive sh -eu /run/release/inside.sh "$4" "$5"
    ' - "$root" "$dist" "$top/data/release" "$what" "$version" || die "$what failed in $suite; the root is $root."
  done
done
say 'all proven'
