// The folders of the daemon import each other in one direction; the linter rejects cycles of files only.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';

const ROOT = path.resolve('daemon');
const IMPORT = /(?:from|import\()\s*'(\.[^']+)'/g;

/** Folder of the daemon -> a file of it that imports another folder, by that folder. */
function arrows(): Map<string, Map<string, string>> {
  const found = new Map<string, Map<string, string>>();
  for (const name of readdirSync(ROOT, { recursive: true, encoding: 'utf8' })) {
    const [folder, ...inside] = name.split('/');
    if (!folder || !inside.length || !/\.tsx?$/.test(name)) continue;
    const file = path.join(ROOT, name);
    for (const [, target] of readFileSync(file, 'utf8').matchAll(IMPORT)) {
      const [other, ...rest] = path.relative(ROOT, path.resolve(file, '..', target!)).split('/');
      if (!other || other === '..' || other === folder || !rest.length) continue;
      found.set(folder, (found.get(folder) ?? new Map()).set(other, name));
    }
  }
  return found;
}

test('no folder of the daemon imports one that leads back to it', () => {
  const all = arrows();
  assert.ok(all.size > 10, `${all.size} folders`);
  const done = new Set<string>();
  const visit = (folder: string, way: string[]): void => {
    assert.ok(!way.includes(folder), [...way.slice(way.indexOf(folder)), folder].join(' -> '));
    if (done.has(folder)) return;
    for (const [other, file] of all.get(folder) ?? []) visit(other, [...way, folder, `(${file})`]);
    done.add(folder);
  };
  for (const folder of all.keys()) visit(folder, []);
});
