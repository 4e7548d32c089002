#!/bin/sh
# Unpacks the Debian packages of packages.lock, without installing anything: sysroot.sh DIRECTORY
# Leaves in DIRECTORY: root/ (their files), packages (one a line: name, version, source, source's version),
# files (one a line: package, path), distribution. As any user; needs apt. Downloads stay in CULVERT_DOWNLOADS, or in
# DIRECTORY/cache. Exits with 69 (EX_UNAVAILABLE of sysexits.h) where one is needed and no server can be reached.
# A package that the mirror no longer has is taken from snapshot.debian.org, and its digest decides in either case.
set -eu
here=$(dirname "$(readlink -f "$0")")
directory=$(readlink -m "$1")
mirror=$("$here/../release/mirror.sh")
snapshot=${CULVERT_SNAPSHOT:-https://snapshot.debian.org/archive}
field() { sed -n "s/^$1 //p" "$here/packages.lock"; }
cache=${CULVERT_DOWNLOADS:-$directory/cache}
rm -rf "$directory/root"
mkdir -p "$directory/root" "$cache"

matches() { [ -f "$1" ] && [ "$(sha256sum <"$1")" = "$2  -" ]; }
fetch() {
  part=$2.part.$$ # another build may use the same cache
  # apt's own downloader, for the machine's proxies
  /usr/lib/apt/apt-helper -o APT::Sandbox::User= download-file "$1" "$part" "SHA256:$3" >"$directory/log" 2>&1 &&
    cp -L "$part" "$part.copy" && mv "$part.copy" "$2" && rm "$part" # a file:// mirror gives a link
}
refuse() {
  rm -f "$2.part.$$"
  cat "$directory/log" >&2
  if grep -Eq 'Could not (resolve|connect)|Unable to connect|Temporary failure|[Cc]onnection (timed out|refused)' "$directory/log"; then
    echo "sysroot.sh: ${1##*/} can't be fetched: no server can be reached." >&2
    exit 69
  fi
  echo "sysroot.sh: $1 can't be fetched. To take what the mirror has now: data/appimage/lock.sh" >&2
  exit 1
}
field suite >"$directory/distribution"
: >"$directory/packages"
: >"$directory/files"
grep ' pool/' "$here/packages.lock" | while read -r sha256 archive path; do
  file=$cache/${path##*/}
  matches "$file" "$sha256" || fetch "${mirror%/debian}/$archive/$path" "$file" "$sha256" ||
    fetch "$snapshot/$archive/$(field time)/$path" "$file" "$sha256" ||
    refuse "$path" "$file"
  # shellcheck disable=SC2016
  dpkg-deb -W --showformat '${Package} ${Version} ${source:Package} ${source:Version}\n' "$file" >>"$directory/packages"
  name=$(tail -n 1 "$directory/packages" | cut -d ' ' -f 1)
  dpkg-deb --fsys-tarfile "$file" >"$directory/archive.tar"
  tar -xpvf "$directory/archive.tar" --warning=no-timestamp -C "$directory/root" >"$directory/members"
  sed -n "s|^\./\(.*[^/]\)$|$name \1|p" "$directory/members" >>"$directory/files"
done
rm "$directory/archive.tar" "$directory/members"
