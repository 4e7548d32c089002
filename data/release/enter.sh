#!/bin/sh
# Runs one proof in a fresh root: data/release/enter.sh DEBOOTSTRAPPED.tar ROOT DIST WHAT VERSION [NEXT SOURCE]
# The arguments after DIST are those of inside.sh. DISPLAY is passed on. As root. PROOF_PAGES and PROOF_CERTIFICATE, if set,
# are the address and the certificate of serve.mjs, which is GitHub for the root.
set -eu
here=$(dirname "$(readlink -f "$0")")
tar=$1 root=$2 dist=$3
shift 3
rm -rf "$root"
mkdir "$root"
tar -C "$root" -xf "$tar"
# in its own mount namespace, so that nothing stays mounted, even after a failure
# shellcheck disable=SC2016 # for the inner shell
exec unshare --mount --pid --fork --kill-child sh -eu -c '
  root=$1
  mount --bind "$root" "$root" # a mount point, as programs expect of a root
  mount --rbind /dev "$root/dev"
  mount -t proc proc "$root/proc"
  mount -t tmpfs tmpfs "$root/run"
  mount -t tmpfs -o mode=1777,exec tmpfs "$root/tmp"
  mkdir "$root/run/dist" "$root/run/release" "$root/run/session"
  mount --bind "$2" "$root/run/dist"
  mount --bind "$3" "$root/run/release"
  cp /etc/resolv.conf "$root/etc/resolv.conf"
  cp -r /etc/apt/apt.conf.d/. "$root/etc/apt/apt.conf.d/"
  if [ -n "${PROOF_PAGES-}" ]; then
    echo "$PROOF_PAGES github.com release-assets.githubusercontent.com" >>"$root/etc/hosts"
    cat "$PROOF_CERTIFICATE" >>"$root/etc/ssl/certs/ca-certificates.crt"
  fi
  shift 3
  exec chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 DISPLAY="$DISPLAY" \
    XDG_RUNTIME_DIR=/run/session GTK_A11Y=none DEBIAN_FRONTEND=noninteractive sh -eu /run/release/inside.sh "$@"
' - "$root" "$dist" "$here" "$@"
