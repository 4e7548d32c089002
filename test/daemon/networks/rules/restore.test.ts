// Changes of rules stay pending until they are restored, or known to be the user's: for every subject and failure.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { type NetworkDecision, RuleEffect } from '../../../../daemon/api/networks.ts';
import { Problem } from '../../../../daemon/problem.ts';
import { home, other, stage } from '../../../support/networks/stage.ts';
import { until } from '../../../support/until.ts';

type Stage = ReturnType<typeof stage>;
type Subject = NetworkDecision['effects'][number]['subject'];

interface Ruled {
  /** Line of the rule. */
  line: string;
  read(staged: Stage): unknown;
}

const RULED: Record<Subject, Ruled> = {
  connection: { line: 'warp = "pause"', read: ({ memory }) => memory.values.connected },
  mode: { line: 'mode = "doh"', read: ({ memory }) => memory.values.mode },
  protocol: { line: 'protocol = "WireGuard"', read: ({ memory }) => memory.values.protocol },
  killSwitch: { line: 'kill_switch = true', read: staged => staged.isOn() },
  routes: { line: 'routes = "lan"', read: ({ memory }) => structuredClone(memory.values.split) },
};

/** Makes everything fail, and returns the function that ends it. */
const FAILURES: Record<string, (staged: Stage) => () => void> = {
  'writes fail'({ memory, killSwitch }) {
    const kept = { ...killSwitch };
    const fail = () => {
      throw new Problem('tunnel-cli-failed', 'It fails.');
    };
    memory.before = fail;
    Object.assign(killSwitch, { set: async () => fail(), decide: async () => fail() });
    return () => {
      memory.before = () => {};
      Object.assign(killSwitch, kept);
    };
  },
  'reads fail'(staged) {
    const { memory } = staged;
    memory.readable = false;
    memory.state.set('status', { ...memory.state.snapshot().status, state: 'unknown' });
    const show = unread(staged);
    return () => {
      memory.readable = true;
      show();
      void memory.tunnel.refresh('all');
    };
  },
  'the service hangs'(staged) {
    const { memory, state } = staged;
    const { refresh, runAction } = memory.tunnel;
    const { status } = state.snapshot();
    state.set('status', { ...status, state: 'unknown', blocked: 'service-hangs' });
    const hang = async () => {
      throw new Problem('service-hangs', 'It hangs.');
    };
    Object.assign(memory.tunnel, { refresh: async () => {}, runAction: hang });
    const show = unread(staged);
    return () => {
      Object.assign(memory.tunnel, { refresh, runAction });
      show();
      state.set('status', status);
    };
  },
};

/** As the client publishes a service that can't be read, before it was ever read. */
function unread({ killSwitch }: Stage): () => void {
  const { read } = killSwitch;
  killSwitch.read = async () => ({ ...(await read()), enabled: false, active: null, installed: true });
  return () => {
    killSwitch.read = read;
  };
}

/** A rule that has set a subject at home, which the user has kept. */
async function setUp(t: TestContext, subject: Subject) {
  const staged = stage(t);
  const { line, read } = RULED[subject];
  staged.presets.push({ id: 'lan', entries: [{ value: '192.0.2.0/24', source: 'wlan0' }] });
  const before = read(staged);
  await staged.go(home);
  await staged.networks().set({ document: `[[network]]\nname = "home"\nssid = "Home"\n${line}\n` });
  await staged.networks().answer({ rule: 'home', answer: 'always' });
  if (staged.state.snapshot().changes.length > 0) await staged.changes.confirm({});
  await staged.memory.tunnel.refresh('all');
  const set = read(staged);
  assert.notDeepEqual(set, before);
  return { ...staged, before, set, now: () => read(staged) };
}

