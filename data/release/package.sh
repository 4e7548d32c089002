#!/bin/sh
# Builds one package of this version into dist/, from the tree as it is: data/release/package.sh appimage|deb|sources
set -eu
top=$(readlink -f "$(dirname "$(readlink -f "$0")")/../..")
cd "$top"
version=$(node -p 'require("./package.json").version')
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || stat -c %Y package.json)
export SOURCE_DATE_EPOCH
mkdir -p dist
work=$top/build/release
case $1 in
  appimage)
    out=dist/culvert-$version-x86_64.AppImage
    data/appimage/build.sh "$out" "$work/appimage" ;;
  deb)
    out=dist/culvert-$version.deb
    # meson packs what is committed
    [ -z "$(git status --porcelain)" ] || echo 'package.sh: what is not committed is not in the package' >&2
    data/release/source.sh "$work/culvert-$version-source.tar.gz" "$work/source"
    data/deb/build.sh "$work/culvert-$version-source.tar.gz" "$out" "$work/deb" ;;
  sources)
    out=dist/culvert-$version-appimage-sources.tar
    data/appimage/sources.sh "$out" "$work/appimage" ;;
esac
echo "$out: $(stat -c %s "$out") bytes"
