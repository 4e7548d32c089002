#!/bin/sh
# Makes the two release keys, encrypted, and pins them: data/release/key.sh DIRECTORY [NAME] [--passphrase-file FILE]
# "current" signs releases; "next" stays locked away, signs when "current" is lost, and can revoke it. NAME is one further key.
# A key on a token is pinned by its public part: data/release/key.sh --public NAME FILE.pub [--signer COMMAND]
# A stolen or lost key is revoked by its name or id: data/release/key.sh --revoke NAME
# The command signs the certificate by which apt, dnf and makepkg know the key; without one it signs no repository.
set -eu
top=$(readlink -f "$(dirname "$(readlink -f "$0")")/../..")
die() { printf '%s\n' "release-key: $*" >&2; exit 1; }
usage() { die 'usage: ./culvert-tool release-key DIRECTORY [NAME] [--passphrase-file FILE] | --public NAME FILE.pub [--signer COMMAND] | --revoke NAME'; }

if [ "${1-}" = --public ]; then
  case $#:${4-} in 3: | 5:--signer) ;; *) usage ;; esac
  shift
  exec node "$top/data/release/pin.mjs" "$@"
fi
if [ "${1-}" = --revoke ]; then
  [ $# -eq 2 ] || usage
  exec node "$top/data/release/pin.mjs" --revoke "$2"
fi
directory=${1-}
case $directory in '' | -*) usage ;; esac
shift
names='current next' passphrase=
case ${1-} in
  '' | -*) ;;
  *[!a-z0-9-]*) die "The name of a key has a-z, 0-9 and dashes: $1" ;;
  *) names=$1; shift ;;
esac
case $#:${1-} in
  0:) ;;
  2:--passphrase-file) passphrase="-passout file:$2" ;;
  *) usage ;;
esac
umask 077
mkdir -p "$directory"
directory=$(readlink -f "$directory")
! git -C "$directory" rev-parse --git-dir >/dev/null 2>&1 || die "$directory is in a repository, where a key could be committed. Choose another directory."
for name in $names; do
  [ ! -e "$directory/$name.key" ] || die "$directory/$name.key already exists; keys are never overwritten."
done
for name in $names; do
  # the key is only in this shell and in pipes until it is encrypted
  key=$(openssl genpkey -algorithm ED25519)
  [ -n "$passphrase" ] || printf '%s\n' "Choose a passphrase for the key \"$name\"."
  # shellcheck disable=SC2086
  printf '%s\n' "$key" | openssl pkcs8 -topk8 -scrypt $passphrase -out "$directory/$name.key.new" ||
    { rm -f "$directory/$name.key.new"; die "The key \"$name\" was not made."; }
  printf '%s\n' "$key" | openssl pkey -pubout -out "$directory/$name.pub"
  mv "$directory/$name.key.new" "$directory/$name.key"
  printf '%s\n' "$key" | node "$top/data/release/pin.mjs" "$name" "$directory/$name.pub" --private
  key=
done
printf '%s\n' "The keys are in $directory. Keep copies, and move the key that does not sign yet to a medium that you lock away." \
  'Commit data/project.json: installations trust the keys that are pinned in the version they run.'
