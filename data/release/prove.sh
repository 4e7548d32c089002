#!/bin/sh
# Proves a release of this commit: built twice with the same bytes, then in fresh roots installed, run, updated to a next
# version and back where an installation does that itself, and removed.
# As root; takes some ten minutes, half of that the second time, and 5 GB in build/prove, where everything is left for a look.
set -eu
top=$(readlink -f "$(dirname "$(readlink -f "$0")")/../..")
cd "$top"
work=$top/build/prove
say() { printf '%s\n' "prove: $*"; }
die() { say "$@" >&2; exit 1; }
[ "$(id -u)" -eq 0 ] || die 'Roots are made and entered as root.'
version=$(node -p 'require("./package.json").version')
next=$(node -p 'require("semver").inc(require("./package.json").version, "patch")')
mkdir -p "$work"
# keygen makes none in a repository, and this one is worth nothing
[ -f "$work/proof.key" ] || {
  made=$(mktemp -d)
  node build/meson/manifest/main.cjs keygen "$made/proof" >/dev/null
  mv "$made"/* "$work/"
  rmdir "$made"
}
public=$(openssl pkey -pubin -in "$work/proof.pub" -outform DER | tail -c 32 | base64 -w0)

# A commit on top, the same in each clone of the same commit: commit DIRECTORY MESSAGE
commit() {
  time="@$(git -C "$1" log -1 --format=%ct) +0000"
  env GIT_AUTHOR_DATE="$time" GIT_COMMITTER_DATE="$time" \
    git -C "$1" -c user.name=proof -c user.email=proof@culvert.example -c commit.gpgsign=false commit -qam "$2"
}

# What a maintainer does with a new key. The builds of a proof trust this one, and no build beside them ever does.
pin() {
  keys=$1/manifest/release-keys.ts
  sed -i "s|^\(const PINNED: readonly PinnedKey\[\] = \[\)|\1{ name: 'proof', key: '$public' }, |" "$keys"
  grep -qF "$public" "$keys" || die "The key could not be pinned in $keys."
  commit "$1" 'Pin the key of a proof'
}

# a clean clone each time, in directories of different length; what was downloaded is kept
for copy in one another; do
  rm -rf "$work/$copy/culvert"
  mkdir -p "$work/$copy"
  git clone -q . "$work/$copy/culvert"
  pin "$work/$copy/culvert"
  cp -a node_modules "$work/$copy/culvert/"
done
mkdir -p "$work/one/culvert/build/release"
[ ! -d "$work/kept" ] || cp -a "$work/kept" "$work/one/culvert/build/release/appimage"
for copy in one another; do
  say "release, $copy time"
  (cd "$work/$copy/culvert" && data/release/release.sh "$version" --key "$work/proof.key" --serial 1 --expires 90d) 2>"$work/$copy/log" ||
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
node build/meson/manifest/main.cjs verify "$dist/release-manifest.v1.json" --key "$work/proof.pub"
lintian --fail-on error "$dist/culvert-$version.deb" || die 'lintian found errors.'

# the next version: of what updates itself, with a manifest signed by the same key, where an installation looks for it
say "next version, $next"
source=$work/source
rm -rf "$source"
mkdir -p "$source/stable"
(
  cd "$work/another/culvert"
  sed -i "s/^  \"version\": \"$version\"/  \"version\": \"$next\"/" package.json
  commit . "Raise the version to $next"
  SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
  export SOURCE_DATE_EPOCH TZ=UTC LC_ALL=C.UTF-8
  umask 022
  name=$source/stable/culvert-$next
  data/release/user.sh "$name-user.tar.gz" "$PWD/build/release/user"
  data/appimage/build.sh "$name-x86_64.AppImage" "$PWD/build/release/appimage"
  manifest() { node build/release/user/meson/manifest/main.cjs "$@"; }
  manifest create --out "$source/stable/release-manifest.v1.json" --tag "v$next" "$name"[-.]*
  manifest sign "$source/stable/release-manifest.v1.json" --key "$work/proof.key" --serial 2 --expires 90d
) >"$work/next.log" 2>&1 || { cat "$work/next.log" >&2; die "The next version could not be made."; }

rm -f "$work/display" "$work/server"
# a display that programs in the roots reach through the abstract socket
Xvfb -noreset -displayfd 3 -screen 0 1000x800x24 3>"$work/display" >/dev/null 2>&1 &
display=$!
# roots have the network of this machine, so its loopback is theirs
python3 -u -m http.server --bind 127.0.0.1 --directory "$source" 0 >"$work/server" 2>"$work/requests" &
trap 'kill $display $!' EXIT
while [ ! -s "$work/display" ] || [ ! -s "$work/server" ]; do sleep 0.1; done
DISPLAY=:$(cat "$work/display")
export DISPLAY
address=http://127.0.0.1:$(sed -n 's/.* port \([0-9]*\).*/\1/p' "$work/server")

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
        XDG_RUNTIME_DIR=/run/session GTK_A11Y=none DEBIAN_FRONTEND=noninteractive sh -eu /run/release/inside.sh "$4" "$5" "$6" "$7"
    ' - "$root" "$dist" "$top/data/release" "$what" "$version" "$next" "$address" || die "$what failed in $suite; the root is $root."
  done
done
say "downloads of the next version, from $address:"
sed -n 's|.*"GET /stable/\(culvert-[^ ]*\) .*" \([0-9]*\) .*|\2 \1|p' "$work/requests" | sort | uniq -c
say 'all proven'
