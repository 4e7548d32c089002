#!/bin/sh
# Builds the Debian packages from the source of a release: data/deb/build.sh SOURCE.tar.gz OUT.deb WORK-DIRECTORY
# OUT.deb is the one with panel and tray; beside it, OUT-daemon.deb and OUT-archive-keyring.deb.
# SOURCE_DATE_EPOCH gives its times.
set -eu
source=$(readlink -f "$1") out=$(readlink -m "$2") work=$(readlink -m "$3")
rm -rf "$work"
mkdir -p "$work"
tar -xzf "$source" -C "$work"
cd "$work"/culvert-*
version=$(node -p 'require("./package.json").version')
# what comes before a release sorts before it
debian=$(printf %s "$version" | sed 's/-/~/g')
project() { node -p "require('./data/project.json').$1"; }
contact=$(project contact) homepage=$(project homepage)
mkdir debian
for file in control rules copyright culvert.install culvert.lintian-overrides culvert-daemon.install culvert-daemon.prerm \
  culvert-daemon.postinst culvert-daemon.postrm culvert-archive-keyring.postrm; do
  sed "s|@CONTACT@|$contact|; s|@HOMEPAGE@|$homepage|" "data/deb/$file" >"debian/$file"
  chmod --reference="data/deb/$file" "debian/$file"
done
cat >debian/changelog <<EOF
culvert ($debian) unstable; urgency=medium

  * Release $version. See /usr/share/doc/culvert/changelog.gz for the changes.

 -- The Culvert contributors <$contact>  $(date -u -R -d "@${SOURCE_DATE_EPOCH:?}")
EOF
cp CHANGELOG.md debian/NEWS.md
node data/repository/keyring.mjs debian/culvert-archive-keyring >/dev/null
# a build without keys has no repository, and its package of keys is empty
[ ! -s debian/culvert-archive-keyring.pgp ] ||
  echo debian/culvert-archive-keyring.pgp usr/share/keyrings >debian/culvert-archive-keyring.install
mkdir debian/source
echo '3.0 (native)' >debian/source/format
# not held to the build dependencies: Node may have come from elsewhere than a package
dpkg-buildpackage -b -us -uc -d >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
mv "$work/culvert_${debian}_all.deb" "$out"
for part in daemon archive-keyring; do mv "$work/culvert-${part}_${debian}_all.deb" "${out%.deb}-$part.deb"; done
