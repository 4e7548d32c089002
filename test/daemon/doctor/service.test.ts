// The doctor in the daemon: reports, events as results come, fixes that were shown, and the cause of a failing tunnel.
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import * as z from 'zod/mini';
import type { ActionRequest } from '../../../daemon/api/actions.ts';
import {
  Diagnosis,
  DoctorBundle,
  type DoctorFixRequest,
  DoctorProgress,
  DoctorReport,
  type DoctorRequest,
} from '../../../daemon/api/doctor.ts';
import type { History } from '../../../daemon/api/history.ts';
import type { Status } from '../../../daemon/api/schema.ts';
import { describeResults } from '../../../daemon/cli/commands/doctor/doctor.ts';
import { loadConfig } from '../../../daemon/config/layers.ts';
import type { FeatureContext } from '../../../daemon/controls.ts';
import { plain } from '../../../daemon/core/terminal.ts';
import { message, problem } from '../../../daemon/doctor/check.ts';
import { CHECKS } from '../../../daemon/doctor/checks/all.ts';
import { readArchive } from '../../../daemon/doctor/diagnose/archive.ts';
import { fileFix } from '../../../daemon/doctor/file-fix.ts';
import { openDoctor } from '../../../daemon/doctor/index.ts';
import { createState, type Published } from '../../../daemon/state/store.ts';
import { paths as pathsOf } from '../../../daemon/system/paths.ts';
import { adminLines } from '../../../daemon/view/fix.ts';
import type { Tunnel } from '../../../daemon/warp/tunnel.ts';
import { OUTPUT } from '../../support/daemon/listeners.ts';
import { NEWEST, tree } from '../../support/doctor/world.ts';
import { temporary } from '../../support/temporary.ts';
import { until } from '../../support/until.ts';

async function setUp(t: TestContext, options: Parameters<typeof openDoctor>[2] = {}) {
  const home = temporary(t, 'doctor');
  const env = { HOME: home, XDG_RUNTIME_DIR: join(home, 'run'), PATH: process.env.PATH ?? '' };
  const paths = pathsOf(env);
  mkdirSync(paths.runtime, { recursive: true, mode: 0o700 });
  const state = createState({ available: true, path: '/usr/bin/warp-cli', version: NEWEST, emulated: false });
  const performed: ActionRequest[] = [];
  const tunnel: Pick<Tunnel, 'refresh' | 'runAction'> = {
    async refresh() {},
    async runAction(request) {
      performed.push(request);
      return OUTPUT;
    },
  };
  const settings = await loadConfig({ system: join(home, 'system.json'), user: paths.userConfig }, env);
  const context: FeatureContext = {
    env,
    paths,
    state,
    settings,
    tunnel: tunnel as Tunnel,
    say: line => assert.fail(line),
    restart() {},
  };
  const sources = { log: { since: () => [], capacity: 0 }, history: { read: async () => EMPTY } };
  const feature = openDoctor(context, sources, { unableMs: 1, connectedMs: 1, ...options });
  t.after(() => feature.stop());
  const { handlers } = feature;
  const query = undefined;
  const doctor = {
    start: feature.start,
    run: async (body: DoctorRequest) => handlers['POST /api/doctor']({ body, query }),
    fix: async (body: DoctorFixRequest) => handlers['POST /api/doctor/fix']({ body, query }),
    undo: async () => handlers['POST /api/doctor/undo']({ body: {}, query }),
    bundle: async () => handlers['POST /api/doctor/bundle']({ body: {}, query }),
  };
  const events: Published[] = [];
  state.subscribe(event => void events.push(event));
  const status = (value: Partial<Status>) => state.set('status', { ...state.snapshot().status, ...value });
  return { doctor, state, events, performed, paths, status };
}

test('a report has all checks, problems first, and each result comes as an event before it', async t => {
  const { doctor, events } = await setUp(t);
  const report = z.parse(DoctorReport, await doctor.run({}));
  const progress = events.filter(({ event }) => event === 'doctor').map(({ data }) => z.parse(DoctorProgress, data));
  const total = report.results.length;
  assert.deepEqual(progress[0], { running: true, completed: 0, total, result: null, undo: null });
  assert.deepEqual(progress.at(-1), { running: false, completed: total, total, result: null, undo: [] });
  assert.deepEqual(
    progress.slice(1, -1).map(({ completed }) => completed),
    report.results.map((_, at) => at + 1),
  );
  const ranks = report.results.map(({ verdict }) =>
    ['problem', 'unknown', 'notice', 'ok', 'not-applicable'].indexOf(verdict),
  );
  assert.deepEqual(ranks, [...ranks].sort());
});

test('two clients that ask for the same share one run', async t => {
  const { doctor, events } = await setUp(t);
  const [one, two] = await Promise.all([doctor.run({ only: ['display'] }), doctor.run({ only: ['display'] })]);
  assert.equal(one, two);
  assert.equal(events.filter(({ event }) => event === 'doctor').length, 3);
});

test('a check that does not exist is refused by its name', async t => {
  const { doctor } = await setUp(t);
  await assert.rejects(doctor.run({ only: ['display', 'no-such'] }), { code: 'not-found' });
  await assert.rejects(doctor.fix({ id: 'no-such', fixId: 'x' }), { code: 'not-found' });
});

