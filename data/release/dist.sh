#!/bin/sh
# Run by `meson dist`, which packs what git has: adds the bundles, so that a build of the source needs no npm.
set -eu
commit=$(git -C "$MESON_SOURCE_ROOT" rev-parse --short HEAD)
for format in system deb user; do
  mkdir -p "$MESON_DIST_ROOT/prebuilt/$format"
  node "$MESON_SOURCE_ROOT/data/build/build.mjs" "$MESON_DIST_ROOT/prebuilt/$format" '' "$format" "$commit"
done
