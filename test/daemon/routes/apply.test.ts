// A document that is set: as a whole or not at all, with the documents before it kept to go back to.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { openChanges } from '../../../daemon/changes/index.ts';
import { reason } from '../../../daemon/core/errors.ts';
import { Problem } from '../../../daemon/problem.ts';
import { createRoutes } from '../../../daemon/routes/routes-service.ts';
import { paths as pathsOf } from '../../../daemon/system/paths.ts';
import { type MemoryTunnel, memoryTunnel, route } from '../../support/daemon/memory-tunnel.ts';
import { noKillSwitch } from '../../support/daemon/no-killswitch.ts';
import { temporary } from '../../support/temporary.ts';
import { until } from '../../support/until.ts';

/** Daemons over one tunnel and one state directory; `boot` stands for killing one and starting the next. */
function machine(t: TestContext, memory: MemoryTunnel = memoryTunnel()) {
  const paths = pathsOf({ HOME: temporary(t, 'routes') });
  const said: string[] = [];
  const boot = () => {
    const context = { paths, state: memory.state, tunnel: memory.tunnel, say: (line: string) => void said.push(line) };
    const settings = { config: { reminders: { offMinutes: 0 } } };
    const changes = openChanges({ ...context, settings } as never, {
      routes: async () => routes,
      killSwitch: noKillSwitch,
    });
    const routes = createRoutes(context, changes);
    changes.start();
    t.after(() => changes.stop());
    return { routes, changes };
  };
  return { paths, memory, said, boot };
}

const listed = ({ values: { split } }: MemoryTunnel) => [...split.ips, ...split.hosts].map(({ value }) => value).sort();
const many = (count: number, first = 0) =>
  Array.from({ length: count }, (_, at) => `20.${(first + at) >> 8}.${(first + at) & 255}.0/24`);

test('sets a document, reads it back, and reports each step', async t => {
  const { boot, memory } = machine(t);
  const progress: unknown[] = [];
  memory.state.subscribe(({ event, data }) => event === 'routes' && progress.push(data));
  const { routes } = boot();
  const { revision } = await routes.read();
  const document = 'mode exclude\n10.0.0.0/8 # the office\n198.51.100.7\nnew.example\n';
  const found = await routes.preview({ document });
  assert.deepEqual(
    [found.add.map(e => e.value), found.remove.map(e => e.value), found.calls, found.revision],
    [['198.51.100.7', 'new.example'], ['198.18.7.0/24', 'example.com'], 4, revision],
  );
  const applied = await routes.apply({ document, ifRevision: revision, cause: 'import' });
  assert.deepEqual([applied.added, applied.removed], [2, 2]);
  assert.notEqual(applied.revision, revision);
  assert.deepEqual(listed(memory), ['10.0.0.0/8', '198.51.100.7', 'new.example']);
  assert.deepEqual(
    [progress[0], progress.at(-1)],
    [
      { phase: 'applying', done: 0, total: 4 },
      { phase: 'done', done: 4, total: 4 },
    ],
  );
  const read = await routes.read();
  assert.equal(read.document, document, 'comments are kept');
  await assert.rejects(routes.apply({ document, ifRevision: revision }), { code: 'precondition-failed' });
});

test('the same document again changes only its comments', async t => {
  const { boot, memory } = machine(t);
  const { routes } = boot();
  const { document } = await routes.read();
  assert.deepEqual(await routes.apply({ document: `# mine\n${document}` }), {
    ok: true,
    revision: (await routes.read()).revision,
    added: 0,
    removed: 0,
  });
  assert.deepEqual([memory.performed, (await routes.read()).document], [[], `# mine\n${document}`]);
});

test('applies nothing of a document with a wrong line', async t => {
  const { boot, memory } = machine(t);
  await assert.rejects(boot().routes.apply({ document: '10.0.0.0/8\n10.0.0\nx y\n' }), {
    code: 'document-invalid',
    message: /^Line 2: "10\.0\.0" is not an IPv4 address.*1 more lines are wrong\. Nothing was changed\.$/,
  });
  await assert.rejects(boot().routes.apply({ document: 'mode include\n10.0.0.0/8\n' }), { code: 'document-invalid' });
  assert.deepEqual(memory.performed, []);
});

test('says that a list of an organization is read-only, and shows its entries as policy', async t => {
  const { boot, memory } = machine(t);
  memory.state.set('account', { registered: true, type: null, organization: 'acme', managed: true });
  const { routes } = boot();
  const { readOnly, entries } = await routes.read();
  assert.deepEqual([readOnly, entries[0]?.origin], [true, 'policy']);
  for (const change of [routes.apply({ document: '10.0.0.0/8\n' }), routes.undo({})])
    await assert.rejects(change, { code: 'not-authorized', message: /organization/ });
  assert.deepEqual(memory.performed, []);
});

