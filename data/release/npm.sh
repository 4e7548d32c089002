#!/bin/sh
# Packs the programs that need nothing but Node as npm packages: data/release/npm.sh TREE OUT-DIRECTORY WORK-DIRECTORY
# TREE is a user's installation, as user.sh makes it. Writes culvert-wrap-VERSION.tgz and culvert-manifest-VERSION.tgz, which have
# no dependencies and no scripts; their folders are those of TREE, so the launchers find their programs as usual.
set -eu
top=$(readlink -f "$(dirname "$(readlink -f "$0")")/../..")
tree=$(readlink -f "$1") out=$(readlink -f "$2") work=$(readlink -m "$3")
for program in wrap manifest; do
  name=culvert-$program
  case $program in
    wrap) readme=wrapper/README.md ;;
    manifest) readme=manifest/README.md ;;
  esac
  rm -rf "${work:?}/$program"
  package=$work/$program/package
  mkdir -p "$package/bin" "$package/share/culvert" "$package/share/man/man1"
  cp -R "$tree/share/culvert/$program" "$package/share/culvert/"
  cp "$tree/share/man/man1/$name"*.1 "$package/share/man/man1/"
  # Node of the same npm prefix, for callers whose PATH has none. Only a global installation has one: for a local one, that path may
  # be in a directory of others.
  sed 's|^__cw_n=.*|case $__cw_h in */lib/node_modules/*) __cw_n=${__cw_h%/lib/node_modules/*}/bin/node ;; *) __cw_n=node ;; esac|' \
    "$tree/bin/$name" >"$package/bin/$name"
  grep -q '^case $__cw_h in' "$package/bin/$name" || { echo "npm.sh: $tree/bin/$name names no node." >&2; exit 1; }
  chmod 755 "$package/bin/$name"
  cp "$top/LICENSE" "$tree/share/culvert/licenses.txt" "$package/"
  cp "$top/$readme" "$package/README.md"
  node "$top/data/release/npm.mjs" "$program" "$package" >"$package/package.json"
  version=$(node -p 'require(process.argv[1]).version' "$package/package.json")
  "$top/data/release/pack.sh" "$work/$program" "$out/$name-$version.tgz"
done
