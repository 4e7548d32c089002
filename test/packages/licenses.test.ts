// Licenses: as Debian and npm packages state them, and as builds list them.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { licensesIn } from '../../data/appimage/licenses.mjs';

const FORMAT = 'Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n\n';

test("Debian's names become SPDX identifiers, each once, and unknown ones stay names", () => {
  const text = `${FORMAT}Files: *\nLicense: LGPL-2.1+\n\nFiles: a\nLicense: Expat or GPL-2+\n\nFiles: b\nLicense: LGPL-2.1+, and custom\n\nLicense: LGPL-2.1+\n text\n`;
  assert.deepEqual(licensesIn(text), [
    { id: 'GPL-2.0-or-later' },
    { id: 'LGPL-2.1-or-later' },
    { id: 'MIT' },
    { name: 'custom' },
  ]);
});

test('a text that is not machine-readable is referred to, not guessed at', () => {
  assert.deepEqual(licensesIn('This is GPL, or so.\nLicense: yes'), [{ name: 'see usr/share/doc in the image' }]);
});

test('a build carries the notice of every npm package in its bundles', t => {
  const file = resolve('build/prefix/share/culvert/licenses.txt');
  if (!existsSync(file)) return t.skip('nothing is built');
  const text = readFileSync(file, 'utf8');
  const headings = [...text.matchAll(/^== ((\S+) \S+) \(\S+\)$/gm)];
  for (const name of ['koa', '@koa/router', 'zod', 'commander', 'smol-toml', 'tar'])
    assert.ok(
      headings.some(([, , found]) => found === name),
      name,
    );
  const packages = headings.map(([, name]) => name);
  assert.equal(new Set(packages).size, packages.length, 'each version once');
  const without = [...text.matchAll(/^== (\S+) .*\n\nThe package carries no text of its license/gm)].map(
    ([, name]) => name,
  );
  assert.deepEqual(without, ['koa-compose', 'saxes'], 'only their package.json names a license');
});