test('goes back one document at a time, also over changes of other programs and restarts', async t => {
  const { boot, memory } = machine(t);
  const first = listed(memory);
  await boot().routes.apply({ document: 'a.example\n', cause: 'edit' });
  memory.values.split = { mode: 'exclude', ips: [], hosts: [route('a.example'), route('outside.example')] };
  await boot().routes.apply({ document: 'b.example\n', cause: 'import' });
  const { routes } = boot();
  await routes.undo({});
  assert.deepEqual(listed(memory), ['a.example', 'outside.example']);
  await routes.undo({});
  assert.deepEqual(listed(memory), ['a.example']);
  await routes.undo({});
  assert.deepEqual(listed(memory), first);
  await assert.rejects(routes.undo({}), { code: 'nothing-to-undo' });
  await routes.apply({ document: 'c.example\n' });
  await routes.undo({});
  assert.deepEqual(listed(memory), first, 'a new document follows the document that undo restored');
  const { documents } = routes.history();
  assert.deepEqual(
    documents.map(({ cause, current }) => [cause, current]),
    [
      ['api', false],
      ['import', false],
      ['outside', false],
      ['edit', false],
      ['outside', true],
    ],
  );
  assert.equal(routes.history(documents[1]!.id).documents[0]?.document, 'b.example\n');
  assert.throws(() => routes.history(99), { code: 'not-found' });
});

test('says which entries a preset added, as long as they are in the list', async t => {
  const { boot } = machine(t);
  const { routes } = boot();
  const document =
    '10.0.0.0/8  # lan, eth0\n172.17.0.0/16  # docker, docker0\n198.51.100.0/24  # dockers of old\na.example\n';
  await routes.apply({ document, cause: 'preset' });
  const origins = async () => (await routes.read()).entries.map(({ value, origin }) => `${value} ${origin}`).sort();
  const before = ['10.0.0.0/8 default', '172.17.0.0/16 preset', '198.51.100.0/24 user', 'a.example user'];
  assert.deepEqual(await origins(), before);
  await routes.apply({ document: 'a.example\n' });
  await routes.undo({});
  assert.deepEqual(await origins(), before);
});

test('keeps the last 20 documents', async t => {
  const { boot } = machine(t);
  const { routes } = boot();
  for (let at = 0; at < 25; at++) await routes.apply({ document: `n${at}.example\n` });
  const { documents } = routes.history();
  assert.deepEqual([documents.length, documents[0]?.current, documents[1]?.undo], [20, true, true]);
});

test('an unconfirmed document returns, with the documents before it', async t => {
  const { boot, memory } = machine(t);
  const before = listed(memory);
  const { routes, changes } = boot();
  await routes.apply({ document: 'a.example\n', confirmWithin: 600 });
  assert.equal(memory.state.snapshot().changes[0]?.subject, 'routes');
  await changes.revert({});
  assert.deepEqual(listed(memory), before);
  assert.deepEqual(
    routes.history().documents.map(({ cause, current }) => [cause, current]),
    [
      ['api', false],
      ['outside', true],
    ],
  );
  await routes.apply({ document: 'b.example\n', confirmWithin: 600 });
  await changes.confirm({});
  assert.deepEqual([listed(memory), memory.state.snapshot().changes], [['b.example'], []]);
});

test('comments survive the undo of a change', async t => {
  const { boot } = machine(t);
  const { routes, changes } = boot();
  const document = 'mode exclude\na.example  # the office\n';
  await routes.apply({ document });
  for (const change of [
    () => changes.runWithLimit({ action: 'addSplitHost', value: 'x.example', confirmWithin: 600 }),
    () => routes.apply({ document: 'b.example\n', confirmWithin: 600 }),
  ]) {
    await change();
    await changes.revert({ subject: 'routes' });
    assert.equal((await routes.read()).document, document);
  }
});

test('a single action on the split tunnel can be reverted too', async t => {
  const { boot, memory } = machine(t);
  const before = listed(memory);
  const { changes } = boot();
  await changes.runWithLimit({ action: 'addSplitHost', value: 'x.example', confirmWithin: 600 });
  await changes.revert({ subject: 'routes' });
  assert.deepEqual(listed(memory), before);
});

for (const [title, actions] of [
  ['one action', [{ action: 'addSplitHost', value: 'x.example' }]],
  ['a reset of all settings', [{ action: 'resetSettings' }]],
  ['a reset', [{ action: 'resetSplitIps' }]],
  [
    'actions that continue one another',
    [
      { action: 'addSplitHost', value: 'x.example' },
      { action: 'addSplitRange', value: '203.0.113.0/24', continues: true },
      { action: 'removeSplitHost', value: 'example.com', continues: true },
    ],
  ],
] as const)
  test(`undo sets the list before ${title}, and another daemon does so as well`, async t => {
    const { boot, memory } = machine(t);
    const before = listed(memory);
    const { changes } = boot();
    for (const action of actions) await changes.runWithLimit(action);
    await boot().routes.undo({});
    assert.deepEqual(listed(memory), before);
  });

