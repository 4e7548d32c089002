// `culvert update` as people and scripts meet it: table, progress, exit codes, and what to do next.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import type { UpdateCheck } from '../../../daemon/api/schema.ts';
import { Problem } from '../../../daemon/problem.ts';
import { keepStatusFile } from '../../../daemon/state/status-line.ts';
import { VERSION } from '../../../daemon/system/installation.ts';
import type { Updates } from '../../../daemon/update/update.ts';
import { createHome, culvert, ended, prints, startDaemon, startOnTerminal } from '../../support/daemon/command.ts';

const FOUND: UpdateCheck = {
  ok: true,
  current: '1.0.0',
  channel: 'stable',
  latest: '2.0.0',
  updateAvailable: true,
  manifest: { generatedAt: '2026-11-20T12:00:00.000Z', tag: 'v2.0.0', signed: true, signer: 'release 2026' },
  checkedAt: '2026-11-21T12:00:00.000Z',
  problem: null,
  source: { state: 'ok', lastAnswerAt: null },
  applicable: true,
  command: null,
  previous: null,
  progress: null,
};

async function daemonWith(t: TestContext, updates: Partial<Pick<Updates, 'check' | 'apply' | 'rollback'>>) {
  const home = createHome(t);
  const running = await startDaemon(t, home);
  const { check, apply, rollback } = updates;
  const { handlers } = running.daemon.features;
  if (check) handlers['GET /api/update/check'] = ({ query }) => check(query?.fresh === '1');
  if (apply) handlers['POST /api/update/apply'] = apply;
  if (rollback) handlers['POST /api/update/rollback'] = rollback;
  return { home, state: running.daemon.state };
}

const checking = (t: TestContext, change: Partial<UpdateCheck>, more: Partial<Updates> = {}) =>
  daemonWith(t, { check: async () => ({ ...FOUND, ...change }), ...more });

test('a check is shown as a table, with what to do', async t => {
  const asked: unknown[] = [];
  const { home } = await daemonWith(t, {
    check: async fresh => {
      asked.push(fresh);
      return { ...FOUND, previous: '0.9.0' };
    },
  });
  const { code, stdout } = await culvert(home, ['update', 'check']);
  assert.equal(code, 0);
  assert.equal(
    stdout,
    `Installed  1.0.0
Newest     2.0.0
Channel    stable
Released   2026-11-20 12:00:00, signed by release 2026
Before     0.9.0 (culvert update rollback)
Checked    2026-11-21 12:00:00
Culvert 2.0.0 is out. To install it: culvert update apply
`,
  );
  assert.deepEqual(asked, [true], 'who asks on the command line wants to know it now');
});

test('a check without an answer gives the reason, and fails', async t => {
  const problem = { code: 'expired', detail: 'The release expired at 2026-01-01T00:00:00Z.' };
  const { home } = await checking(t, { latest: null, updateAvailable: false, manifest: null, problem });
  const { code, stdout } = await culvert(home, ['update']);
  assert.equal(code, 1);
  assert.match(stdout, /^Newest +not known$/m);
  assert.match(stdout, /^No answer about newer versions: The release expired at 2026-01-01T00:00:00Z\.$/m);
  const json = await culvert(home, ['update', 'check', '--json']);
  assert.deepEqual([json.code, JSON.parse(json.stdout).problem], [1, problem]);
  const applied = await culvert(home, ['update', 'apply']);
  assert.deepEqual([applied.code, applied.stdout], [1, '']);
  assert.match(applied.stderr, /Nothing was changed: The release expired/);
});

test('an update of a source tree names the command instead of the source that does not answer', async t => {
  const problem = { code: 'network-failed', detail: 'culvert.example cannot be reached.' };
  const { home } = await checking(t, {
    latest: null,
    updateAvailable: false,
    applicable: false,
    problem,
    command: 'git pull',
  });
  const { code, stderr } = await culvert(home, ['update', 'apply']);
  assert.equal(code, 1);
  assert.match(stderr, /not updated by the daemon\.\nRun: git pull\n$/);
});

test('culvert status warns on stderr when updates cannot reach this installation', async t => {
  const { home, state } = await checking(t, {});
  // the launcher prints the status without Node, from the file that the daemon keeps
  keepStatusFile(path.join(home.env.XDG_RUNTIME_DIR!, 'culvert/status'), state, {
    port: () => null,
    isModeKnown: () => true,
  });
  const launcher = path.join(home.path, 'culvert');
  const text = fs.readFileSync('data/bin/culvert.in', 'utf8').replaceAll('@NAME@', 'culvert');
  fs.writeFileSync(launcher, text, { mode: 0o755 });
  const launched = () => spawnSync(launcher, ['status'], { env: home.env, encoding: 'utf8' });
  const said: Record<string, RegExp> = {
    expired: /newest release has expired.*culvert update check/,
    refused: /was refused.*culvert update check/,
    unreachable: /has not answered for a week.*culvert update check/,
  };
  for (const [found, warning] of Object.entries(said)) {
    const source = { state: found as UpdateCheck['source']['state'], lastAnswerAt: null };
    state.set('update', { ...FOUND, source });
    const { stdout, stderr } = await culvert(home, ['status']);
    assert.match(stderr, warning);
    assert.equal(stdout.split('\n').length, 2, 'the status stays one line');
    assert.equal((await culvert(home, ['status', '--json'])).stderr, '');
    const { stdout: line, stderr: printed, status } = launched();
    assert.deepEqual([status, line, printed.replace(/^culvert: /, '')], [0, stdout, stderr.replace(/^culvert: /, '')]);
  }
  state.set('update', FOUND);
  assert.equal((await culvert(home, ['status'])).stderr, '');
  assert.deepEqual([launched().status, launched().stderr], [0, '']);
});

