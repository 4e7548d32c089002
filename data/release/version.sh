#!/bin/sh
# Sets the version of the next release, dates its changes, and commits that: data/release/version.sh VERSION
# The address and the keys go into the same commit, since a first release needs them.
set -eu
cd "$(dirname "$(readlink -f "$0")")/../.."
node data/release/version.mjs "$@"
set -- "$1" package.json CHANGELOG.md data/org.culvert.Culvert.metainfo.xml.in data/project.json CODEOWNERS
[ ! -f package-lock.json ] || set -- "$@" package-lock.json
version=$1
shift
if git diff --quiet HEAD -- "$@"; then
  echo "version: everything says $version already; there is nothing to commit." >&2
else
  git commit -qm "release: Prepare $version" -- "$@"
  git log -1 --stat --format='version: committed %h, %s' >&2
fi
