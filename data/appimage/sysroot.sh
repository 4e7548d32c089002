#!/bin/sh
# Unpacks the Debian packages of packages.ARCHITECTURE.lock, without installing anything: sysroot.sh DIRECTORY
# Leaves in DIRECTORY: root/ (their files), packages (one a line: name, version, source, source's version),
# files (one a line: package, path), distribution. As any user; needs apt. Downloads stay in CULVERT_DOWNLOADS, or in
# DIRECTORY/cache. Exits with 69 (EX_UNAVAILABLE of sysexits.h) where one is needed and no server can be reached.
# A package that the mirror no longer has is taken from snapshot.debian.org, and its digest decides in either case.
# With CULVERT_SYSROOTS the result stays in that directory, and the next build with the same packages takes it from there. That is
# for tests: nothing is verified again.
set -eu
here=$(dirname "$(readlink -f "$0")")
directory=$(readlink -m "$1")
architecture='' # set by machine.sh
. "$here/machine.sh"
lock=$here/packages.$architecture.lock
mirror=$("$here/../release/mirror.sh")
snapshot=${CULVERT_SNAPSHOT:-https://snapshot.debian.org/archive}
field() { sed -n "s/^$1 //p" "$lock"; }
cache=${CULVERT_DOWNLOADS:-$directory/cache}
kept=${CULVERT_SYSROOTS:+$(readlink -m "$CULVERT_SYSROOTS")/$(cat "$lock" "$0" | sha256sum | cut -c 1-16)}
rm -rf "$directory/root"
if [ -n "$kept" ] && [ -d "$kept" ]; then
  touch "$kept"
  mkdir -p "$directory"
  cp "$kept/packages" "$kept/files" "$kept/distribution" "$directory"
  ln -s "$kept/root" "$directory/root"
  exit
fi
mkdir -p "$directory/root" "$cache"

matches() { [ -f "$1" ] && [ "$(sha256sum <"$1")" = "$2  -" ]; }
fetch() {
  part=$2.part.$$ # another build may use the same cache
  echo "Fetching ${1##*/}"
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
grep ' pool/' "$lock" | while read -r sha256 archive path; do
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
[ -n "$kept" ] || exit 0
mkdir -p "${kept%/*}"
part=$(mktemp -d "$kept.XXXXXX")
mv "$directory/root" "$part"
cp "$directory/packages" "$directory/files" "$directory/distribution" "$part"
mv -T "$part" "$kept" 2>/dev/null || rm -rf "$part" # another build has kept the same
ln -s "$kept/root" "$directory/root"
find "${kept%/*}" -mindepth 1 -maxdepth 1 ! -path "$kept" -mtime +7 -exec rm -rf {} + # those of older lists
