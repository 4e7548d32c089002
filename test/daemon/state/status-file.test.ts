// The status file names the mode only while the settings are those of now.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { keepStatusFile } from '../../../daemon/state/status-file.ts';
import { createState } from '../../../daemon/state/store.ts';
import { startTunnel } from '../../support/daemon/tunnel.ts';
import { temporary } from '../../support/temporary.ts';
import { until } from '../../support/until.ts';

test('mode and protocol are left out until the settings are read again', t => {
  const file = join(temporary(t, 'status'), 'status');
  const state = createState({ available: true, path: null, version: null, emulated: false });
  let isModeKnown = true;
  const write = keepStatusFile(file, state, { port: () => null, isModeKnown: () => isModeKnown });
  state.set('settings', { Mode: 'warp', 'WARP tunnel protocol': 'MASQUE' });
  assert.match(readFileSync(file, 'utf8'), /· warp · MASQUE\n[\s\S]*"mode":"warp"/);
  isModeKnown = false;
  write();
  assert.doesNotMatch(readFileSync(file, 'utf8'), /warp|MASQUE/);
  assert.match(readFileSync(file, 'utf8'), /"mode":null/);
});

test('the mode is read after a start, an action, and a change by another program, though nobody asks', async t => {
  const { tunnel, state, cli } = await startTunnel(t);
  const isMode = (mode: string) => until(() => state.snapshot().settings.Mode === mode, mode);
  await isMode('warp');
  await tunnel.perform({ action: 'setMode', value: 'doh' });
  await isMode('doh');
  await cli.run('mode', 'tunnel_only');
  await isMode('tunnel_only');
});
