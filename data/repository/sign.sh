#!/bin/sh
# Signs a release: data/repository/sign.sh [--renew | --catalog] DIRECTORY PROGRAM --key FILE [--key FILE] [--passphrase-file FILE] [OPTION…]
# PROGRAM is the bundle of culvert-manifest, or its source, and the options are those of its "sign". The first key signs manifest and
# source, and each artifact and SHA256SUMS for minisign; all of them sign the package repositories. --renew keeps what the release was
# signed with, and dates it again. --catalog signs the manifest of a catalog alone (data/release/catalog.sh).
set -eu
top=$(readlink -f "$(dirname "$(readlink -f "$0")")/../..")
say() { printf '%s\n' "release: $*" >&2; }
die() { say "$@"; exit 1; }
renew='' catalog=no
case $1 in
  --renew) renew=--renew; shift ;;
  --catalog) catalog=yes; shift ;;
esac
release=$(readlink -f "$1") program=$(readlink -f "$2")
shift 2
manifest=$release/release-manifest.v1.json
keys='' signer='' passphrase='' count=$#
line='
'
while [ "$count" -gt 0 ]; do
  option=$1
  shift
  count=$((count - 1))
  case $option in
    --key=*) keys=$keys${keys:+$line}${option#*=} ;;
    --signer=*) signer=${option#*=} ;;
    --key | --passphrase-file | --signer)
      [ "$count" -gt 0 ] || die "$option needs a value."
      case $option in
        --key) keys=$keys${keys:+$line}$1 ;;
        --signer) signer=$1 ;;
        *) passphrase="-passin file:$1" ;;
      esac
      shift
      count=$((count - 1)) ;;
    --revoke | --revoke=*) die 'Revoke the key first: ./culvert-tool release-key --revoke NAME.' ;;
    *) set -- "$@" "$option" ;;
  esac
done
[ -n "$keys" ] || die 'Signing needs --key FILE.'
[ -z "$signer" ] || [ "$keys" = "${keys%%"$line"*}" ] || die '--signer signs with one key.'

# FILE: prints a key; a mistyped passphrase is not a reason to build everything again
open_key() {
  if [ -n "$signer" ] || ! grep -q ENCRYPTED "$1"; then
    cat "$1"
    return
  fi
  tries=1
  # shellcheck disable=SC2086
  until openssl pkey -in "$1" $passphrase; do
    { [ -z "$passphrase" ] && [ -t 2 ] && [ $tries -lt 3 ]; } || exit 1
    tries=$((tries + 1))
    say 'Once more:'
  done
}

# the keys are only in this shell and in pipes
first='' all=''
while IFS= read -r file <&4; do
  [ -r "$file" ] || die "The key $file can't be read."
  opened=$(open_key "$file") || exit 1
  all=$all$opened$line
  [ -n "$first" ] || first=$opened
done 4<<E
$keys
E

# each release repeats all earlier revocations, for installations that skipped releases;
# a renewed one keeps its channel, what it revokes, and from which version on it is installed
options=$(node -p '
  const [project, sidecar] = process.argv.slice(1);
  const text = file => require("fs").readFileSync(file, "utf8");
  const idOf = ({ key }) => require("crypto").createHash("sha256").update(Buffer.from(key, "base64")).digest("hex").slice(0, 16);
  const ids = JSON.parse(text(project)).releaseKeys.pinned.filter(pin => pin.revoked).map(idOf);
  const { channel, minimum_version, revoked = [] } = sidecar ? JSON.parse(/\{[^]*/.exec(text(sidecar))[0]) : {};
  if (sidecar && ids.some(id => !revoked.includes(id)))
    console.error("release: The packages of this release were built before a key was revoked, and bring that key. Make a new release.");
  [...(sidecar ? ["--channel", channel, "--minimum-version", minimum_version] : []),
    ...[...new Set([...ids, ...revoked])].flatMap(id => ["--force", "--revoke", id])].join(" ")' \
  "$top/data/project.json" ${renew:+"$manifest.sig"})
# shellcheck disable=SC2086 # words
set -- $options "$@"
case $program in
  *.ts) loading='--import tsx' ;;
  *) loading='' ;;
esac
key=${keys%%"$line"*}
# COMMAND FILE… : runs culvert-manifest with the first key; serial and expiry count from now, not from the commit
# shellcheck disable=SC2086 # words or none
with_key() {
  if [ -n "$signer" ]; then
    env -u SOURCE_DATE_EPOCH node $loading "$program" "$@" --key "$key" --signer "$signer"
  elif grep -q ENCRYPTED "$key"; then
    printf '%s\n' "$first" | env -u SOURCE_DATE_EPOCH node $loading "$program" "$@" --key -
  else
    env -u SOURCE_DATE_EPOCH node $loading "$program" "$@" --key "$key"
  fi
}
with_key sign "$manifest" "$@"
# older releases have no such list
if [ -e "$release/SHA256SUMS" ]; then
  set -- "$release/SHA256SUMS"
  for file in "$release"/culvert-*; do
    case $file in *.minisig | *.asc) ;; *) set -- "$@" "$file" ;; esac
  done
  with_key minisign "$@" >/dev/null
  say 'signatures for minisign'
fi

[ $catalog = no ] || exit 0
if ! node "$top/data/repository/keys.mjs"; then
  say 'There are no package repositories, since no key has a certificate: see data/doc/release-keys.md.'
  exit
fi
# which makepkg asks for
[ -n "$renew" ] || printf '%s\n' "$first" |
  node "$top/data/repository/sign.mjs" ${signer:+--signer "$signer"} "$release"/culvert-*-source.tar.gz
if [ -z "$(node -p 'require(process.argv[1]).packages' "$top/data/project.json")" ]; then
  say 'There are no package repositories, since data/project.json has no address of packages.'
  exit
fi
say 'package repositories'
threshold=$(node -p 'require(process.argv[1]).releaseKeys.threshold' "$top/data/project.json")
[ "$threshold" = 1 ] ||
  say "Installations ask for $threshold signatures, but apt, dnf and makepkg for one: a single stolen key is enough there. See data/doc/release-keys.md."
# shellcheck disable=SC2086 # a word or none
printf '%s\n' "$all" | "$top/data/repository/repository.sh" $renew "$release" ${signer:+--signer "$signer"}
