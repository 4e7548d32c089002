// The reads of the status, over a client whose answers the tests set, without processes or clocks.
import assert from 'node:assert/strict';
import test from 'node:test';
import { createState } from '../../../../daemon/state/store.ts';
import { createActionRunner } from '../../../../daemon/warp/actions/run-action.ts';
import type { CliTracker } from '../../../../daemon/warp/cli/cli-info.ts';
import type { Runner } from '../../../../daemon/warp/cli/run.ts';
import { NEWEST } from '../../../../daemon/warp/cli/version.ts';
import type { ChangedParts } from '../../../../daemon/warp/hear.ts';
import type { Form, Watch } from '../../../../daemon/warp/listen/watch.ts';
import { parseStatus } from '../../../../daemon/warp/parse/status.ts';
import { createReader } from '../../../../daemon/warp/read/reader.ts';
import { createTunnelStore } from '../../../../daemon/warp/tunnel-store.ts';

const TIMEOUT = 'Error communicating with daemon: The IPC call hit a timeout and could not be processed';
const CONNECTED = '{"status":"Connected","reason":"NetworkHealthy"}';

/** A reader over a client with a connected tunnel; `says` is what each command prints instead of its answer. */
function setup(t: test.TestContext, form: Form) {
  // a status in doubt is read again after pauses, which never end here
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const fake = { says: null as string | null, runs: [] as string[] };
  const runner: Runner = {
    async run({ args }) {
      fake.runs.push(args.join(' '));
      const answer = args.includes('status') ? CONNECTED : args.includes('settings') ? '{"mode":"warp"}' : '';
      const [stdout, stderr] = fake.says === null ? [answer, ''] : ['', fake.says];
      const exitCode = fake.says === null ? 0 : 1;
      const output = {
        ok: exitCode === 0,
        argv: [...args],
        exitCode,
        stdout,
        stderr,
        durationMs: 0,
        at: '2026-11-21T15:20:00Z',
      };
      return { output, timedOut: false, notStarted: false };
    },
    stop: async () => {},
  };
  const cli = { path: '/usr/bin/warp-cli', version: '2026.7.1377.0', can: NEWEST };
  const tracker = { current: async () => cli, refusesJson: () => false } as unknown as CliTracker;
  const state = createState({ available: true, path: cli.path, version: cli.version, emulated: false });
  const store = createTunnelStore(state);
  const listening = () => form;
  const options = { state, store, tracker, runner, listening, acceptTerms: () => true, onAge: () => {} };
  const reader = createReader({ ...options, hasten: () => false });
  t.after(reader.stop);
  const runAction = createActionRunner({
    ...options,
    reader,
    watch: { form: listening, retry: () => {} } as Watch,
    changes: { expectAnnouncement() {}, add() {}, during: work => work() } as Partial<ChangedParts> as ChangedParts,
    terms: { accepted: () => true, accept() {} },
    adopt: async () => {},
    stopped: () => false,
    proxyLimitMs: undefined,
    ignoredMs: undefined,
  });
  const output = { ok: true, argv: [], exitCode: 0, stdout: CONNECTED, stderr: '', durationMs: 0, at: '' };
  store.status(parseStatus(output), CONNECTED);
  reader.statusHeard();
  return { fake, reader, store, runAction, status: () => state.snapshot().status };
}

/** Resolves when all that follows without a timer has happened. */
const settled = () => new Promise(resolve => setImmediate(resolve));

for (const form of ['json', 'text', 'poll'] as const)
  for (const [kind, says, blocked] of [
    ['an IPC time-out', TIMEOUT, 'service-hangs'],
    ['a crash', "thread 'main' panicked at 'Broken pipe'", null],
  ] as const)
    for (const failures of [1, 3])
      for (const by of ['an action', 'a read of the settings'])
        test(`reads the status as soon as ${by} succeeds after ${kind}, ${failures} times (${form})`, async t => {
          const { fake, reader, runAction, status } = setup(t, form);
          fake.says = says;
          for (let times = 0; times < failures; times++) await reader.read('status');
          // a crash says nothing about the service that the listener hears
          if (failures === 3 && (blocked || form === 'poll'))
            assert.deepEqual([status().state, status().blocked], ['unknown', blocked]);
          fake.says = null;
          if (by === 'an action') await runAction({ action: 'setMode', value: 'doh' });
          else await reader.read('settings');
          await settled();
          const { state, lastKnown } = status();
          assert.deepEqual([state, status().blocked, lastKnown], ['connected', null, undefined]);
          const before = fake.runs.length;
          if (by === 'an action') await runAction({ action: 'setMode', value: 'warp' });
          else await reader.read('settings');
          await settled();
          assert.equal(fake.runs.length, before + 1, 'a known status is not read again');
        });
