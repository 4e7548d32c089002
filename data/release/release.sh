#!/bin/sh
# Makes a release in dist/VERSION/, from a clean tree: data/release/release.sh VERSION [--sources] [--key FILE] [OPTION…]
# The options are those of `culvert-manifest sign`; --passphrase-file FILE opens an encrypted key without a question, and a
# second --key signs the package repositories too.
# --renew VERSION --key FILE [OPTION…] signs what is in dist/VERSION/, again before that expires; any build can do it.
# --sources: with the sources of what the AppImage bundles, which its licenses want to be published beside it.
# The directory appears at the end, whole, and can be uploaded as it is; see RELEASING.md.
set -eu
top=$(readlink -f "$(dirname "$(readlink -f "$0")")/../..")
cd "$top"
say() { printf '%s\n' "release: $*" >&2; }
die() { say "$@"; exit 1; }

# What the release is built with, one "name version" a line. Debian keeps the versions of any day at snapshot.debian.org. Most of
# the list is what dpkg-buildpackage noted beside the Debian package (deb-buildinfo(5)): its tools, their libraries, the compiler.
built_with() {
  echo "# What this release was built with. The same versions give the same bytes."
  sed -n 's/^PRETTY_NAME="\(.*\)"$/system \1/p' /etc/os-release
  echo "architecture $(uname -m)"
  echo "node.js $(node --version)"
  {
    sed -n '/^Installed-Build-Depends:/,/^[^ ]/s/^ \([^ ]*\) (= \([^)]*\)),\{0,1\}$/\1 \2/p' "$work/deb"/*.buildinfo
    # of the AppImage
    dpkg-query -W -f '${Package} ${Version}\n' squashfs-tools binutils libsquashfuse-dev libfuse3-dev libzstd-dev zlib1g-dev 2>/dev/null || true
  } | LC_ALL=C sort -u
}

if [ "${1:?}" = --renew ]; then
  [ -f "dist/${2-}/release-manifest.v1.json" ] || die "There is no release in dist/${2-}/."
  renewed=dist/$2 again=
  [ ! -f "$renewed/release-manifest.v1.json.sig" ] || again=--renew
  shift 2
  # shellcheck disable=SC2086 # a word or none
  exec data/repository/sign.sh $again "$renewed" build/meson/manifest/main.cjs "$@"
fi
version=$1 channel=stable
shift
sources=no signing='' count=$#
while [ "$count" -gt 0 ]; do
  option=$1
  shift
  count=$((count - 1))
  case $option in
    --sources) sources=yes ;;
    # packages of a release bring its keys, so they have to know before they are built
    --revoke | --revoke=*) die 'Revoke the key first: ./culvert-tool release-key --revoke NAME; then ./culvert-tool version, which commits that.' ;;
    --key) signing=yes; [ "$count" -gt 0 ] && [ -r "$1" ] || die "The key ${1-} can't be read."; set -- "$@" "$option" ;;
    --channel) channel=${1-}; set -- "$@" "$option" ;;
    --channel=*) channel=${option#*=}; set -- "$@" "$option" ;;
    --key=*) signing=yes; [ -r "${option#*=}" ] || die "The key ${option#*=} can't be read."; set -- "$@" "$option" ;;
    *) set -- "$@" "$option" ;;
  esac
done
[ $# -eq 0 ] || [ -n "$signing" ] || die "$* is for signing, which needs --key FILE."

wanted=$(node -p 'require("./package.json").version')
[ "$version" = "$wanted" ] || die "package.json says $wanted, not $version. Run: ./culvert-tool version $version"
if [ -f package-lock.json ]; then
  locked=$(node -p 'const { version, packages } = require("./package-lock.json"); version === packages[""].version ? version : "two versions"')
  [ "$locked" = "$version" ] || die "package-lock.json says $locked, not $version. Run: ./culvert-tool version $version"
fi
[ -z "$(git status --porcelain)" ] || die 'The tree is not clean; a release is a commit. Commit or remove: ' "$(git status --porcelain | head -n 5)"
node data/release/version.mjs "$version" --check || die "Run: ./culvert-tool version $version, which dates the changes and commits."
for file in "dist/$version" dist/culvert-"$version"[-.]*; do
  [ ! -e "$file" ] || die "$file exists: a release is made once. Remove it if it was never published."
done

SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH TZ=UTC LC_ALL=C.UTF-8
umask 022
work=$top/build/release
new=$work/new
rm -rf "$new"
mkdir -p "$new"
name=$new/culvert-$version

say 'source'
data/release/source.sh "$name-source.tar.gz" "$work/source"
say 'tree for a user'
data/release/user.sh "$name-user.tar.gz" "$work/user"
say 'Debian package'
data/deb/build.sh "$name-source.tar.gz" "$name.deb" "$work/deb"
say 'rpm'
data/rpm/build.sh "$name-source.tar.gz" "$name.rpm" "$work/rpm"
built_with >"$name.builder.txt"
say 'AppImage'
rm -f "$work"/appimage-*/tree.components.json
for machine in ${CULVERT_IMAGE_MACHINES:-$(uname -m)}; do
  CULVERT_IMAGE_MACHINE=$machine data/appimage/build.sh "$name-$machine.AppImage" "$work/appimage-$machine"
done
say 'list of what is inside'
node data/release/sbom.mjs "$work/user/meson/licenses.txt" "$name.cdx.json" "$work"/appimage-*/tree.components.json

manifest() { node "$work/user/meson/manifest/main.cjs" "$@"; }
say 'recipes for other distributions'
rm -rf "$work/recipes"
data/release/recipes.sh "$name-source.tar.gz" "$work/recipes/culvert-$version-recipes" "$channel"
data/release/pack.sh "$work/recipes" "$name-recipes.tar.gz"
say 'npm packages'
data/release/npm.sh "$work/user/tree/culvert-$version" "$new" "$work/npm"
say 'manifest'
manifest create --out "$new/release-manifest.v1.json" --tag "v$version" "$new"/culvert-*
# for people who verify without culvert-manifest; a later signature of the manifest does not change this list
(cd "$new" && sha256sum -- culvert-* release-manifest.v1.json >SHA256SUMS)
[ -z "$signing" ] || data/repository/sign.sh "$new" "$work/user/meson/manifest/main.cjs" "$@"
manifest verify --no-signature "$new/release-manifest.v1.json" >/dev/null
[ -z "$(git status --porcelain)" ] || die 'The build has changed the tree; nothing was released.'

mkdir -p dist
mv "$new" "dist/$version"
say "dist/$version holds the release; RELEASING.md says how to publish it."
say "Its text: ./culvert-tool release --notes $version"
if [ -z "$signing" ]; then
  say 'It is not signed, and no installation updates to it. To sign:'
  say "  ./culvert-tool release --renew $version --key FILE"
fi
if [ $sources = yes ]; then
  say 'sources of what the AppImage bundles'
  data/appimage/sources.sh "dist/$version/culvert-$version-appimage-sources.tar" "$work"/appimage-*/tree.components.json ||
    die 'The release is whole, but these sources are missing, which have to be published beside the AppImage. Try again with:' \
      './culvert-tool build sources'
fi
