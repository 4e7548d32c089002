#!/bin/sh
# Builds the AppImage's head: runtime/build.sh OUT VERSION UPDATE-INFORMATION [MACHINE]
# Needs gcc, libsquashfuse-dev, libfuse3-dev, zlib1g-dev, libzstd-dev. Static, so that it starts on any Linux.
set -eu
here=$(dirname "$(readlink -f "$0")")
out=$1 version=$2 information=$3 triplet=${4:-$(uname -m)}-linux-gnu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(
  cd "$here" # no path of the build's in the file
  "$triplet-gcc" -std=c11 -Os -Wall -Wextra -Werror -static -s -ffunction-sections -fdata-sections -Wl,--gc-sections,--build-id=none,--no-warnings \
    -D_FILE_OFFSET_BITS=64 -DVERSION="\"$version\"" -I/usr/include/squashfuse -I/usr/include/fuse3 -o "$work/runtime" \
    main.c mount.c extract.c users.c -lsquashfuse_ll -lsquashfuse -lfuse3 -lzstd -lz -lpthread
)
{ printf '%s' "$information"; head -c $((1024 - ${#information})) /dev/zero; } >"$work/information"
"$triplet-objcopy" --update-section ".upd_info=$work/information" "$work/runtime" "$out"
# the mark of a type-2 AppImage, in bytes of the ELF header that nothing reads
printf 'AI\002' | dd of="$out" bs=1 seek=8 conv=notrunc status=none
chmod 755 "$out"
