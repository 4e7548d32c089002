// The program and the service of the tests answer alike: what other tests ask the service, they need not ask the program.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { emulator } from '../../support/daemon/emulator.ts';

const CASES: [argv: string[], faults?: string][] = [
  [[]],
  [['--help']],
  [['tunnel', 'ip', '-h']],
  [['--version']],
  [['conect']],
  [['mode']],
  [['-j', 'status']],
  [['status'], 'service-down'],
  [['-j', 'connect'], 'not-registered'],
  [['connect'], 'terms'],
  [['settings'], 'slow=1'],
  [['settings'], 'huge=300000'],
  [['-j', 'settings'], 'cut'],
  [['tunnel', 'ip', 'add', '192.0.2.1']],
  [['tunnel', 'ip', 'add', 'nowhere']],
  [['tunnel', 'host', 'add', 'bücher.example']],
  [['tunnel', 'ip', 'add-range', '192.0.2.0/24', '--unknown']],
  [['status', '']],
  [['status'], 'no-such-fault'],
  [['--emulate']],
  [['--emulate', 'help']],
  [['--emulate', 'reset', 'settings.mode=doh', 'fault=slow=1@settings']],
  [['mode']],
  [['--emulate', 'clear', 'settings.nothing=1']],
  [['--emulate', 'fault=no-such-fault']],
  [['--emulate', 'reset']],
  [['settings', 'list']],
];

test('the service answers as the program does', async t => {
  const [program, service] = [await emulator({ program: true }), await emulator()];
  t.after(() => Promise.all([program.remove(), service.remove()]));
  for (const [argv, faults = 'proxy-silent'] of CASES) {
    const env = { CULVERT_EMULATOR_FAULTS: faults };
    assert.deepEqual(
      await service.runWith(env, ...argv),
      await program.runWith(env, ...argv),
      `${argv.join(' ')} with ${faults}`,
    );
  }
});