for (const subject of RuleEffect.shape.subject.options)
  for (const [title, fail] of Object.entries(FAILURES))
    for (const over of ['', ', over a restart'])
      test(`a revert of ${subject} while ${title} stays pending and is tried again${over}`, async t => {
        const { before, set, now, ...staged } = await setUp(t, subject);
        const end = fail(staged);
        const { reverted, reverting, problem } = await staged.networks().revert();
        assert.deepEqual([reverted, reverting, now()], [false, true, set]);
        assert.ok(problem?.startsWith(`${subject}: `), String(problem));
        assert.equal((await staged.networks().read()).reverting, true);
        if (over) staged.restart();
        end();
        await until(() => staged.state.snapshot().networks?.reverted === true);
        assert.deepEqual(now(), before);
        staged.words();
        assert.deepEqual(await staged.go(home), [], 'no rule acts here anymore');
        const networks = await staged.networks().read();
        assert.deepEqual([networks.reverting, networks.problem], [undefined, null]);
      });

for (const subject of ['connection', 'mode', 'protocol', 'routes'] as const)
  test(`a revert of ${subject} that the daemon's end interrupts goes on at its next start, and no rule acts`, async t => {
    const { before, now, ...staged } = await setUp(t, subject);
    const { memory } = staged;
    const file = staged.paths.networksState;
    let left = '';
    memory.before = () => {
      left ||= readFileSync(file, 'utf8');
      throw new Problem('tunnel-cli-failed', 'The daemon ends here.');
    };
    await staged.networks().revert();
    staged.networks().stop();
    assert.equal(JSON.parse(left).reverting, true, 'on disk before the first value is restored');
    writeFileSync(file, left);
    memory.before = () => {};
    staged.words();
    staged.restart();
    await until(() => staged.state.snapshot().networks?.reverted === true);
    assert.deepEqual(now(), before);
    assert.deepEqual(
      staged.words().filter(word => /^(disconnect|setMode doh|setProtocol WireGuard|addSplit)/.test(word)),
      [],
    );
  });

for (const subject of ['connection', 'mode', 'routes'] as const)
  for (const [title, fail] of Object.entries(FAILURES))
    test(`the protection that a rule lowered (${subject}) returns elsewhere, although ${title} on arrival`, async t => {
      const { before, set, now, ...staged } = await setUp(t, subject);
      const end = fail(staged);
      await staged.go(other);
      assert.deepEqual(now(), set);
      end();
      await until(() => JSON.stringify(now()) === JSON.stringify(before));
    });

test('an administrator who refuses is not asked again, unless the user reverts again', async t => {
  const staged = await setUp(t, 'killSwitch');
  const { killSwitch } = staged;
  const { set } = killSwitch;
  let asked = 0;
  killSwitch.set = async () => {
    asked += 1;
    throw new Problem('killswitch-denied', 'The system does not permit it.');
  };
  assert.equal((await staged.networks().revert()).reverting, true);
  for (let read = 0; read < 5; read++) await staged.networks().read();
  assert.deepEqual([asked, staged.isOn()], [1, true]);
  await staged.networks().revert();
  assert.equal(asked, 2);
  killSwitch.set = set;
  assert.equal((await staged.networks().revert()).reverted, true);
  assert.equal(staged.isOn(), false);
});

test('a kill switch that is off by now needs no administrator, and the revert is complete', async t => {
  const staged = await setUp(t, 'killSwitch');
  const { state, killSwitch } = staged;
  killSwitch.set = async () => {
    throw new Problem('killswitch-denied', 'The system does not permit it.');
  };
  await staged.networks().revert();
  state.set('killSwitch', { ...state.snapshot().killSwitch, enabled: false });
  await until(() => state.snapshot().networks?.reverted === true);
});

test('rules act again on the next network, although a revert is not complete', async t => {
  const staged = await setUp(t, 'mode');
  const end = FAILURES['writes fail']!(staged);
  await staged.networks().revert();
  end();
  await staged.go(other);
  const { reverting, reverted } = await staged.networks().read();
  assert.deepEqual([reverting, reverted, staged.now()], [undefined, false, staged.before]);
});
