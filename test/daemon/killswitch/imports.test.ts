// The code that runs as root: everything that the root service imports, directly or not.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';

const FROM = /^(?:import|export)\s+(?!type\b)(?:[^'";]*?\sfrom\s+)?'([^']+)'/gm;
/** A library of the system that older ones lack is loaded at run time. */
const LIBRARY = /\bimport\('(gi:[^']+)'/g;
const SERVICE = 'daemon/killswitch/service/main.ts';

/** The files that a file leads to, and the modules that are no files of the project. Types are erased, so they do not count. */
function reached(start: string): { files: string[]; modules: string[] } {
  const files = new Set([start]);
  const modules = new Set<string>();
  for (const file of files) {
    if (file.endsWith('.json')) continue;
    const text = readFileSync(file, 'utf8');
    assert.doesNotMatch(text, /\b(?:import|require)\((?!'gi:)/, `${file} loads code at run time`);
    for (const [, name] of [...text.matchAll(FROM), ...text.matchAll(LIBRARY)]) {
      if (name!.startsWith('.')) files.add(path.join(path.dirname(file), name!));
      else modules.add(name!.replace(/\?.*$/, ''));
    }
  }
  return { files: [...files].sort(), modules: [...modules].sort() };
}

test('root runs the kill switch, and only these parts of anything else', () => {
  const { files, modules } = reached(SERVICE);
  assert.ok(files.length > 20, `${files.length} files`);
  assert.deepEqual(
    files.filter(
      file => !/^daemon\/killswitch\/(?:(?:service|rules|sign-in|service\/sign-in)\/)?[\w-]+\.ts$/.test(file),
    ),
    [
      'daemon/core/printable.ts',
      'daemon/view/format.ts',
      'daemon/view/message.ts',
      'daemon/view/translator.ts',
      'data/killswitch/endpoints.json',
    ],
  );
  assert.deepEqual(modules, ['gi://GLib', 'gi://GLibUnix', 'gi://Gio', 'ipaddr.js', 'system']);
});

test('the rules are pure: no part of GJS, and no edge of the service', () => {
  for (const name of ['rules', 'wanted', 'endpoints', 'tunnel-only', 'outside']) {
    const { files, modules } = reached(`daemon/killswitch/rules/${name}.ts`);
    assert.ok(
      modules.every(module => module === 'ipaddr.js'),
      `${name}: ${modules}`,
    );
    assert.deepEqual(
      files.filter(file => file.includes('/service/')),
      [],
      name,
    );
  }
});
