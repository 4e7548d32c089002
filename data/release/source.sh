#!/bin/sh
# Packs the source of a release, with its bundles: data/release/source.sh OUT.tar.gz WORK-DIRECTORY
# The same commit gives the same bytes. Needs the npm packages, and no network. Changes of files that git knows are in it.
set -eu
top=$(readlink -f "$(dirname "$(readlink -f "$0")")/../..")
out=$(readlink -m "$1") work=$(readlink -m "$2")
cd "$top"
source=$work/unpacked/culvert-$(node -p 'require("./package.json").version')
rm -rf "$work/unpacked"
mkdir -p "$source/prebuilt/system"
changes=$(git stash create)
git archive "${changes:-HEAD}" | tar -x -C "$source"
# so that a build of the source needs no npm
node data/build/build.mjs "$source/prebuilt/system" '' system "$(git rev-parse --short HEAD)"
data/release/pack.sh "$work/unpacked" "$out"
