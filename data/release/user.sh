#!/bin/sh
# Packs the tree of a user's installation, as updates take it: data/release/user.sh OUT.tar.gz WORK-DIRECTORY
set -eu
top=$(readlink -f "$(dirname "$(readlink -f "$0")")/../..")
out=$(readlink -m "$1") work=$(readlink -m "$2")
version=$(node -p "require('$top/package.json').version")
run() { "$@" >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }; }
rm -rf "$work"
mkdir -p "$work/tree"
cd "$top"
# the prefix is in no file: what names its place gets it when it is installed
run meson setup "$work/meson" --prefix /culvert -Dinstall_format=user
run meson compile -C "$work/meson"
run env DESTDIR="$work/root" meson install -C "$work/meson" --no-rebuild
mv "$work/root/culvert" "$work/tree/culvert-$version"
if grep -rl "$work" "$work/tree"; then
  echo 'user.sh: these files name the directory of the build.' >&2
  exit 1
fi
"$top/data/release/pack.sh" "$work/tree" "$out"
