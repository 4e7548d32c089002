#!/bin/sh
# Proves a release of this commit: built twice with the same bytes, the second time by another user and a day later; then in
# fresh roots installed, run, updated to a next version and back where an installation does that itself, and removed.
# test/packages/proof/prove.sh [recipes | repositories]: "recipes" proves only the packages of other distributions, without
# updates, and "repositories" only those of apt and dnf, from releases without an AppImage.
# As root; needs 5 GB in build/prove, where everything stays for inspection.
set -eu
here=$(dirname "$(readlink -f "$0")")
top=$(readlink -f "$here/../../..")
cd "$top"
work=$top/build/prove
say() { printf '%s\n' "prove: $*"; }
die() { say "$@" >&2; exit 1; }
[ "$(id -u)" -eq 0 ] || die 'Roots are made and entered as root.'
version=$(node -p 'require("./package.json").version')
next=$(node -p 'require("semver").inc(require("./package.json").version, "patch")')
PROOF_PAGES='' PROOF_CERTIFICATE=''
mode=${1-}
port=$(node -e 'const server = require("net").createServer().listen(0, () => { console.log(server.address().port); server.close() })')
repositories=http://127.0.0.1:$port
mkdir -p "$work"

# A commit on top, the same in each clone of the same commit: commit DIRECTORY MESSAGE
commit() {
  time="@$(git -C "$1" log -1 --format=%ct) +0000"
  env GIT_AUTHOR_DATE="$time" GIT_COMMITTER_DATE="$time" \
    git -C "$1" -c user.name=proof -c user.email=proof@culvert.example -c commit.gpgsign=false commit -qam "$2"
}

# What a maintainer does before a release: prepare DIRECTORY. The builds of a proof trust these keys, and no other build ever does.
prepare() {
  (
    cd "$1"
    node data/release/project.mjs https://github.com/culvert-proof/culvert >/dev/null
    sed -i "s|^  \"packages\": .*|  \"packages\": \"$repositories\",|" data/project.json
    data/release/key.sh "$keys" --passphrase-file "$keys/passphrase" >/dev/null 2>&1
    [ "$mode" != repositories ] || without_image
    SOURCE_DATE_EPOCH=$(git log -1 --format=%ct) node data/release/version.mjs "$version"
  )
  commit "$1" 'Set the address, pin the keys of a proof, and date the version'
}

# A file in the place of the AppImage, which takes longer than all the rest.
without_image() {
  cat >data/appimage/build.sh <<'F'
#!/bin/sh
set -eu
mkdir -p "$2/meson"
echo 'no image' >"$1"
cp "$2/../user/meson/licenses.txt" "$2/meson/"
echo '{"node":{"package":"node","version":"1","integrity":"sha512-AA=="},"debian":[]}' >"$2/tree.components.json"
F
}

# The files of a directory, each with the digest of what is in it but dates and signatures.
undated() {
  (
    cd "$1"
    find . -type f | LC_ALL=C sort | while read -r file; do
      case $file in
        */InRelease) sed '/^Date: /d; /^Valid-Until: /d; /^-----BEGIN PGP SIGNATURE/,$d' "$file" ;;
        *.tar.gz.asc | */repomd.xml.asc) ;;
        *) cat "$file" ;;
      esac | sha256sum | sed "s|-\$|$file|"
    done
  )
}