test('a fix is applied only as it was shown, and can be undone once', async t => {
  const { doctor, paths, events } = await setUp(t);
  const mode = () => statSync(paths.runtime).mode & 0o777;
  chmodSync(paths.runtime, 0o755);
  const { results } = await doctor.run({ only: ['socket-directory'] });
  const fixId = results[0]?.fixId ?? '';
  chmodSync(paths.runtime, 0o711);
  await assert.rejects(doctor.fix({ id: 'socket-directory', fixId }), { code: 'precondition-failed' });
  chmodSync(paths.runtime, 0o755);
  const fixed = await doctor.fix({ id: 'socket-directory', fixId });
  assert.deepEqual([fixed.result?.verdict, mode()], ['ok', 0o700]);
  const last = () => z.parse(DoctorProgress, events.findLast(({ event }) => event === 'doctor')?.data);
  assert.deepEqual(
    [last().running, last().result?.verdict, last().undo?.map(({ id }) => id)],
    [false, 'ok', ['socket-directory']],
  );
  const undone = await doctor.undo();
  assert.equal(mode(), 0o755);
  assert.equal(undone.result?.id, 'socket-directory');
  assert.deepEqual([last().result, last().undo], [undone.result, []]);
  await assert.rejects(doctor.undo(), { code: 'fix-failed' });
});

test('a fix that consists of actions is performed by the tunnel', async t => {
  const { doctor, state, performed } = await setUp(t);
  state.set('settings', { Mode: 'doh', 'Fallback domains': ['corp'] });
  const { results } = await doctor.run({ only: ['dns-fallback-only'] });
  await doctor.fix({ id: 'dns-fallback-only', fixId: results[0]?.fixId ?? '' });
  await doctor.undo();
  assert.deepEqual(performed, [
    { action: 'setMode', value: 'warp+doh' },
    { action: 'setMode', value: 'doh' },
  ]);
});

const EMPTY: History = {
  ok: true,
  enabled: true,
  since: '2026-11-14T12:00:00.000Z',
  until: '2026-11-21T12:00:00.000Z',
  resolution: 'hour',
  changes: [],
  samples: [],
  totals: null,
  next: null,
};

test('a bundle holds the same files as its archive', async t => {
  const { doctor } = await setUp(t);
  const bundle = z.parse(DoctorBundle, await doctor.bundle());
  const file = join(temporary(t, 'bundle'), 'report.zip');
  writeFileSync(file, Buffer.from(bundle.archive, 'base64'));
  const { files } = await readArchive(file);
  assert.deepEqual(
    files.map(({ name, text }) => [name, text]),
    bundle.files.map(({ name, text }) => [name, text]),
  );
});

test('a tunnel that fails gets its most likely cause, once, and loses it when it disconnects', async t => {
  const { doctor, state, status, events } = await setUp(t);
  state.set('settings', { Mode: 'doh', 'Fallback domains': ['corp'] });
  doctor.start();
  status({ state: 'unable', reason: { code: 'NoNetwork', text: 'No Network' } });
  const found = z.parse(Diagnosis, await until(() => state.snapshot().diagnosis));
  assert.equal(found.id, 'dns-fallback-only');
  assert.equal(found.fix?.kind, 'action');
  status({ state: 'disconnected', reason: null });
  assert.equal(state.snapshot().diagnosis, null);
  assert.equal(events.filter(({ event, data }) => event === 'diagnosis' && data !== null).length, 1);
});

test('the cause that every client gets has no text of a file', async t => {
  const fix = { kind: 'file', label: 'x', path: '/x', diff: '+canary', content: 'canary', privileged: true } as const;
  for (const check of CHECKS) t.mock.method(check, 'probe', async () => problem([], [], fix));
  const { doctor, state, status, events } = await setUp(t);
  doctor.start();
  status({ state: 'unable', reason: { code: 'NoNetwork', text: 'No Network' } });
  const { results } = await doctor.run({});
  assert.ok(results.some(result => result.fix?.kind === 'file'));
  await until(() => state.snapshot().diagnosis);
  const shown = events.filter(({ event }) => event !== 'doctor');
  assert.doesNotMatch(JSON.stringify([state.snapshot(), shown]), /canary/);
});

test('no client gets the text of a file that root’s side changes', async t => {
  const change = fileFix(message('Change'), '/etc/x', { before: 'canary\nold\n', content: 'canary\nnew\n' });
  for (const check of CHECKS)
    t.mock.method(check, 'probe', async () => problem([], [], { ...change!, repair: ['resolv-conf-words'] }));
  const { doctor, state, events } = await setUp(t);
  const report = await doctor.run({});
  const fixes = report.results.flatMap(({ fix }) => fix ?? []);
  assert.ok(fixes.length > 1);
  const bundle = await doctor.bundle();
  const shown = describeResults(report.results, plain, true);
  assert.doesNotMatch(JSON.stringify([report, state.snapshot(), events, bundle.files, shown]), /canary/);
  for (const fix of fixes)
    assert.deepEqual(adminLines(fix), ['sudo /usr/lib/culvert-repair/culvert-repair fix resolv-conf-words']);
});

test('a tunnel that is connected and carries nothing gets its cause', async t => {
  const statistics = '/sys/class/net/CloudflareWARP/statistics';
  const root = tree(t, { [`${statistics}/tx_bytes`]: '9000\n', [`${statistics}/rx_bytes`]: '0\n' });
  const { doctor, state, status } = await setUp(t, { root });
  state.set('settings', { Mode: 'doh', 'Fallback domains': ['corp'] });
  doctor.start();
  status({ state: 'connected' });
  await until(() => state.snapshot().diagnosis);
  writeFileSync(`${root}${statistics}/rx_bytes`, '5\n');
  status({ state: 'connecting' });
  status({ state: 'connected' });
  assert.equal(state.snapshot().diagnosis, null);
});
