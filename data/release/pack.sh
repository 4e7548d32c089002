#!/bin/sh
# Packs a directory's content so that the same files give the same bytes: data/release/pack.sh DIRECTORY OUT.tar.gz
set -eu
out=$(readlink -m "$2")
epoch=${SOURCE_DATE_EPOCH:?}
cd "$1"
tar --sort=name --mtime="@$epoch" --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX --format=gnu \
  -cf "$out.tar" -- *
gzip -9n <"$out.tar" >"$out.part"
rm "$out.tar"
mv "$out.part" "$out"
