#!/bin/sh
# Builds the Debian package from the source of a release: data/deb/build.sh SOURCE.tar.gz OUT.deb WORK-DIRECTORY
# SOURCE_DATE_EPOCH gives its times.
set -eu
source=$(readlink -f "$1") out=$(readlink -m "$2") work=$(readlink -m "$3")
rm -rf "$work"
mkdir -p "$work"
tar -xzf "$source" -C "$work"
cd "$work"/culvert-*
version=$(node -p 'require("./package.json").version')
project() { node -p "require('./data/project.json').$1"; }
contact=$(project contact) homepage=$(project homepage)
mkdir debian
for file in control rules copyright prerm postinst postrm culvert.lintian-overrides; do
  sed "s|@CONTACT@|$contact|; s|@HOMEPAGE@|$homepage|" "data/deb/$file" >"debian/$file"
  chmod --reference="data/deb/$file" "debian/$file"
done
cat >debian/changelog <<EOF
culvert ($version) unstable; urgency=medium

  * Release $version. See /usr/share/doc/culvert/changelog.gz for the changes.

 -- The Culvert contributors <$contact>  $(date -u -R -d "@${SOURCE_DATE_EPOCH:?}")
EOF
cp CHANGELOG.md debian/NEWS.md
mkdir debian/source
echo '3.0 (native)' >debian/source/format
# not held to the build dependencies: Node may have come from elsewhere than a package
dpkg-buildpackage -b -us -uc -d >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
mv "$work/culvert_${version}_all.deb" "$out"
