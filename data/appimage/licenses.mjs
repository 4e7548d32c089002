// Reads the licenses out of a Debian copyright file, as SPDX identifiers where the two lists agree.
// https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/

/** Debian's short names that SPDX spells differently; the rest is compared as it is. */
const SPDX = {
  expat: 'MIT',
  mit: 'MIT',
  'mit/x11': 'MIT',
  x11: 'X11',
  'apache-2.0': 'Apache-2.0',
  'apache-2': 'Apache-2.0',
  'bsd-2-clause': 'BSD-2-Clause',
  'bsd-3-clause': 'BSD-3-Clause',
  'bsd-4-clause': 'BSD-4-Clause',
  isc: 'ISC',
  zlib: 'Zlib',
  'mpl-1.1': 'MPL-1.1',
  'mpl-2.0': 'MPL-2.0',
  'cc0-1.0': 'CC0-1.0',
  'cc-by-sa-3.0': 'CC-BY-SA-3.0',
  'cc-by-sa-4.0': 'CC-BY-SA-4.0',
  'cc-by-4.0': 'CC-BY-4.0',
  'gpl-1': 'GPL-1.0-only',
  'gpl-1+': 'GPL-1.0-or-later',
  'gpl-2': 'GPL-2.0-only',
  'gpl-2+': 'GPL-2.0-or-later',
  'gpl-3': 'GPL-3.0-only',
  'gpl-3+': 'GPL-3.0-or-later',
  'lgpl-2': 'LGPL-2.0-only',
  'lgpl-2+': 'LGPL-2.0-or-later',
  'lgpl-2.0+': 'LGPL-2.0-or-later',
  'lgpl-2.1': 'LGPL-2.1-only',
  'lgpl-2.1+': 'LGPL-2.1-or-later',
  'lgpl-3': 'LGPL-3.0-only',
  'lgpl-3+': 'LGPL-3.0-or-later',
};

/**
 * @param {string} text of a copyright file
 * @returns {{id?: string, name?: string}[]} one for each license named in it, in CycloneDX's form; for a file that is not
 *   machine-readable, one that refers to the file.
 */
export function licensesIn(text) {
  if (!/^Format:.*copyright-format/im.test(text)) return [{ name: 'see usr/share/doc in the image' }];
  const words = [...text.matchAll(/^License:[ \t]*(\S.*)$/gim)]
    .flatMap(([, expression]) => expression.split(/,?\s+(?:and\/or|and|or)\s+|\s*[,|]\s*/i))
    .map(word => word.replace(/^[(\s]+|[)\s]+$/g, ''))
    .filter(word => word);
  const names = [
    ...new Set(
      words.map(word => SPDX[word.toLowerCase().replace(/\.0(?=\+?$)/, '')] ?? SPDX[word.toLowerCase()] ?? word),
    ),
  ];
  const known = new Set(Object.values(SPDX));
  return names.sort().map(name => (known.has(name) ? { id: name } : { name }));
}
