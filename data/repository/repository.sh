#!/bin/sh
# Writes the package repositories of a signed release: data/repository/repository.sh [--renew] RELEASE-DIRECTORY [--signer COMMAND]
# They are in RELEASE-DIRECTORY/repository, and static: any web server serves them. The keys come on stdin (see sign.mjs).
# The release before is taken from the newest repository in dist/. --renew only dates and signs the indexes again.
# A release of "stable" is in the suite "beta" as well. dpkg-scanpackages, apt-ftparchive and createrepo_c write the indexes.
set -eu
top=$(readlink -f "$(dirname "$(readlink -f "$0")")/../..")
umask 022
export LC_ALL=C.UTF-8
renew=no
[ "$1" != --renew ] || { renew=yes; shift; }
release=$(readlink -f "$1")
shift
out=$release/repository
facts=$(node -p '
  const [file, project] = process.argv.slice(1);
  const statement = JSON.parse(/\{[^]*/.exec(require("fs").readFileSync(file, "utf8"))[0]);
  const { packages, homepage } = JSON.parse(require("fs").readFileSync(project, "utf8"));
  [statement.channel, Math.floor(Date.parse(statement.expires_at) / 1000), packages, homepage].join("\n")' \
  "$release/release-manifest.v1.json.sig" "$top/data/project.json")
{ read -r channel && read -r expires && read -r address && read -r homepage; } <<F
$facts
F

# SUITE: the index of an index, which says until when it holds
date_suite() {
  (
    cd "$out/dists/$1"
    rm -f Release
    apt-ftparchive -qq -o APT::FTPArchive::Release::Origin=Culvert -o APT::FTPArchive::Release::Label=Culvert \
      -o APT::FTPArchive::Release::Suite="$1" -o APT::FTPArchive::Release::Codename="$1" \
      -o APT::FTPArchive::Release::Architectures=all -o APT::FTPArchive::Release::Components=main \
      -o APT::FTPArchive::Release::Acquire-By-Hash=yes \
      -o APT::FTPArchive::Release::ValidTime=$((expires - $(date +%s))) \
      -o APT::FTPArchive::Release::Description="Packages of Culvert, $homepage" \
      -o APT::FTPArchive::MD5=false -o APT::FTPArchive::SHA1=false -o APT::FTPArchive::SHA512=false release . >"$out/../Release.new"
    mv "$out/../Release.new" Release
  )
}

# BEFORE SUITE: the versions in a suite of an earlier repository, the newest first
versions_of() {
  sed -n 's|^Filename: pool/\([^/]*\)/.*|\1|p' "$1/dists/$2/main/binary-all/Packages" 2>/dev/null | sort -u |
    sed 's/-/~/g' | sort -rV | sed 's/~/-/g'
}

# What a reader of the index before still asks for: files that are named by their digest.
keep_indexes() {
  mkdir -p "$out/dists/$1/main/binary-all/by-hash/SHA256" "$out/rpm/$1/repodata"
  [ -n "$before" ] || return 0
  for digest in $(sed -n '/^SHA256:/,/^[^ ]/s|^ \([0-9a-f]\{64\}\) .* main/.*|\1|p' "$before/dists/$1/InRelease"); do
    cp "$before/dists/$1/main/binary-all/by-hash/SHA256/$digest" "$out/dists/$1/main/binary-all/by-hash/SHA256/"
  done
  for file in $(sed -n 's|.*<location href="repodata/\([^"/]*\)".*|\1|p' "$before/rpm/$1/repodata/repomd.xml"); do
    cp "$before/rpm/$1/repodata/$file" "$out/rpm/$1/repodata/"
  done
}

# SUITE VERSION…: both repositories of a suite, with these versions
write_suite() {
  suite=$1
  shift
  directory=$out/dists/$suite/main/binary-all
  keep_indexes "$suite"
  : >"$directory/Packages"
  for each; do
    (cd "$out" && dpkg-scanpackages -m "pool/$each" 2>/dev/null) >>"$directory/Packages"
    ln "$out/pool/$each"/*.rpm "$out/rpm/$suite/"
  done
  gzip -9nk "$directory/Packages"
  for file in Packages Packages.gz; do
    digest=$(sha256sum "$directory/$file")
    cp "$directory/$file" "$directory/by-hash/SHA256/${digest%% *}"
  done
  date_suite "$suite"
  kept=$(mktemp -d)
  mv "$out/rpm/$suite/repodata" "$kept/"
  createrepo_c -q --no-database --revision "$newest" --set-timestamp-to-revision "$out/rpm/$suite"
  cp -n "$kept/repodata"/* "$out/rpm/$suite/repodata/" 2>/dev/null || true
  rm -rf "$kept"
}

write() {
  version=$(node -p 'JSON.parse(require("fs").readFileSync(process.argv[1], "utf8")).tag.slice(1)' "$release/release-manifest.v1.json")
  before=
  for candidate in $(cd "$top" && ls -td dist/*/repository 2>/dev/null); do
    [ "$top/$candidate" = "$out" ] || { before=$top/$candidate; break; }
  done
  rm -rf "$out"
  mkdir -p "$out/pool/$version"
  debian=$(printf %s "$version" | sed 's/-/~/g')
  for part in '' -daemon -archive-keyring; do
    cp "$release/culvert-$version$part.deb" "$out/pool/$version/culvert${part}_${debian}_all.deb"
    cp "$release/culvert-$version$part.rpm" "$out/pool/$version/culvert$part-$version-1.noarch.rpm"
  done
  for suite in stable beta; do
    present=
    if [ "$suite" = "$channel" ] || [ "$channel" = stable ]; then present=$version; fi
    earlier=$([ -z "$before" ] || versions_of "$before" "$suite" | grep -vxF "$version" | head -n "$([ -n "$present" ] && echo 1 || echo 2)")
    for each in $earlier; do
      [ ! -d "$out/pool/$each" ] || continue
      cp -r "$before/pool/$each" "$out/pool/"
      for part in '' -daemon -archive-keyring; do cp "$before/rpm/$suite/culvert$part-$each-1.noarch.rpm" "$out/pool/$each/"; done
    done
    eval "$suite='$present $earlier'"
  done
  # times of files are in the indexes of dnf
  newest=0
  for file in "$out"/pool/*/*.rpm; do
    built=$(rpm -qp --nosignature --qf '%{BUILDTIME}' "$file")
    touch -d "@$built" "$file"
    [ "$newest" -gt "$built" ] || newest=$built
  done
  # shellcheck disable=SC2086,SC2154 # words, set by eval
  { write_suite stable $stable && write_suite beta $beta; }
  rm "$out"/pool/*/*.rpm
  cat >"$out/culvert.sources" <<F
# Packages of Culvert: $homepage
Types: deb
URIs: $address
Suites: $channel
Components: main
Architectures: all
Signed-By: /usr/share/keyrings/culvert-archive-keyring.pgp
F
  cat >"$out/culvert.repo" <<F
[culvert]
name=Packages of Culvert
baseurl=$address/rpm/$channel
# the signed index has the digests of the packages
repo_gpgcheck=1
gpgcheck=0
gpgkey=file:///etc/pki/rpm-gpg/RPM-GPG-KEY-culvert
F
  # the pages of GitHub leave the files as they are
  : >"$out/.nojekyll"
}

if [ $renew = yes ] && [ -d "$out" ]; then
  for suite in stable beta; do date_suite "$suite"; done
else
  write
fi
node "$top/data/repository/keyring.mjs" "$out/culvert-archive-keyring" >/dev/null
node "$top/data/repository/sign.mjs" "$@" "$out/dists/stable/Release" "$out/dists/beta/Release" \
  "$out/rpm/stable/repodata/repomd.xml" "$out/rpm/beta/repodata/repomd.xml"
