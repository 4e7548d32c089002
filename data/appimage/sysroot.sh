#!/bin/sh
# Fetches Debian packages and all they depend on, without installing anything: sysroot.sh DIRECTORY PACKAGE…
# Leaves in DIRECTORY: root/ (their files), packages (one a line: name, version, source, source's version),
# files (one a line: package, path), distribution. As any user; needs apt and the archive's keys.
# The archive is CULVERT_MIRROR's CULVERT_SUITE; with https://snapshot.debian.org/archive/debian/TIME a build can be repeated.
set -eu
directory=$(readlink -m "$1")
shift
suite=${CULVERT_SUITE:-trixie}
mirror=${CULVERT_MIRROR:-http://deb.debian.org/debian}
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
apt=$directory/apt

[ -r $keyring ] || { echo "sysroot.sh: $keyring is missing; install debian-archive-keyring" >&2; exit 1; }
rm -rf "$directory/root" "$apt/etc" "$apt/state"
mkdir -p "$directory/root" "$apt/etc" "$apt/state/lists/partial" "$apt/cache/archives/partial"
{
  echo "deb [signed-by=$keyring] $mirror $suite main"
  echo "deb-src [signed-by=$keyring] $mirror $suite main"
  case $mirror in
    */debian)
      echo "deb [signed-by=$keyring] $mirror-security $suite-security main"
      echo "deb-src [signed-by=$keyring] $mirror-security $suite-security main" ;;
  esac
} >"$apt/etc/sources.list"

# an apt of its own: the machine's settings hold (proxies), but none of its packages, lists and locks
: >"$apt/status"
cat >"$apt/apt.conf" <<EOF
APT::Architecture "amd64";
APT::Architectures { "amd64"; };
APT::Sandbox::User "";
APT::Install-Recommends "false";
Acquire::Languages "none";
Dir::State "$apt/state";
Dir::State::status "$apt/status";
Dir::Cache "$apt/cache";
Dir::Etc::sourcelist "$apt/etc/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Debug::NoLocking "true";
EOF
export APT_CONFIG="$apt/apt.conf"
run() { "$@" >"$apt/log" 2>&1 || { cat "$apt/log" >&2; exit 1; }; }
run apt-get -q update
run apt-get -qy --download-only install "$@"

# what an earlier run left in the cache is not part of this one: asked with another cache, apt names them all
mkdir -p "$apt/none/partial"
apt-get -qy -o Dir::Cache::archives="$apt/none" --print-uris install "$@" |
  sed -n "s/^'[^']*' \([^ ]*\.deb\) .*/\1/p" | LC_ALL=C sort >"$directory/archives"
echo "$suite" >"$directory/distribution"
: >"$directory/packages"
: >"$directory/files"
while read -r archive; do
  file=$apt/cache/archives/$archive
  dpkg-deb -x "$file" "$directory/root"
  # shellcheck disable=SC2016
  dpkg-deb -W --showformat '${Package} ${Version} ${source:Package} ${source:Version}\n' "$file" >>"$directory/packages"
  name=$(dpkg-deb -f "$file" Package)
  dpkg-deb --fsys-tarfile "$file" | tar -t | sed -n "s|^\./\(.*[^/]\)$|$name \1|p" >>"$directory/files"
done <"$directory/archives"
