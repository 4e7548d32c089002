#!/bin/sh
# Builds one package of this version into dist/, from the tree as it is: data/release/package.sh appimage|deb|rpm|arch|npm|recipes|sources
# deb --daemon: only the packages of a server
set -eu
top=$(readlink -f "$(dirname "$(readlink -f "$0")")/../..")
cd "$top"
version=$(node -p 'require("./package.json").version')
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || stat -c %Y package.json)
export SOURCE_DATE_EPOCH
mkdir -p dist
work=$top/build/release
machine=${CULVERT_IMAGE_MACHINE:-$(uname -m)}
source=$work/culvert-$version-source.tar.gz
make_source() {
  [ -z "$(git ls-files --others --exclude-standard)" ] || echo 'package.sh: files that git does not know are not in the package' >&2
  data/release/source.sh "$source" "$work/source"
}
case $1 in
  appimage)
    out=dist/culvert-$version-$machine.AppImage
    data/appimage/build.sh "$out" "$work/appimage-$machine" ;;
  deb)
    out=dist/culvert-$version.deb
    make_source
    if [ "${2-}" = --daemon ]; then
      parts="culvert-$version-daemon.deb culvert-$version-archive-keyring.deb"
      data/deb/build.sh "$source" "$work/culvert-$version.deb" "$work/deb"
      for part in $parts; do mv "$work/$part" dist/; done
      rm "$work/culvert-$version.deb"
      out=dist/culvert-$version-daemon.deb
      printf 'Install it with: sudo apt install'
      printf ' ./dist/%s' $parts
      echo
    else
      data/deb/build.sh "$source" "$out" "$work/deb"
    fi ;;
  rpm)
    out=dist/culvert-$version.rpm
    make_source
    data/rpm/build.sh "$source" "$out" "$work/rpm" ;;
  arch)
    out=dist/culvert-$version-1-any.pkg.tar.zst
    make_source
    data/arch/build.sh "$source" "$out" "$work/arch" ;;
  npm)
    data/release/user.sh "$work/culvert-$version-user.tar.gz" "$work/user"
    data/release/npm.sh "$work/user/tree/culvert-$version" dist "$work/npm"
    out="dist/culvert-wrap-$version.tgz dist/culvert-manifest-$version.tgz" ;;
  recipes)
    out=dist/culvert-$version-recipes.tar.gz
    make_source
    rm -rf "$work/recipes"
    data/release/recipes.sh "$source" "$work/recipes/culvert-$version-recipes"
    data/release/pack.sh "$work/recipes" "$out" ;;
  sources)
    out=dist/culvert-$version-appimage-sources.tar
    [ ! -d "dist/$version" ] || out=dist/$version/${out#dist/}
    data/appimage/sources.sh "$out" "$work"/appimage-*/tree.components.json ;;
esac
# shellcheck disable=SC2086 # one or two files
stat -c '%n: %s bytes' $out