# Two releases with the same bytes, in build/prove/one and by another user; then the next version.
releases() {
  # outside of any repository
  keys=$(mktemp -d)
  echo 'a passphrase' >"$keys/passphrase"
  # the same in both releases, so that the sidecars can be compared as well
  expires=$(date -u -d '90 days' +%FT%TZ)
  # A clean clone each time, in directories of different length. The second one belongs to another user, whose clock is a day
  # ahead, and its files are closed to others. Downloads are kept.
  another=$(mktemp -d /var/tmp/culvert-prove.XXXXXX)
  chmod 755 "$another"
  rm -rf "$work/one/culvert"
  mkdir -p "$work/one"
  (umask 022 && git clone -q . "$work/one/culvert")
  prepare "$work/one/culvert"
  (umask 077 && git clone -q "$work/one/culvert" "$another/culvert")
  for clone in "$work/one/culvert" "$another/culvert"; do
    cp -a node_modules "$clone/"
    mkdir -p "$clone/build/release"
  done
  if [ "$mode" != repositories ]; then
    say 'tests with an address and a key'
    (cd "$work/one/culvert" && node --import tsx --test test/manifest/cli.test.ts test/daemon/config/layers.test.ts \
      test/packages/release.test.ts test/packages/publishing.test.ts) >"$work/tests.log" 2>&1 || { cat "$work/tests.log" >&2; die 'Tests failed.'; }
  fi
  [ ! -d "$work/kept" ] || cp -a "$work/kept" "$work/one/culvert/build/release/appimage-$(uname -m)"
  signing="--key $keys/current.key --key $keys/next.key --passphrase-file $keys/passphrase"
  once="--serial 1 --expires $expires"
  say 'release'
  # shellcheck disable=SC2086
  (cd "$work/one/culvert" && data/release/release.sh "$version" $signing $once) 2>"$work/log" ||
    { cat "$work/log" >&2; die 'The release failed.'; }
  if [ "$mode" != repositories ]; then
    rm -rf "$work/kept"
    mkdir -p "$work/kept/sysroot"
    cp -a "$work/one/culvert/build/release/appimage-$(uname -m)/node" "$work/kept/"
    cp -a "$work/one/culvert/build/release/appimage-$(uname -m)/sysroot/cache" "$work/kept/sysroot/"
    cp -a "$work/kept" "$another/culvert/build/release/appimage-$(uname -m)"
  fi
  say 'release, by another user, a day later'
  mkdir "$another/home"
  cp -r "$keys" "$another/keys"
  chown -R nobody:nogroup "$another"
  # files that get a certain time keep it, which faketime would move as well
  # shellcheck disable=SC2046,SC2086 # words
  (cd "$another/culvert" && setpriv --reuid nobody --regid nogroup --clear-groups env HOME="$another/home" NO_FAKE_STAT=1 \
    faketime --exclude-monotonic -f +1d data/release/release.sh "$version" \
    $(printf %s "$signing" | sed "s|$keys/|$another/keys/|g") $once) 2>"$work/another.log" ||
    { cat "$work/another.log" >&2; die "The release failed in $another."; }
  dist=$work/one/culvert/dist/$version
  undated "$dist" >"$work/one.sums"
  undated "$another/culvert/dist/$version" >"$work/another.sums"
  diff "$work/one.sums" "$work/another.sums" >&2 || die "The two releases differ; see $another."
  rm -rf "$another"
  say "$(wc -l <"$work/one.sums") files, the same bytes both times, in the repositories but for dates and signatures:"
  (cd "$dist" && stat -c '%10s %n' -- *)
  node "$work/one/culvert/build/release/user/meson/manifest/main.cjs" verify "$dist/release-manifest.v1.json" --key "$keys/current.pub"
  say 'the lines of the release text that verify it'
  lines=$(cd "$work/one/culvert" && node data/release/notes.mjs "$version" | sed -n '/^```sh$/,/^```$/p' | grep -v '^```\|^culvert-manifest')
  (cd "$dist" && sh -euxc "$lines")
  lintian --fail-on error "$dist"/culvert-*.deb || die 'lintian found errors.'

  say "next version, $next"
  (
    cd "$work/one/culvert"
    sed -i '0,/^## /s//## Unreleased\n\n- The version of a proof\n\n&/' CHANGELOG.md
    SOURCE_DATE_EPOCH=$(git log -1 --format=%ct) node data/release/version.mjs "$next"
    commit . "Raise the version to $next"
    # shellcheck disable=SC2086
    data/release/release.sh "$next" $signing --serial 2 --expires 90d
  ) >"$work/next.log" 2>&1 || { cat "$work/next.log" >&2; die "The next version could not be made."; }
}

# Serves the next version where an installation looks for it: release pages at an address that nobody else takes, and a plain
# web server. Roots have the network of this machine, so its loopback is theirs.
offer_next() {
  rm -f "$work/requests"
  PROOF_PAGES=127.43.18.1 PROOF_CERTIFICATE=$work/server.pem
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj '/CN=Culvert proof' -keyout "$work/server.key" \
    -addext 'subjectAltName=DNS:github.com,DNS:release-assets.githubusercontent.com' -out "$PROOF_CERTIFICATE" 2>"$work/openssl.log"
  node "$here/serve.mjs" "$work/one/culvert/dist/$next" "$PROOF_CERTIFICATE" "$work/server.key" $PROOF_PAGES >"$work/requests" &
  server=$!
  ends="$ends $server"
  while [ ! -s "$work/requests" ]; do
    kill -0 $server 2>/dev/null || die "No release pages on $PROOF_PAGES, port 443."
    sleep 0.1
  done
  address=http://127.0.0.1:$(head -n 1 "$work/requests")
}

