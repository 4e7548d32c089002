#!/bin/sh
# Publishes the package repositories of a release as pages of a forge: data/repository/pages.sh VERSION
# They become the one commit of the branch "pages" of origin, or of CULVERT_PAGES: readers see the old or the new tree as a whole.
set -eu
cd "$(dirname "$(readlink -f "$0")")/../.."
tree=$PWD/dist/$1/repository
[ -d "$tree" ] || { echo "pages: there is no $tree; a release writes it when it is signed." >&2; exit 1; }
index=$(mktemp -d)
trap 'rm -rf "$index"' EXIT
export GIT_INDEX_FILE="$index/index"
git --work-tree="$tree" add --force --all .
commit=$(git commit-tree -m "Packages of Culvert $1" "$(git write-tree)")
git push --force origin "$commit:refs/heads/${CULVERT_PAGES:-pages}"
