#!/bin/sh
# Prepares a private apt, which knows one Debian suite and nothing of this machine's packages: apt.sh DIRECTORY SUITE [ARCHITECTURE]
# Use it with APT_CONFIG=DIRECTORY/apt.conf. The machine's settings hold (proxies). As any user.
set -eu
apt=$(readlink -m "$1") suite=$2 architecture=${3:-$(dpkg --print-architecture)}
mirror=$("$(dirname "$(readlink -f "$0")")/../release/mirror.sh")
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

[ -r $keyring ] || { echo "apt.sh: $keyring is missing; install debian-archive-keyring" >&2; exit 1; }
rm -rf "${apt:?}/etc" "$apt/state"
mkdir -p "$apt/etc" "$apt/state/lists/partial" "$apt/cache/archives/partial"
{
  echo "deb [signed-by=$keyring] $mirror $suite main"
  echo "deb-src [signed-by=$keyring] $mirror $suite main"
  case $mirror in
    */debian)
      echo "deb [signed-by=$keyring] $mirror-security $suite-security main"
      echo "deb-src [signed-by=$keyring] $mirror-security $suite-security main" ;;
  esac
} >"$apt/etc/sources.list"
: >"$apt/status"
cat >"$apt/apt.conf" <<EOF
APT::Architecture "$architecture";
APT::Architectures { "$architecture"; };
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
APT_CONFIG=$apt/apt.conf apt-get -q update >"$apt/log" 2>&1 || { cat "$apt/log" >&2; exit 1; }