# What the roots need of the repositories: both, a place that is served, a Node for Debian 12 as NodeSource packages it, the
# package of before, which had the files of two, and an rpm with the names of what the rpms need.
offer_repositories() {
  offer=$work/offer
  rm -rf "$offer"
  mkdir -p "$offer/published" "$offer/node/DEBIAN" "$offer/node/usr/bin" "$offer/single"
  cp -r "$dist/repository" "$offer/one"
  cp -r "$work/one/culvert/dist/$next/repository" "$offer/next"
  cp RELEASING.md "$offer/"
  cp "$(command -v node)" "$offer/node/usr/bin/"
  printf 'Package: nodejs\nVersion: %s\nArchitecture: %s\nMaintainer: proof <proof@culvert.example>\nDescription: x\n' \
    "$(node -p process.versions.node)" "$(dpkg --print-architecture)" >"$offer/node/DEBIAN/control"
  dpkg-deb -Z none --root-owner-group -b "$offer/node" "$offer/nodejs.deb" >/dev/null
  for part in '' -daemon; do dpkg-deb -x "$dist/culvert-$version$part.deb" "$offer/single"; done
  dpkg-deb -e "$dist/culvert-$version-daemon.deb" "$offer/single/DEBIAN"
  printf 'Package: culvert\nVersion: %s~\nArchitecture: all\nMaintainer: proof <proof@culvert.example>\nDescription: x\n%s\n' \
    "$version" 'Recommends: cloudflare-warp, dbus-user-session | dbus-x11, polkitd | policykit-1, systemd' >"$offer/single/DEBIAN/control"
  dpkg-deb -Z none --root-owner-group -b "$offer/single" "$offer/single.deb" >/dev/null
  {
    printf 'Name: names\nVersion: 1\nRelease: 1\nSummary: x\nLicense: x\nBuildArch: noarch\nProvides: system-release(releasever) = 1\n'
    rpm -qp --qf '[%{REQUIRENAME}\n]' "$dist"/culvert-*.rpm | sort -u | sed '/^rpmlib(\|^culvert/d; s/^/Provides: /; /nodejs/s/$/ = 20/'
    printf '%%description\nx\n%%files\n'
  } >"$offer/names.spec"
  rpmbuild -bb --nodeps --define "_topdir $offer/names" "$offer/names.spec" >"$work/names.log" 2>&1 || { cat "$work/names.log" >&2; exit 1; }
  mv "$offer/names/RPMS/noarch"/*.rpm "$offer/names.rpm"
  rm -rf "$offer/node" "$offer/single" "$offer/names"
}

# Subscribes, upgrades and removes in fresh roots; nothing of the daemon needs what Debian 12 lacks but Node.
prove_repositories() {
  offer_repositories
  node "$top/test/fixtures/serve-directory.mjs" "$offer/published" "$port" &
  ends="$ends $!"
  in_root bookworm "$offer" apt "$next" "$repositories" culvert-daemon
  for suite in trixie sid; do in_root "$suite" "$offer" apt "$next" "$repositories" culvert; done
  in_root trixie "$offer" dnf "$next" "$repositories" culvert
  # as Fedora has
  in_root sid "$offer" dnf5 "$next" "$repositories" culvert
}

# Builds rpm and Arch package twice, into build/prove/recipes/dist: build_recipes [SOURCE.tar.gz]
build_recipes() {
  SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
  export SOURCE_DATE_EPOCH
  rm -rf "$work/recipes"
  mkdir -p "$work/recipes/dist"
  source=$work/recipes/culvert-$version-source.tar.gz
  if [ $# -gt 0 ]; then cp "$1" "$source"; else data/release/source.sh "$source" "$work/recipes/source"; fi
  for once in one another; do
    data/rpm/build.sh "$source" "$work/recipes/$once.rpm" "$work/recipes/rpm-$once"
    data/arch/build.sh "$source" "$work/recipes/$once.pkg.tar.zst" "$work/recipes/arch-$once"
  done
  cmp "$work/recipes/one.pkg.tar.zst" "$work/recipes/another.pkg.tar.zst" || die 'The Arch package differs from one build to the next.'
  for part in '' -daemon -archive-keyring; do
    cmp "$work/recipes/one$part.rpm" "$work/recipes/another$part.rpm" || die 'An rpm differs from one build to the next.'
    mv "$work/recipes/one$part.rpm" "$work/recipes/dist/culvert-$version$part.rpm"
  done
  mv "$work/recipes/one.pkg.tar.zst" "$work/recipes/dist/culvert-$version-1-any.pkg.tar.zst"
  say "rpm and Arch package, the same bytes both times:"
  (cd "$work/recipes/dist" && stat -c '%10s %n' -- *)
  data/release/recipes.sh "$source" "$work/recipes/filled"
  ! grep -r '@[A-Z_0-9]*@' "$work/recipes/filled" || die 'A recipe was not filled in.'
}

# Runs one proof in a fresh root: in_root SUITE DIST WHAT [NEXT [SOURCE]]; WHAT, NEXT and SOURCE are those of inside.sh
in_root() {
  suite=$1 files=$2 what=$3
  shift 3
  root=$work/$suite
  if [ ! -f "$root.tar" ]; then
    say "debootstrap $suite"
    rm -rf "$root"
    debootstrap --variant=minbase --include=ca-certificates "$suite" "$root" "$(data/release/mirror.sh)" >"$root.log" 2>&1 ||
      { tail "$root.log" >&2; die "debootstrap $suite failed."; }
    tar -C "$root" -cf "$root.tar" .
  fi
  say "$suite: $what"
  rm -rf "$root"
  mkdir "$root"
  tar -C "$root" -xf "$root.tar"
  # in its own mount namespace, so that nothing stays mounted, even after a failure
  # shellcheck disable=SC2016 # for the inner shell
  PROOF_PAGES=$PROOF_PAGES PROOF_CERTIFICATE=$PROOF_CERTIFICATE unshare --mount --pid --fork --kill-child sh -eu -c '
    root=$1
    mount --bind "$root" "$root" # a mount point, as programs expect of a root
    mount --rbind /dev "$root/dev"
    mount -t proc proc "$root/proc"
    mount -t tmpfs tmpfs "$root/run"
    mount -t tmpfs -o mode=1777,exec tmpfs "$root/tmp"
    mkdir "$root/run/dist" "$root/run/proof" "$root/run/session"
    mount --bind "$2" "$root/run/dist"
    mount --bind "$3" "$root/run/proof"
    cp /etc/resolv.conf "$root/etc/resolv.conf"
    cp -r /etc/apt/apt.conf.d/. "$root/etc/apt/apt.conf.d/"
    if [ -n "$PROOF_PAGES" ]; then
      echo "$PROOF_PAGES github.com release-assets.githubusercontent.com" >>"$root/etc/hosts"
      cat "$PROOF_CERTIFICATE" >>"$root/etc/ssl/certs/ca-certificates.crt"
    fi
    shift 3
    exec chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 DISPLAY="$DISPLAY" \
      XDG_RUNTIME_DIR=/run/session GTK_A11Y=none DEBIAN_FRONTEND=noninteractive sh -eu /run/proof/inside.sh "$@"
  ' - "$root" "$files" "$here" "$what" "$version" "$@" || die "$what failed in $suite; the root is $root."
}

rm -f "$work/display"
# a display that programs in the roots reach through the abstract socket
Xvfb -noreset -displayfd 3 -screen 0 1000x800x24 3>"$work/display" >/dev/null 2>&1 &
display=$!
ends=$display keys=
trap 'kill $ends || :; rm -rf "$keys"' EXIT
while [ ! -s "$work/display" ]; do
  kill -0 $display 2>/dev/null || die 'Xvfb has ended.'
  sleep 0.1
done
DISPLAY=:$(cat "$work/display")
export DISPLAY

case $* in
  '')
    releases
    offer_next
    for suite in bookworm trixie; do
      for what in appimage user deb; do in_root "$suite" "$dist" "$what" "$next" "$address"; done
    done
    prove_repositories
    build_recipes "$dist/culvert-$version-source.tar.gz"
    say 'Left out of rpm and Arch package: their dependencies, which have other names in Debian'
    for what in rpm arch; do in_root trixie "$work/recipes/dist" "$what" "$next"; done
    say 'requests for the next version, by host:'
    sed -n '/ culvert-/p' "$work/requests" | sort | uniq -c
    say 'all proven' ;;
  repositories)
    releases
    prove_repositories
    say 'repositories proven' ;;
  recipes)
    build_recipes
    say 'Left out of rpm and Arch package: their dependencies, which have other names in Debian'
    for what in rpm arch; do in_root trixie "$work/recipes/dist" "$what"; done
    say 'recipes proven' ;;
  *) die "usage: $0 [recipes | repositories]" ;;
esac
