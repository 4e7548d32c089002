#!/bin/sh -e
# Rebuilds culvert.pot and merges it into every language; with --check only says whether something changed.
# Not meson's own pot target: one xgettext run can't mix languages, and gettext 0.21 takes .ts for C.
cd "$(dirname "$0")/.."
pot=po/culvert.pot
out=$pot
[ "$1" != --check ] || { out=$(mktemp); }
options="--from-code=UTF-8 --package-name=culvert --add-comments=Translators --no-wrap --sort-by-file --add-location=file -o $out"
rm -f "$out"
# xgettext loses its place in JSX, so these files are read as the JavaScript that they become
plain=$(mktemp -d)
trap 'rm -rf "$plain"; [ "$out" = "$pot" ] || rm -f "$out"' EXIT
# shellcheck disable=SC2046
node_modules/.bin/esbuild $(grep '\.tsx$' po/POTFILES) --outdir="$plain" --outbase=. --out-extension:.js=.tsx \
  --jsx=transform --charset=utf8 --log-level=error
grep '\.tsx\?$' po/POTFILES | xgettext -f - -D "$plain" -D . -L JavaScript -k -k_ -kN_ -kmessage -kngettext:1,2 $options
grep -v '\.tsx\?$' po/POTFILES | GETTEXTDATADIRS="$PWD/po" xgettext -f - -j $options
# the date would make every run a change
sed -i '/^"POT-Creation-Date:/d' "$out"
if [ "$1" = --check ]; then
  diff -u "$pot" "$out" || { echo 'po/culvert.pot is out of date: run po/update.sh' >&2; exit 1; }
  exit 0
fi
for language in $(cat po/LINGUAS); do
  if [ -f "po/$language.po" ]; then
    msgmerge -q --no-wrap --add-location=file --no-fuzzy-matching "po/$language.po" "$pot" |
      msgattrib --no-obsolete --no-wrap --add-location=file -o "po/$language.po" -
  else
    msginit --no-translator --no-wrap -l "$language" -i "$pot" -o "po/$language.po"
    # msginit leaves its default, because the template has no date, and msgfmt warns about it
    sed -i "s/YEAR-MO-DA HO:MI+ZONE/$(date -u '+%Y-%m-%d %H:%M+0000')/" "po/$language.po"
  fi
done
