#!/bin/sh
# Prints the Debian mirror to fetch from: CULVERT_MIRROR, or the one of this machine's own apt sources, or Debian's.
set -eu
mirror=${CULVERT_MIRROR-}
if [ -z "$mirror" ] && command -v apt-get >/dev/null; then
  # shellcheck disable=SC2016 # fields of apt, not of the shell
  mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' 2>/dev/null | head -n 1)
fi
mirror=${mirror:-http://deb.debian.org/debian}
echo "${mirror%/}"
