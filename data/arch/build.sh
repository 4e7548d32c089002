#!/bin/sh
# Builds the Arch package from the source of a release: data/arch/build.sh SOURCE.tar.gz OUT.pkg.tar.zst WORK-DIRECTORY
# SOURCE_DATE_EPOCH gives its times. makepkg refuses to run as root; then it runs as nobody.
set -eu
here=$(dirname "$(readlink -f "$0")")
source=$(readlink -f "$1") out=$(readlink -m "$2") work=$(readlink -m "$3")
rm -rf "$work"
mkdir -p "$work"
"$here/../release/recipes.sh" "$source" "$work/recipes" --unsigned
# the package names the directory that it was built in, so it is always the same one, which the user nobody can reach
build=/tmp/culvert-makepkg
mkdir "$build" || { echo "build.sh: $build exists: another build is running, or was killed; then remove it." >&2; exit 1; }
trap 'rm -rf "$build"' EXIT
chmod 755 "$build"
cp "$work/recipes/PKGBUILD" "$work/recipes/culvert.install" "$source" "$build/"
cat >"$build/makepkg.conf" <<EOF
PKGEXT='.pkg.tar.zst'
SRCEXT='.src.tar.gz'
COMPRESSZST=(zstd -c -z -q -19 -)
PACKAGER='The Culvert contributors'
CARCH=$(uname -m)
CHOST=$(uname -m)-pc-linux-gnu
OPTIONS=(!strip docs !libtool !staticlibs emptydirs zipman purge !debug)
MAN_DIRS=(usr/share/man)
DOC_DIRS=(usr/share/doc)
PURGE_TARGETS=()
INTEGRITY_CHECK=(sha256)
BUILDENV=(!distcc color !ccache !check !sign)
DLAGENTS=()
VCSCLIENTS=()
EOF
run() { (cd "$build" && "$@" makepkg --config "$build/makepkg.conf" --nodeps --noconfirm --nocheck) >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }; }
if [ "$(id -u)" -eq 0 ]; then
  chown -R nobody "$build"
  run setpriv --reuid nobody --clear-groups env HOME="$build"
else
  run env
fi
cp --no-preserve=ownership "$build"/culvert-*.pkg.tar.zst "$out"
