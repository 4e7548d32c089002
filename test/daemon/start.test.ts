// Modules that the start of the daemon must not load.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { bundledOnce } from '../support/built.ts';
import { temporary } from '../support/temporary.ts';

/** Each of them costs more of the daemon's start than everything of its own. */
const COSTLY = ['crypto', 'tls', 'https', 'http2', 'zlib', 'worker_threads'];

test('the daemon starts without what only some requests need', t => {
  const directory = temporary(t);
  const hook = join(directory, 'hook.cjs');
  writeFileSync(
    hook,
    `const { writeSync } = require('fs');
    process.on('exit', () => writeSync(1, '\\n' + process.moduleLoadList.join('\\n')));`,
  );
  // an option that it does not know ends it right after it is loaded
  const words = ['--require', hook, join(bundledOnce('daemon'), 'main.cjs'), '--no-such-option'];
  const loaded = spawnSync(process.execPath, words, { encoding: 'utf8' }).stdout.split('\n');
  assert.ok(loaded.includes('NativeModule http'), 'it loads what a start loads');
  assert.deepEqual(
    COSTLY.filter(name => loaded.includes(`NativeModule ${name}`)),
    [],
  );
});
