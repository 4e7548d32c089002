#!/bin/sh
# Packs a directory's content so that the same files give the same bytes: data/release/pack.sh DIRECTORY OUT.tar.gz
set -eu
out=$(readlink -m "$2")
cd "$1"
tar --sort=name --mtime="@${SOURCE_DATE_EPOCH:?}" --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX --format=gnu \
  -cf - -- * | gzip -9n >"$out.part"
mv "$out.part" "$out"
