#!/bin/sh
# Prints what a release was built with, one "name version" a line: data/release/builder.sh DEB-WORK-DIRECTORY
# The same commit built with the same versions gives the same bytes; snapshot.debian.org has those of any day. Most of the
# list is what dpkg-buildpackage noted beside the Debian package (deb-buildinfo(5)): its tools, their libraries, the compiler.
set -eu
echo "# What this release was built with. The same versions give the same bytes."
sed -n 's/^PRETTY_NAME="\(.*\)"$/system \1/p' /etc/os-release
echo "architecture $(uname -m)"
echo "node.js $(node --version)"
{
  sed -n '/^Installed-Build-Depends:/,/^[^ ]/s/^ \([^ ]*\) (= \([^)]*\)),\{0,1\}$/\1 \2/p' "$1"/*.buildinfo
  # of the AppImage
  dpkg-query -W -f '${Package} ${Version}\n' squashfs-tools binutils libsquashfuse-dev libfuse3-dev libzstd-dev zlib1g-dev 2>/dev/null || true
} | LC_ALL=C sort -u
