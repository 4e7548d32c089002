// `culvert stop`: ends the daemon and nothing else, whatever the record says.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { isSingleProcess } from '../../../../daemon/cli/commands/culvert/daemon.ts';
import { type PendingChange, stayingText } from '../../../../daemon/cli/pending.ts';
import { startTime } from '../../../../daemon/core/process.ts';
import { createHome, culvert, type Home } from '../../../support/daemon/command.ts';
import { freePort } from '../../../support/ports.ts';
import { suspend } from '../../../support/signal.ts';

/** A process that answers health on the home's socket. */
async function daemon(t: TestContext, home: Home, onTerm: string) {
  const script = `
    process.on('SIGTERM', () => { ${onTerm} });
    require('node:http').createServer((_, r) => r.end(JSON.stringify({ok: true, app: 'culvert', pid: process.pid})))
      .listen(${JSON.stringify(home.socket)}, () => console.log('ready'));`;
  const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  return child;
}

function record(home: Home, pid: number | undefined, started: string | null): void {
  writeFileSync(
    join(home.path, 'run', 'culvert', 'daemon.json'),
    JSON.stringify({ pid, port: 4173, version: '1', started }),
  );
}

test('stop ends the recorded daemon and comes back when it is gone', async t => {
  const home = createHome(t);
  const child = await daemon(t, home, 'setTimeout(() => process.exit(0), 100)');
  record(home, child.pid, startTime(child.pid!));
  const { code, stdout } = await culvert(home, ['stop']);
  assert.deepEqual([code, stdout], [0, `Stopped the daemon (pid ${child.pid}).\n`]);
  assert.equal(startTime(child.pid!), null);
});

test('stop finds a daemon without a record by its socket', async t => {
  const home = createHome(t);
  const child = await daemon(t, home, 'process.exit(0)');
  const { code, stdout } = await culvert(home, ['stop', '--json']);
  assert.deepEqual([code, JSON.parse(stdout)], [0, { ok: true, pid: child.pid, reverted: [], pending: [] }]);
});

test('a pid that now belongs to another process is not signaled', async t => {
  const home = createHome(t);
  const other = spawn('sleep', ['60']);
  t.after(() => other.kill('SIGKILL'));
  record(home, other.pid, '1');
  assert.equal((await culvert(home, ['stop'])).code, 5);
  assert.notEqual(startTime(other.pid!), null);
  assert.equal(other.signalCode, null);
});

for (const [when, onTerm, before] of [
  ['suspended', 'process.exit(0)', (pid: number) => suspend(pid)],
  ['suspended after the signal', "process.kill(process.pid, 'SIGSTOP')", async () => {}],
] as const)
  test(`stop says of a daemon that is ${when} how it goes on`, async t => {
    const home = createHome(t);
    const child = await daemon(t, home, onTerm);
    record(home, child.pid, startTime(child.pid!));
    await before(child.pid!);
    const { code, stderr } = await culvert(home, ['stop']);
    assert.equal(code, 1);
    assert.match(stderr, new RegExp(`suspended.*\\n.*kill -CONT ${child.pid}`));
  });

const deadline = { bootId: 'x', uptimeMs: 0, at: '2026-01-01T18:00:00.000Z' };
const entry = (more: object) => ({ setAt: '2026-01-01T10:00:00.000Z', making: false, ...more });
const unconfirmed = entry({
  previous: { subject: 'mode', value: 'warp' },
  value: 'doh',
  confirmBy: deadline,
  endsAt: null,
});
const timed = entry({
  previous: { subject: 'connection', value: true },
  value: 'off',
  confirmBy: null,
  endsAt: deadline,
});
const fileOf = (pending: object[]) => JSON.stringify({ version: 1, pending });

/** A home with pending changes, and a daemon that leaves some of them when it ends. */
async function withChanges(t: TestContext, before: object[], after: object[]) {
  const home = createHome(t);
  const state = join(home.path, '.local/state/culvert');
  mkdirSync(state, { recursive: true });
  const changes = JSON.stringify(join(state, 'changes.json'));
  writeFileSync(join(state, 'changes.json'), fileOf(before));
  const end = after.length
    ? `writeFileSync(${changes}, ${JSON.stringify(fileOf(after))})`
    : `rmSync(${changes}, {force: true})`;
  await daemon(t, home, `require('node:fs').${end}; process.exit(0)`);
  return home;
}

for (const [situation, before, after, lines, outcome] of [
  [
    'reverted',
    [unconfirmed],
    [],
    ['Reverted, because it was not confirmed: Mode'],
    { reverted: ['mode'], pending: [] },
  ],
  [
    'reverted, and one that ends later',
    [unconfirmed, timed],
    [timed],
    [
      'Reverted, because it was not confirmed: Mode',
      'Reverts only when Culvert runs again: Back on at 2026-01-01 18:00',
    ],
    { reverted: ['mode'], pending: ['connection'] },
  ],
  [
    'not reverted in time',
    [unconfirmed],
    [unconfirmed],
    ['Reverts only when Culvert runs again: Mode: changed, not confirmed; reverts at 2026-01-01 18:00:00'],
    { reverted: [], pending: ['mode'] },
  ],
] as const)
  test(`stop reports a change that was ${situation}, to people and to scripts`, async t => {
    const { code, stderr } = await culvert(await withChanges(t, [...before], [...after]), ['stop']);
    assert.deepEqual([code, stderr], [0, lines.map(line => `${line}\n`).join('')]);
    const json = await culvert(await withChanges(t, [...before], [...after]), ['stop', '--json']);
    const { reverted, pending } = JSON.parse(json.stdout);
    assert.deepEqual({ reverted, pending: pending.map(({ subject }: { subject: string }) => subject) }, outcome);
  });

