#!/bin/sh
# Collects the source packages of what AppImages bundle: data/appimage/sources.sh OUT.tar COMPONENTS…
# COMPONENTS is tree.components.json of an AppImage's build, whose versions are fetched. The licenses ask for it; see SOURCES.md.
set -eu
here=$(dirname "$(readlink -f "$0")")
out=$(readlink -m "$1") work=$(readlink -m "$(dirname "$2")")
shift
for components in "$@"; do
  [ -f "$components" ] || { echo 'sources.sh: build the AppImage first: ./culvert-tool build appimage' >&2; exit 1; }
  set -- "$@" "$(readlink -f "$components")"
  shift
done
rm -rf "$work/sources"
mkdir -p "$work/sources"
cd "$work/sources"
wanted() {
  node -e 'const fs = require("fs"); const [which, distribution, ...images] = process.argv.slice(1);
    const debian = images.flatMap(image => JSON.parse(fs.readFileSync(image)).debian); const inside = which === "inside";
    const suite = fs.readFileSync(distribution, "utf8").trim();
    console.log([...new Set(debian.filter(p => (p.distribution === suite) === inside).map(p => `${p.source}=${p.sourceVersion}`))].join("\n"))' \
    "$@"
}
"$here/apt.sh" "$work/sources-apt" "$(cat "$work/sysroot/distribution")"
# one after the other, so that missing ones can be listed; snapshot.debian.org still has them
missing=
for package in $(wanted inside "$work/sysroot/distribution" "$@"); do
  APT_CONFIG="$work/sources-apt/apt.conf" apt-get -q source --download-only "$package" >>"$work/sources.log" 2>&1 || missing="$missing $package"
done
# what the head is linked with is of the suite that it was built on
builder=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
"$here/apt.sh" "$work/builder-apt" "$builder"
for package in $(wanted outside "$work/sysroot/distribution" "$@"); do
  APT_CONFIG="$work/builder-apt/apt.conf" apt-get -q source --download-only "$package" >>"$work/sources.log" 2>&1 || missing="$missing $package"
done
if [ -n "$missing" ]; then
  echo "sources.sh: these could not be fetched from $("$here/../release/mirror.sh"):$missing" >&2
  echo "sources.sh: $work/sources.log says why. Name another mirror in CULVERT_MIRROR and try again, or fetch them from" \
    "https://snapshot.debian.org into $work/sources, and pack that directory" >&2
  exit 1
fi
tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@${SOURCE_DATE_EPOCH:?}" -cf "$out" .
