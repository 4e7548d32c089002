#!/bin/sh
# Makes a release in dist/, from a clean tree: data/release/release.sh VERSION [--key FILE] [option of `culvert-manifest sign`…]
# Everything appears at once at the end, or nothing does.
set -eu
top=$(readlink -f "$(dirname "$(readlink -f "$0")")/../..")
cd "$top"
say() { printf '%s\n' "release: $*" >&2; }
die() { say "$@"; exit 1; }

version=${1:?}
shift
signing=no
for option in "$@"; do
  case $option in --key | --key=*) signing=yes ;; esac
done
[ $# -eq 0 ] || [ $signing = yes ] || die "$* is for signing, which needs --key FILE."

wanted=$(node -p 'require("./package.json").version')
[ "$version" = "$wanted" ] || die "package.json says $wanted, not $version. Change it there, and commit."
[ -z "$(git status --porcelain)" ] || die 'The tree is not clean; a release is a commit. Commit or remove: ' "$(git status --porcelain | head -n 5)"
grep -q "^## $version\b" CHANGELOG.md || die "CHANGELOG.md says nothing of $version."
for file in dist/culvert-"$version"[-.]*; do
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
say 'AppImage'
data/appimage/build.sh "$name-x86_64.AppImage" "$work/appimage"
say 'list of what is inside'
node data/release/sbom.mjs "$work/appimage/meson/licences.txt" "$work/appimage/tree.components.json" "$name.cdx.json"

manifest() { node "$work/user/meson/manifest/main.cjs" "$@"; }
say 'manifest'
manifest create --out "$new/release-manifest.v1.json" --tag "v$version" "$name"[-.]*
if [ $signing = yes ]; then
  manifest sign "$new/release-manifest.v1.json" "$@"
fi
manifest verify --no-signature "$new/release-manifest.v1.json" >/dev/null
[ -z "$(git status --porcelain)" ] || die 'The build has changed the tree; nothing was released.'

mkdir -p dist
rm -f dist/release-manifest.v1.json dist/release-manifest.v1.json.sig
mv "$new"/* dist/
say "dist/ holds version $version."
if [ $signing = no ]; then
  say 'It is not signed, and no installation updates to it. To sign:'
  say "  $top/build/prefix/bin/culvert-manifest sign dist/release-manifest.v1.json --key FILE --serial N --expires 90d"
fi
