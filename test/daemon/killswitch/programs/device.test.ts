// Values of network devices from sysfs, as the root service reads them.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { buildSync } from 'esbuild';
import { missing } from '../../../support/killswitch/stage.ts';
import { temporary } from '../../../support/temporary.ts';

const SCRIPT = `
import { readDevice } from './files.ts';
const values = [['lo', 'mtu'], ['lo', 'speed'], ['culv63', 'flags']].map(([device, name]) => readDevice(device, name));
print(JSON.stringify(values));`;

test('a device that is missing or being removed has no values, which is no failure', { skip: missing }, t => {
  const outfile = join(temporary(t), 'script.js');
  const stdin = { contents: SCRIPT, resolveDir: 'daemon/killswitch/service' };
  buildSync({ stdin, outfile, bundle: true, format: 'esm', external: ['gi://*'] });
  // the kernel has no speed of lo, and says so with the error of a device that is being removed
  assert.deepEqual(JSON.parse(execFileSync('gjs', ['-m', outfile], { encoding: 'utf8' })), ['65536\n', null, null]);
});
