// Window and browser page have a picture for each icon that a status can name.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const ROOT = join(import.meta.dirname, '../../..');
const read = (...path: string[]) => readFileSync(join(ROOT, ...path), 'utf8');
/** Icons in words of the source. */
const named = readdirSync(join(ROOT, 'daemon/view'), { recursive: true, encoding: 'utf8' })
  .filter(file => /^(forms|pages|states)\/.*\.ts$/.test(file))
  .flatMap(file => read('daemon/view', file).split('\n'))
  .flatMap(line => [...line.matchAll(/'([\w.-]+-symbolic)'/g)].map(([, name]) => name!));

test('each icon of a status is a file of the folders that the browser page takes, and in the window', () => {
  const resource = read('gnome/panel/panel.gresource.xml');
  assert.ok(named.length > 15, named.join());
  const missing = [...new Set(named)].filter(name => {
    const state = /^org\.culvert\.Culvert-(.*)-symbolic$/.exec(name)?.[1];
    const folder = state ? 'hicolor/scalable/status' : 'panel';
    const file = `${name}.svg`;
    return !existsSync(join(ROOT, 'data/icons', folder, file)) || !resource.includes(file);
  });
  assert.deepEqual(missing, []);
});