test('undo reverts one action at a time, and a document in between counts as well', async t => {
  const { boot, memory } = machine(t);
  const { changes, routes } = boot();
  const lists = [listed(memory)];
  await changes.runWithLimit({ action: 'addSplitHost', value: 'x.example' });
  lists.push(listed(memory));
  await routes.apply({ document: 'a.example\n' });
  lists.push(listed(memory));
  await changes.runWithLimit({ action: 'addSplitHost', value: 'y.example' });
  for (const list of lists.toReversed()) {
    await routes.undo({});
    assert.deepEqual(listed(memory), list);
  }
});

test('5,000 entries: a call that fails in the middle, wherever it is, leaves the list before', async t => {
  const before = ['10.0.0.0/8', ...many(5_000)];
  const document = `${many(2_500, 2_500).join('\n')}\n${many(2_500, 10_000).join('\n')}\n`;
  for (const failing of [1, 2_501, 5_001]) {
    const split = { mode: 'exclude' as const, ips: before.map(route), hosts: [] };
    const { boot, memory, paths } = machine(t, memoryTunnel({ split }));
    const phases = new Set<string>();
    memory.state.subscribe(({ event, data }) => event === 'routes' && phases.add((data as { phase: string }).phase));
    memory.before = (_, number) => {
      if (number === failing) throw new Problem('tunnel-cli-failed', 'No.');
    };
    await assert.rejects(boot().routes.apply({ document }), (error: Problem) => {
      assert.deepEqual([error.code, error.extras.hint], ['tunnel-cli-failed', 'The list is as it was before.']);
      return true;
    });
    assert.deepEqual(listed(memory), [...before].sort(), String(failing));
    assert.deepEqual([phases.has('rolling-back') || failing === 1, existsSync(paths.changes)], [true, false]);
  }
});

test('a change that fails, and whose undo fails, reports both causes', async t => {
  const { boot, memory } = machine(t);
  memory.before = (_, number) => {
    if (number > 1) throw new Problem('tunnel-cli-failed', number === 2 ? 'No change.' : 'No undo.');
  };
  await assert.rejects(boot().routes.apply({ document: 'a.example\nb.example\n' }), (error: Problem) => {
    assert.deepEqual([error.code, error.message, error.notRestored], ['tunnel-cli-failed', 'No change.', true]);
    assert.ok(error.cause instanceof AggregateError);
    assert.deepEqual(error.cause.errors.map(reason), ['No change.', 'No undo.']);
    return true;
  });
});

test('5,000 entries: killed at any call, the next daemon sets the list before, and the one after a rollback that fails', async t => {
  const before = many(5_000);
  const document = many(5_000, 3_000).join('\n');
  for (const killedAt of [2, 3_001, 6_000]) {
    const split = { mode: 'exclude' as const, ips: before.map(route), hosts: [] };
    const { boot, memory, paths } = machine(t, memoryTunnel({ split }));
    memory.before = (_, number) => (number === killedAt ? new Promise(() => {}) : undefined);
    void boot().routes.apply({ document });
    await until(() => memory.performed.length === killedAt);
    memory.before = () => {
      throw new Problem('service-stopped', 'Not yet.');
    };
    boot();
    await until(() => memory.state.snapshot().changes[0]?.problem === 'Not yet.');
    memory.before = () => {};
    boot();
    await until(() => !existsSync(paths.changes));
    assert.deepEqual(listed(memory), [...before].sort(), String(killedAt));
  }
});

test('changes by another program during an apply are corrected', async t => {
  const { boot, memory } = machine(t);
  memory.before = (_, number) => {
    // by then a.example is added, and example.com is to be removed
    if (number === 2)
      memory.values.split = { mode: 'exclude', ips: [route('10.0.0.0/8')], hosts: [route('other.example')] };
  };
  await boot().routes.apply({ document: '10.0.0.0/8\na.example\nb.example\n' });
  assert.deepEqual(listed(memory), ['10.0.0.0/8', 'a.example', 'b.example']);
});

test('refuses 1 MB of junk, names of 300 characters, and marks that turn the direction of text', async t => {
  const { boot, memory } = machine(t);
  const { routes } = boot();
  const junk = Array.from({ length: 40_000 }, (_, at) => `\u202e${at} ${'?'.repeat(18)}`).join('\n');
  assert.ok(junk.length > 1_000_000);
  const cases = [junk, `${'a'.repeat(300)}.example`, '\u200f10.0.0.0/8', '::ffff:10.0.0.1', '10.0.0.0/8\u0000'];
  for (const document of cases) {
    const { invalid, add } = await routes.preview({ document });
    assert.deepEqual([invalid.length > 0, add], [true, []], document.slice(0, 20));
    await assert.rejects(routes.apply({ document }), (error: Problem) => error.toJSON().errors!.length <= 100);
  }
  assert.ok((await routes.preview({ document: '0.0.0.0/0' })).warnings.some(({ code }) => code === 'everything'));
  assert.deepEqual(memory.performed, []);
});
