#!/bin/sh
# Makes and signs a catalog in dist/catalog/, from a clean tree and without a build: data/release/catalog.sh --key FILE [OPTION…]
# The options are those of `culvert-manifest sign`; --passphrase-file FILE opens an encrypted key without a question.
# --add signs the last catalog with one more key, for a threshold of keys.
set -eu
top=$(readlink -f "$(dirname "$(readlink -f "$0")")/../..")
cd "$top"
die() { printf '%s\n' "release: $*" >&2; exit 1; }

add=no signing=no
for option; do
  case $option in
    --add) add=yes ;;
    --key | --key=*) signing=yes ;;
    --channel | --channel=*) die 'A catalog has no channel.' ;;
  esac
done
[ $signing = yes ] || die 'A catalog is taken only with a signature: give --key FILE.'
work=$top/build/catalog
manifest=$work/release-manifest.v1.json
if [ $add = no ]; then
  changed=$(git status --porcelain -- wrapper/catalog data/knowledge package.json data/project.json)
  [ -z "$changed" ] || die 'A catalog is a commit. Commit or remove: ' "$changed"
  SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
  export SOURCE_DATE_EPOCH
  rm -rf "$work"
  mkdir -p "$work"
  node --import tsx data/release/catalog.ts files "$work"
  version=$(node -p 'require("./package.json").version')
  node --import tsx manifest/main.ts create --out "$manifest" --tag "v$version" "$work"/culvert-*.toml
elif [ ! -f "$manifest.sig" ]; then
  die 'There is no catalog to sign once more: make it without --add first.'
fi
data/repository/sign.sh --catalog "$work" manifest/main.ts --channel catalog "$@"
mkdir -p dist/catalog
node --import tsx data/release/catalog.ts pack "$work" dist/catalog/culvert-catalog.json
printf '%s\n' 'release: dist/catalog/culvert-catalog.json is the catalog; RELEASING.md says how to publish it.' >&2
