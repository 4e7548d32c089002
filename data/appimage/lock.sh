#!/bin/sh
# Renews packages.ARCHITECTURE.lock: the Debian packages that the AppImage takes, as the mirror has them now: data/appimage/lock.sh
# One a line: SHA-256, archive, path. The build takes exactly these, so that it gives the same bytes on any day.
set -eu
here=$(dirname "$(readlink -f "$0")")
suite=trixie
packages='gjs gir1.2-gtk-4.0 gir1.2-adw-1 librsvg2-common adwaita-icon-theme shared-mime-info fonts-dejavu-core'
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for architecture in amd64 arm64; do
  lock=$here/packages.$architecture.lock
  "$here/apt.sh" "$work" $suite $architecture
  {
    echo "# Written by lock.sh: what the AppImage takes from Debian."
    echo "suite $suite"
    echo "time $(date -u +%Y%m%dT%H%M%SZ)"
    # shellcheck disable=SC2086
    APT_CONFIG=$work/apt.conf apt-get -qy --print-uris -o Acquire::ForceHash=SHA256 install $packages |
      sed -n "s|^'[^']*/\(debian[a-z-]*\)/\(pool/[^']*\)' .* SHA256:\([0-9a-f]*\)$|\3 \1 \2|p" | LC_ALL=C sort -k 3
  } >"$work/new"
  [ "$(grep -c ' pool/' "$work/new")" -gt 50 ] || { cat "$work/new" >&2; echo 'lock.sh: apt did not name the packages with their digests' >&2; exit 1; }
  cp "$work/new" "$lock"
  echo "$lock: $(grep -c ' pool/' "$work/new") packages"
done