test('a change of the demo is not taken for one of this machine', async t => {
  const home = await withChanges(t, [unconfirmed], []);
  const demo = join(home.path, '.local/state/culvert/demo');
  mkdirSync(demo);
  writeFileSync(join(demo, 'changes.json'), fileOf([unconfirmed]));
  const lines = (await culvert(home, ['stop'])).stderr.split('\n');
  assert.equal(lines[0], 'Reverted, because it was not confirmed: Mode');
  assert.match(lines[1]!, /^Demo: reverts only when the demo runs again: Mode: /);
  const { stderr } = await culvert(home, ['connect']);
  assert.match(stderr, /^Demo: reverts only when the demo runs again: /m);
  assert.doesNotMatch(stderr, /^Reverts only/m);
});

test('does not announce that a change reverts if a purge removes its record', () => {
  const at = '2026-01-01T18:00:00.000Z';
  const change: PendingChange = {
    subject: 'mode',
    value: 'doh',
    previous: 'warp',
    setAt: at,
    confirmBy: at,
    endsAt: null,
    endingSoon: false,
    problem: null,
  };
  const texts = stayingText([change, { ...change, demo: true }], true);
  assert.match(texts[0]!, /^Not reverted, and --purge removes its record: Mode/);
  assert.match(texts[1]!, /^Demo: not reverted, and --purge removes its record: Mode/);
});

test('a command without a daemon names the changes that stay', async t => {
  const home = await withChanges(t, [timed], [timed]);
  await culvert(home, ['stop']);
  const text = 'Reverts only when Culvert runs again: Back on at 2026-01-01 18:00';
  const status = await culvert(home, ['status']);
  assert.deepEqual(
    [status.code, status.stderr],
    [5, `culvert: The Culvert daemon is not running.\n${text}\nStart it with: culvert\n`],
  );
  const report = JSON.parse((await culvert(home, ['status', '--json'])).stdout);
  assert.deepEqual(
    [report.code, report.pending[0].subject, report.pending[0].endsAt],
    ['daemon-not-running', 'connection', deadline.at],
  );
});

/** A Culvert that answers on the configured port alone, as one whose runtime and state were removed. */
async function onPort(t: TestContext, home: Home, stateHome: string) {
  const port = freePort();
  const script = `
    process.on('SIGTERM', () => process.exit(0));
    const health = {ok: true, app: 'culvert', version: '1', port: ${port}, pid: process.pid};
    require('node:http').createServer((_, r) => r.end(JSON.stringify(health)))
      .listen(${port}, '127.0.0.1', () => console.log('ready'));`;
  const child = spawn(process.execPath, ['-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...home.env, XDG_STATE_HOME: stateHome },
  });
  t.after(() => child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  return { child, env: { CULVERT_SERVER_PORT: String(port) } };
}

test('stop finds a daemon that left no file by its port', async t => {
  const home = createHome(t);
  const { child, env } = await onPort(t, home, join(home.path, '.local/state'));
  const { code, stdout } = await culvert(home, ['stop'], '', env);
  assert.deepEqual([code, stdout], [0, `Stopped the daemon (pid ${child.pid}).\n`]);
});

test('stop leaves alone a daemon on the port that has another state', async t => {
  const home = createHome(t);
  const { child, env } = await onPort(t, home, join(home.path, 'other'));
  assert.equal((await culvert(home, ['stop'], '', env)).code, 5);
  assert.notEqual(startTime(child.pid!), null);
});

// checked in the function only: were it wrong, running the command with these would end every process there is
for (const pid of [-1, 0, 1, -1234, 1.5, Number.NaN, '1', '1234', null, undefined, 2 ** 60]) {
  test(`${typeof pid} ${pid} is not a process to signal`, () =>
    assert.equal(isSingleProcess({ pid, started: '1' }), false));
}
test('a pid without a start time proves nothing', () => {
  for (const started of [null, undefined, '', 5]) assert.equal(isSingleProcess({ pid: 1234, started }), false);
  assert.equal(isSingleProcess({ pid: 1234, started: '5' }), true);
});

for (const text of ['', '{', 'null', '[]']) {
  test(`a record of ${text || 'nothing'} is ignored`, async t => {
    const home = createHome(t);
    writeFileSync(join(home.path, 'run', 'culvert', 'daemon.json'), text);
    const { code, stderr } = await culvert(home, ['stop']);
    assert.deepEqual([code, stderr], [5, 'culvert: The Culvert daemon is not running.\nStart it with: culvert\n']);
  });
}

test('token prints the token, and creates it when it is missing', async t => {
  const home = createHome(t);
  const { code, stdout } = await culvert(home, ['token']);
  assert.equal(code, 0);
  assert.match(stdout, /^[\w-]{43}\n$/);
  assert.equal((await culvert(home, ['token'])).stdout, stdout);
  assert.deepEqual(JSON.parse((await culvert(home, ['token', '--json'])).stdout), { ok: true, token: stdout.trim() });
  assert.equal(statSync(join(home.path, '.local/state/culvert/token')).mode & 0o777, 0o600);
});
