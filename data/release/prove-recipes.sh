#!/bin/sh
# Proves the recipes for other distributions: each package is built twice with the same bytes, installed in a fresh root,
# run, and removed with nothing left behind. As root, from the files that git knows.
# With NEXT, a version that release pages offer (see prove.sh), each package is updated to that. SOURCE is then the source of
# a release that knows these pages: prove-recipes.sh [NEXT SOURCE.tar.gz]
set -eu
top=$(readlink -f "$(dirname "$(readlink -f "$0")")/../..")
cd "$top"
work=$top/build/prove
say() { printf '%s\n' "prove: $*"; }
die() { say "$@" >&2; exit 1; }
[ "$(id -u)" -eq 0 ] || die 'Roots are made and entered as root.'
next=${1-} given=${2-}
version=$(node -p 'require("./package.json").version')
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
rm -rf "$work/recipes"
mkdir -p "$work/recipes/dist"
source=$work/recipes/culvert-$version-source.tar.gz
if [ -n "$given" ]; then cp "$given" "$source"; else data/release/source.sh "$source" "$work/recipes/source"; fi
for once in one another; do
  data/rpm/build.sh "$source" "$work/recipes/$once.rpm" "$work/recipes/rpm-$once"
  data/arch/build.sh "$source" "$work/recipes/$once.pkg.tar.zst" "$work/recipes/arch-$once"
done
for kind in rpm pkg.tar.zst; do
  cmp "$work/recipes/one.$kind" "$work/recipes/another.$kind" || die "The $kind differs from one build to the next."
done
mv "$work/recipes/one.rpm" "$work/recipes/dist/culvert-$version-1.noarch.rpm"
mv "$work/recipes/one.pkg.tar.zst" "$work/recipes/dist/culvert-$version-1-any.pkg.tar.zst"
say "rpm and Arch package, the same bytes both times:"
(cd "$work/recipes/dist" && stat -c '%10s %n' -- *)
data/release/recipes.sh "$source" "$work/recipes/filled"
! grep -r '@[A-Z_0-9]*@' "$work/recipes/filled" || die 'A recipe was not filled in.'
if [ ! -f "$work/trixie.tar" ]; then
  say 'debootstrap trixie'
  debootstrap --variant=minbase --include=ca-certificates trixie "$work/trixie" "$(data/release/mirror.sh)" >"$work/trixie.log" 2>&1 ||
    { tail "$work/trixie.log" >&2; die 'debootstrap trixie failed.'; }
  tar -C "$work/trixie" -cf "$work/trixie.tar" .
fi
for what in rpm arch; do
  say "trixie: $what. Left out: its dependencies, which have other names in Debian"
  data/release/display.sh data/release/enter.sh "$work/trixie.tar" "$work/trixie" "$work/recipes/dist" "$what" "$version" "$next" ||
    die "$what failed; the root is $work/trixie."
done
say 'recipes proven'
