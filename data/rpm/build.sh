#!/bin/sh
# Builds the rpms from the source of a release: data/rpm/build.sh SOURCE.tar.gz OUT.rpm WORK-DIRECTORY
# OUT.rpm is the one with panel and tray; beside it, OUT-daemon.rpm and OUT-archive-keyring.rpm.
# SOURCE_DATE_EPOCH gives its times.
set -eu
here=$(dirname "$(readlink -f "$0")")
source=$(readlink -f "$1") out=$(readlink -m "$2") work=$(readlink -m "$3")
rm -rf "$work"
mkdir -p "$work/SOURCES"
"$here/../release/recipes.sh" "$source" "$work/recipes"
cp "$source" "$work/SOURCES/"
# build dependencies have other names on Debian, and may have come from elsewhere than a package
rpmbuild -bb --nodeps --define "_topdir $work" --define "_buildhost reproducible" --define "clamp_mtime_to_source_date_epoch 1" \
  --define "use_source_date_epoch_as_buildtime 1" --define "_sbindir /usr/sbin" "$work/recipes/culvert.spec" >"$work/log" 2>&1 ||
  { cat "$work/log" >&2; exit 1; }
for part in daemon archive-keyring; do mv "$work"/RPMS/noarch/culvert-$part-*.noarch.rpm "${out%.rpm}-$part.rpm"; done
mv "$work"/RPMS/noarch/culvert-*.noarch.rpm "$out"
