#!/bin/sh
# Builds the AppImage for this machine, or for CULVERT_IMAGE_MACHINE: data/appimage/build.sh OUT.AppImage WORK-DIRECTORY
# SOURCE_DATE_EPOCH gives all its times; CULVERT_IMAGE_LEVEL, from 1 to 22, its compression: 19 takes a minute. Debian's packages
# are those of packages.ARCHITECTURE.lock, Node comes from npm; nothing is installed. Downloads stay in WORK-DIRECTORY, or in CULVERT_DOWNLOADS,
# which several builds may share. Exits with 69 where one is needed and no server can be reached and trusted.
set -eu
here=$(dirname "$(readlink -f "$0")")
top=$(readlink -f "$here/../..")
machine='' architecture='' loader='' node='' node_integrity='' # set by machine.sh
. "$here/machine.sh"
out=$(readlink -m "$1") work=$(readlink -m "$2")
epoch=${SOURCE_DATE_EPOCH:?}
version=$(node -p "require('$top/package.json').version")
# shown by tools that read the update information; the image updates itself, by its signed manifest
information="culvert-manifest|$(node -p "require('$top/data/project.json').releases.source")"

umask 022
mkdir -p "$work"
run() { echo "$1 ${2-}"; "$@" >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }; }
integrity() { [ ! -f "$1" ] || echo "sha512-$(openssl dgst -sha512 -binary "$1" | base64 -w0)"; }

"$here/sysroot.sh" "$work/sysroot"

if [ "$(cat "$work/node/integrity" 2>/dev/null)" != "$node_integrity" ]; then
  rm -rf "$work/node"
  mkdir -p "$work/node"
  archive=${CULVERT_DOWNLOADS:-$work}/$node.tgz
  if [ "$(integrity "$archive")" != "$node_integrity" ]; then
    rm -rf "$work/fetched"
    mkdir "$work/fetched"
    (cd "$work/fetched" && npm pack --loglevel=error "$node") >"$work/log" 2>&1 || {
      cat "$work/log" >&2
      # on a machine with a wrong date, no server's certificate is valid
      if grep -Eq 'CERT_HAS_EXPIRED|CERT_NOT_YET_VALID' "$work/log"; then
        echo "build.sh: $node can't be fetched: the server's certificate is not valid on $(date +%F)." >&2
      elif grep -Eq 'ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH' "$work/log"; then
        echo "build.sh: $node can't be fetched: no server can be reached." >&2
      else
        exit 1
      fi
      exit 69
    }
    mv "$work/fetched"/*.tgz "$archive"
    found=$(integrity "$archive")
    [ "$found" = "$node_integrity" ] || { echo "$node is $found, not $node_integrity as expected." >&2; exit 1; }
  fi
  tar -xzf "$archive" -C "$work/node" --strip-components=1
  echo "$node_integrity" >"$work/node/integrity"
fi

rm -rf "$work/meson" "$work/tree"
cd "$top"
run meson setup "$work/meson" --prefix /usr -Dinstall_format=appimage
run meson compile -C "$work/meson"
run env DESTDIR="$work/tree" meson install -C "$work/meson" --no-rebuild
# what the head is linked with
for library in libsquashfuse-dev libfuse3-dev libzstd-dev zlib1g-dev libc6-dev; do
  dpkg-query -W -f '${Package} ${Version} ${source:Package} ${source:Version}\n' "$library:$architecture"
done >"$work/head"
node "$here/tree.mjs" "$work/sysroot" "$work/node" "$work/head" "$work/tree" "$machine" "$architecture" "$loader"

"$here/runtime/build.sh" "$work/runtime" "$version" "$information" "$machine"
rm -f "$work/squashfs"
run env -u SOURCE_DATE_EPOCH mksquashfs "$work/tree" "$work/squashfs" -all-root -noappend -no-xattrs -no-progress -mkfs-time "$epoch" -all-time "$epoch" \
  -comp zstd -Xcompression-level "${CULVERT_IMAGE_LEVEL:-19}" -b 131072
cat "$work/runtime" "$work/squashfs" >"$out.part"
chmod 755 "$out.part"
mv "$out.part" "$out"
