#!/bin/sh
# Packs the source of a release, with its bundles: data/release/source.sh OUT.tar.gz WORK-DIRECTORY
# The same commit gives the same bytes. Needs the npm packages, and no network.
set -eu
top=$(readlink -f "$(dirname "$(readlink -f "$0")")/../..")
out=$(readlink -m "$1") work=$(readlink -m "$2")
mkdir -p "$work"
run() { "$@" >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }; }
rm -rf "$work/source" "$work/unpacked"
cd "$top"
run meson setup "$work/source" --prefix /usr -Dinstall_format=system
# what it packs is built and tested from the tarball right there, without npm
run meson dist -C "$work/source" --formats gztar --allow-dirty
mkdir "$work/unpacked"
tar -xzf "$work"/source/meson-dist/culvert-*.tar.gz -C "$work/unpacked"
"$top/data/release/pack.sh" "$work/unpacked" "$out"
