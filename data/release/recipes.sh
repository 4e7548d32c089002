#!/bin/sh
# Fills in the recipes for other distributions: data/release/recipes.sh SOURCE.tar.gz DIRECTORY [CHANNEL | --unsigned]
# They take the source of a release by its address and digest, and makepkg also by its signatures. A source that is built here has
# none: --unsigned. SOURCE_DATE_EPOCH gives the date of the rpm's changelog.
set -eu
top=$(readlink -f "$(dirname "$(readlink -f "$0")")/../..")
source=$(readlink -f "$1") directory=$(readlink -m "$2")
version=$(basename "$source" | sed -n 's/^culvert-\(.*\)-source\.tar\.gz$/\1/p')
[ -n "$version" ] || { echo "recipes.sh: $source is not culvert-VERSION-source.tar.gz" >&2; exit 1; }
name=culvert-$version-source.tar.gz
channel=${3-stable} unsigned=
[ "$channel" != --unsigned ] || { channel=stable unsigned=yes; }
facts=$(node "$top/data/release/published.mjs" "$version" "$channel" "$name")
{ read -r minisign_keys && read -r url && read -r contact && read -r homepage; } <<E
$facts
E
digest=$(sha256sum "$source")
date=$(LC_ALL=C date -u -d "@${SOURCE_DATE_EPOCH:?}" '+%a %b %d %Y')
# what comes before a release sorts before it
rpm_version=$(printf %s "$version" | sed 's/-/~/g')
mkdir -p "$directory"
fingerprints=$(node "$top/data/repository/keyring.mjs" "$directory/culvert-archive-keyring" | sed "s/.*/'&'/" | paste -sd ' ')
rm "$directory/culvert-archive-keyring.pgp"
for file in rpm/culvert.spec arch/PKGBUILD arch/culvert.install; do
  sed "s|@FINGERPRINTS@|$fingerprints|; s|@MINISIGN_KEYS@|$minisign_keys|; s|@VERSION@|$version|g; s|@RPM_VERSION@|$rpm_version|g; s|@HOMEPAGE@|$homepage|g; s|@CONTACT@|$contact|g; s|@SOURCE_URL@|$url|g; s|@SHA256@|${digest%% *}|g; s|@DATE@|$date|g" \
    "$top/data/$file" >"$directory/${file#*/}"
done
# without a key, or for a source that nobody has signed
if [ -z "$fingerprints" ] || [ -n "$unsigned" ]; then
  rm "$directory/culvert-archive-keyring.asc"
  sed -i "s/{,\.asc,\.minisig})/)/; s/ 'SKIP' 'SKIP')/)/; s/ 'minisign')/)/; /^validpgpkeys=/,/^}/d" "$directory/PKGBUILD"
fi