test('an update without a newer release succeeds', async t => {
  const { home } = await checking(t, { latest: '1.0.0', updateAvailable: false, applicable: false });
  const { code, stdout, stderr } = await culvert(home, ['update', 'apply']);
  assert.deepEqual([code, stdout, stderr], [0, 'Culvert 1.0.0 is the newest.\n', '']);
});

test('the command is printed if the daemon does not replace the installation', async t => {
  const { home } = await checking(t, { applicable: false, command: 'sudo apt install ./culvert-2.0.0.deb' });
  assert.match((await culvert(home, ['update'])).stdout, /^Culvert 2\.0\.0 is out\. To install it: sudo apt install /m);
  const { code, stderr } = await culvert(home, ['update', 'apply']);
  assert.equal(code, 1);
  assert.match(stderr, /can't replace itself\.\nRun: sudo apt install \.\/culvert-2\.0\.0\.deb\n$/);
});

test('a refusal is printed with its reason, for people and for programs', async t => {
  const { home } = await checking(
    t,
    {},
    {
      apply: async () => {
        throw new Problem('update-refused', 'culvert-2.0.0.AppImage has another digest.', {
          reason: 'artifact-hash',
          hint: 'Do not use it.',
        });
      },
    },
  );
  const { code, stderr } = await culvert(home, ['update', 'apply']);
  assert.equal(code, 1);
  assert.match(stderr, /culvert: culvert-2\.0\.0\.AppImage has another digest\.\nDo not use it\.\n$/);
  const json = await culvert(home, ['update', 'apply', '--json']);
  assert.equal(json.code, 1);
  const { code: problem, reason } = JSON.parse(json.stdout);
  assert.deepEqual([problem, reason], ['update-refused', 'artifact-hash']);
});

test('on a terminal a bar shows the download, and the command waits until the new version answers', async t => {
  let finish: () => void = () => {};
  const finished = new Promise<void>(resolve => {
    finish = resolve;
  });
  const { home, state } = await checking(
    t,
    {},
    {
      apply: async () => {
        const total = 10 << 20;
        state.publish('update', { ...FOUND, progress: { phase: 'downloading', received: total / 2, total } });
        await finished;
        state.publish('update', { ...FOUND, progress: { phase: 'verifying', received: total, total } });
        return { ok: true, from: '1.0.0', to: VERSION };
      },
    },
  );
  const child = await startOnTerminal(home, ['update', 'apply']);
  await prints(child, 'stdout', /Downloading █{12}░{12} 5\.2 MB of 10\.5 MB/);
  finish();
  const { code, stdout } = await ended(child);
  assert.equal(code, 0, stdout);
  assert.match(
    stdout,
    new RegExp(`Updated from Culvert 1\\.0\\.0 to ${VERSION}\\. To go back: culvert update rollback`),
  );
});

test('a rollback prints the version', async t => {
  const { home } = await checking(t, {}, { rollback: async () => ({ ok: true, from: '2.0.0', to: VERSION }) });
  const { code, stdout } = await culvert(home, ['update', 'rollback']);
  assert.deepEqual([code, stdout], [0, `Went back from Culvert 2.0.0 to ${VERSION}.\n`]);
});

test('a rollback says which changes it reverted, and which still end later', async t => {
  const deadline = { bootId: 'x', uptimeMs: 0, at: '2026-01-01T18:00:00.000Z' };
  const entry = (subject: string, value: unknown, more: object) => ({
    previous: { subject, value },
    value: 'off',
    setAt: '2026-01-01T10:00:00.000Z',
    making: false,
    confirmBy: null,
    endsAt: null,
    ...more,
  });
  const mode = entry('mode', 'warp', { confirmBy: deadline });
  const pause = entry('connection', true, { endsAt: deadline });
  let save = (_: object[]) => {};
  const { home } = await checking(
    t,
    {},
    {
      rollback: async () => {
        save([pause]);
        return { ok: true, from: '2.0.0', to: VERSION };
      },
    },
  );
  const state = path.join(home.path, '.local/state/culvert');
  fs.mkdirSync(state, { recursive: true });
  save = pending => fs.writeFileSync(path.join(state, 'changes.json'), JSON.stringify({ version: 1, pending }));
  save([mode, pause]);
  const { code, stderr } = await culvert(home, ['update', 'rollback']);
  assert.equal(code, 0, stderr);
  assert.match(stderr, /^Reverted, because it was not confirmed: Mode\nStill pending: Back on at 2026-01-01 18:00$/m);
});

test('without a daemon, each command reports that', async t => {
  const home = createHome(t);
  for (const word of ['check', 'apply', 'rollback']) {
    const { code, stderr } = await culvert(home, ['update', word]);
    assert.equal(code, 5, word);
    assert.match(stderr, /daemon is not running\.\nStart it with: culvert/);
  }
});
