// Changes that are to be confirmed, by the real root service: deadlines, restarts, permissions, and a kill at each
// operation on its files.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { alive } from '../../support/daemon/fake-cli.ts';
import { FILE_CALLS, type FileOperation, fileOperations } from '../../support/file-operations.ts';
import { attachStrace, killingAt } from '../../support/killswitch/load/strace.ts';
import { missing, onStage, type Stage, shippedAnd, stageFor, which } from '../../support/killswitch/stage.ts';
import { FULL } from '../../support/thoroughness.ts';
import { until } from '../../support/until.ts';

const [NOBODY, BIN] = [65534, 2];
const NARROW = shippedAnd();
const within = (seconds: number, allowLan = false) => [
  'ba(ssaq)u',
  String(allowLan),
  ...NARROW.slice(2),
  String(seconds),
];

async function done(stage: Stage, method: string, args: readonly string[] = [], uid = 0): Promise<void> {
  const { ok, text } = await stage.call(method, args, uid);
  assert.ok(ok, `${method}: ${text}`);
}

onStage('turned on for a moment, it is off again at its deadline, and stays on once it is confirmed', async stage => {
  await stage.serve();
  await done(stage, 'TryEnable', within(6));
  const { confirmBy, previous } = stage.state()!.unconfirmed!;
  assert.notEqual(await stage.table(), null);
  assert.equal(existsSync(stage.path('state/rules.nft')), false, 'the boot guard would load it');
  assert.equal(statSync(stage.path('state/trial.json')).mode & 0o777, 0o600);
  assert.deepEqual([previous, stage.state()?.bootGuard], [{ enabled: false, allowLan: false }, false]);
  await until(async () => (await stage.table()) === null);
  assert.ok(Date.now() >= Date.parse(confirmBy) - 100);
  await until(() => stage.state()?.unconfirmed === null && stage.state()?.enabled === false);
  assert.equal(existsSync(stage.path('state/trial.json')), false);
  assert.match((await stage.call('Confirm')).text, /NothingPending: /);

  await done(stage, 'TryEnable', within(600));
  await done(stage, 'Confirm');
  assert.deepEqual([stage.state()?.unconfirmed, stage.state()?.bootGuard], [null, true]);
  assert.match(readFileSync(stage.path('state/rules.nft'), 'utf8'), /^# culvert kill switch 1 /);
});

onStage('killed and started again it goes on to the same deadline, or returns where that is over', async stage => {
  await stage.serve();
  await done(stage, 'TryEnable', within(12));
  const { confirmBy } = stage.state()!.unconfirmed!;
  await stage.kill();
  await stage.serve();
  assert.ok(Math.abs(Date.parse(stage.state()!.unconfirmed!.confirmBy) - Date.parse(confirmBy)) < 100);
  assert.notEqual(await stage.table(), null);
  await stage.kill();
  await until(() => Date.now() > Date.parse(confirmBy) + 50);
  assert.notEqual(await stage.table(), null, 'nobody is there to take it back');
  await stage.serve();
  assert.deepEqual([await stage.table(), stage.state()?.enabled, stage.state()?.unconfirmed], [null, false, null]);
});

onStage('a reboot reverts an unconfirmed change', async stage => {
  const reboot = async () => {
    await stage.kill();
    await stage.clear();
    const file = stage.path('state/trial.json');
    writeFileSync(file, readFileSync(file, 'utf8').replace(/"bootId":"[^"]+"/, '"bootId":"another"'));
    if (existsSync(stage.path('state/rules.nft'))) await stage.nft('-f', stage.path('state/rules.nft'));
    await stage.serve();
  };
  await stage.serve();
  await done(stage, 'TryEnable', within(600));
  await reboot();
  assert.deepEqual([await stage.table(), stage.state()?.enabled], [null, false]);
  await done(stage, 'Enable', NARROW);
  const before = await stage.table();
  for (const [method, args] of [
    ['TryEnable', within(600, true)],
    ['TryDisable', ['u', '600']],
  ] as const) {
    await done(stage, method, args);
    assert.notEqual(await stage.table(), before);
    await reboot();
    assert.deepEqual([await stage.table(), stage.state()?.enabled], [before, true], method);
    assert.equal(stage.state()?.unconfirmed, null);
  }
});

onStage('turned off for a moment, it blocks again though the service is dead and stays so', async stage => {
  await stage.serve();
  await done(stage, 'Enable', NARROW);
  await done(stage, 'TryDisable', ['u', '2']);
  assert.equal(await stage.table(), null);
  await stage.kill();
  await until(async () => (await stage.table()) !== null);
  assert.match(readFileSync(stage.path('timers'), 'utf8'), /^start culvert-killswitch-resume@\d+\.timer 2000000$/m);
  await stage.serve();
  assert.deepEqual([stage.state()?.enabled, stage.state()?.active, stage.state()?.unconfirmed], [true, true, null]);
});

onStage('who made the change decides about it without being asked again; others need an administrator', async stage => {
  await stage.serve();
  assert.match((await stage.call('TryEnable', within(600), NOBODY)).text, /Denied: /);
  stage.allow('enable');
  await done(stage, 'TryEnable', within(600), NOBODY);
  for (const method of ['Confirm', 'Revert']) assert.match((await stage.call(method, [], BIN)).text, /Denied: /);
  assert.match((await stage.call('TryDisable', ['u', '600'], NOBODY)).text, /Denied: /);
  const { unconfirmed } = stage.state()!;
  assert.match((await stage.call('TryEnable', within(600), BIN)).text, /Denied: /, 'it would take the change over');
  assert.deepEqual(stage.state()!.unconfirmed, unconfirmed);
  assert.match((await stage.call('Pause', ['u', '5'])).text, /Unconfirmed: /);
  const asked = readFileSync(stage.path('questions'), 'utf8');
  await done(stage, 'Confirm', [], NOBODY);
  assert.equal(readFileSync(stage.path('questions'), 'utf8'), asked, 'nobody was asked');
  assert.deepEqual(
    asked
      .trim()
      .split('\n')
      .map(line => line.replace('org.culvert.killswitch.', '')),
    [
      `system-bus-name ${NOBODY} enable 1`,
      `system-bus-name ${NOBODY} enable 1`,
      `system-bus-name ${BIN} disable 1`,
      `system-bus-name ${BIN} disable 1`,
      `system-bus-name ${NOBODY} disable 1`,
      `system-bus-name ${BIN} disable 1`,
    ],
  );
  assert.match((await stage.call('TryDisable', ['u', '600'], NOBODY)).text, /Denied: /);
  stage.allow('enable', 'disable');
  await done(stage, 'TryDisable', ['u', '600'], NOBODY);
  stage.allow('enable');
  await done(stage, 'Revert', [], NOBODY);
  assert.deepEqual([stage.state()?.enabled, stage.state()?.active], [true, true]);
});

interface Case {
  title: string;
  /** The rules in force before: off, or on. */
  previous: readonly string[] | null;
  attempt: readonly [method: string, ...args: string[]];
  act: 'begin' | 'Confirm' | 'Revert';
}
const ATTEMPTS = [
  ['turned on', null, ['TryEnable', ...within(600)]],
  ['opened to the local network', NARROW, ['TryEnable', ...within(600, true)]],
  ['turned off', NARROW, ['TryDisable', 'u', '600']],
] as const;
const CASES: Case[] = ATTEMPTS.flatMap(([title, previous, attempt]) =>
  (['begin', 'Confirm', 'Revert'] as const).map(act => ({ title: `${title}, ${act}`, previous, attempt, act })),
);
/** Each attempt and each act once in a short run. */
const TRIED = CASES.filter((_, index) => FULL || index % 4 === 0);

test('killed at any operation on its files, it has the old value or the new one, and the old one still returns', {
  skip: missing || (which('strace') ? false : 'needs strace'),
  timeout: 900_000,
}, async t => {
  const stage = await stageFor(t);
  await stage.serve();
  const points: { of: Case; at: FileOperation }[] = [];
  const values = new Map<Case, { old: string | null; tried: string | null }>();
  for (const each of TRIED) {
    const old = await begin(stage, each);
    points.push(...(await operations(stage, each)).map(at => ({ of: each, at })));
    await begin(stage, each, 'tried');
    values.set(each, { old, tried: await stage.table() });
  }
  let hits = 0;
  // in a short run one operation of each case, at another place in each
  const chosen = TRIED.flatMap((of, index) => {
    const own = points.filter(point => point.of === of);
    return FULL ? own : own.slice(Math.floor((index * own.length) / TRIED.length)).slice(0, 1);
  });
  for (const { of, at } of chosen) {
    const label = `${of.title}, killed at ${at.call} ${at.ordinal}`;
    await begin(stage, of, of.act === 'begin' ? 'old' : 'tried');
    if (!(await killAt(stage, of, at))) continue;
    hits++;
    const { old, tried } = values.get(of)!;
    await stage.serve();
    const state = stage.state()!;
    const now = await stage.table();
    assert.ok(now === old || now === tried, `${label}: ${now}`);
    assert.equal(state.active, now !== null, label);
    if (state.unconfirmed) {
      assert.equal(now, tried, label);
      await done(stage, 'Revert');
      assert.equal(await stage.table(), old, label);
    } else if (of.act !== 'Confirm') assert.equal(now, old, label);
    assert.equal(existsSync(stage.path('state/trial.json')), false, label);
    assert.equal(existsSync(stage.path('state/rules.nft')), (await stage.table()) !== null, label);
  }
  t.diagnostic(`${hits} kills at ${chosen.length} of ${points.length} operations`);
  assert.ok(hits >= chosen.length / 2, `${hits} of ${chosen.length}`);
});

/** Sets what is there before, and what is tried where that is wanted. @returns the old table */
async function begin(stage: Stage, { previous, attempt }: Case, value: 'old' | 'tried' = 'old') {
  if (stage.state()?.pid == null) await stage.serve();
  await done(stage, previous ? 'Enable' : 'Disable', previous ?? []);
  const old = await stage.table();
  if (value === 'tried') await done(stage, attempt[0], attempt.slice(1));
  return old;
}

function perform(stage: Stage, { act, attempt }: Case) {
  return act === 'begin' ? stage.call(attempt[0], attempt.slice(1)) : stage.call(act);
}

async function operations(stage: Stage, each: Case): Promise<FileOperation[]> {
  if (each.act !== 'begin') await done(stage, each.attempt[0], each.attempt.slice(1));
  const log = stage.path('operations');
  const detach = await attachStrace(stage, stage.state()!.pid, ['-y', '-e', `trace=${FILE_CALLS}`, '-o', log]);
  const { ok, text } = await perform(stage, each);
  await detach();
  assert.ok(ok, text);
  return fileOperations(log, stage.path('state'), 'changes');
}

async function killAt(stage: Stage, each: Case, { call, ordinal }: FileOperation): Promise<boolean> {
  const { pid } = stage.state()!;
  // the service's main thread writes
  const detach = await attachStrace(stage, pid, killingAt(call, ordinal));
  await perform(stage, each);
  await detach();
  return !alive(pid!);
}
