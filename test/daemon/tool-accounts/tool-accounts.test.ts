// The accounts of culvert-wrap behind the API: a real store, changed by the real program.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { ToolAccounts, ToolAccountsChange } from '../../../daemon/api/accounts.ts';
import type { Problem } from '../../../daemon/problem.ts';
import { createState, type Published } from '../../../daemon/state/store.ts';
import { createToolAccounts } from '../../../daemon/tool-accounts/tool-accounts.ts';
import { parseRefresh, wordsFor } from '../../../daemon/tool-accounts/wrapper.ts';
import { pathsFor } from '../../../wrapper/store/paths.ts';
import { updateState } from '../../../wrapper/store/state.ts';
import { updateGateway } from '../../../wrapper/store/tokens.ts';
import { until } from '../../support/until.ts';
import { buildWrapper, sandbox } from '../../support/wrapper/sandbox.ts';

const KEY = 'sk-canary-4711';

function setUp(t: TestContext, { leaseMs = 60_000 } = {}) {
  const box = sandbox(t);
  const bundle = buildWrapper();
  const program = box.script('culvert-wrap', `#!/bin/sh\nexec '${process.execPath}' '${bundle}' "$@"\n`);
  box.script('fake', '#!/bin/sh\necho ok\n');
  box.provider('fake', 'inject = ["FAKE_KEY"]\nscope = "team"\naccounts = "per-team"\nterms_read = "2026-11-01"');
  const state = createState({ available: true, path: null, version: null, emulated: false });
  const events: Published[] = [];
  state.subscribe(event => event.event === 'accounts' && events.push(event));
  const catalog = join(bundle, '../providers.toml');
  // the user's own catalog makes `fake` known; nothing else of the shipped one is on this PATH
  const env = { ...box.env, PATH: `${box.bin}:/usr/bin:/bin` };
  const accounts = createToolAccounts({ env, state }, { program, catalog, leaseMs });
  t.after(() => accounts.stop());
  const fake = (found = accounts.read()) => found.tools.find(({ cli }) => cli === 'fake')!;
  const add = (name: string, credentials = [KEY]) =>
    accounts.change({ change: 'add', cli: 'fake', name, credentials, store: 'file' });
  return { box, accounts, events, fake, add, state };
}

test('adds, selects, disables and removes accounts, and never shows a key', async t => {
  const { box, accounts, events, fake, add } = setUp(t);
  assert.deepEqual(fake().accounts, []);
  assert.deepEqual([fake().variables, fake().scope, fake().terms.accounts], [['FAKE_KEY'], 'team', 'per-team']);
  await add('team-a');
  const reply = await add('team-b', ['sk-canary-4712']);
  assert.deepEqual(
    fake(reply).accounts.map(({ name, enabled, default: first, sources }) => [name, enabled, first, sources]),
    [
      ['team-a', true, true, ['file']],
      ['team-b', true, false, ['file']],
    ],
  );
  assert.equal(readFileSync(join(box.config, 'secrets/fake.env'), 'utf8').includes(KEY), true, 'it is stored');
  const change = (what: 'use' | 'disable' | 'enable' | 'remove', name: string) =>
    accounts.change({ change: what, cli: 'fake', name });
  const first = (found: ToolAccounts) => fake(found).accounts.find(account => account.default)?.name;
  assert.equal(first(await change('use', 'team-b')), 'team-b');
  assert.equal(first(await change('disable', 'team-b')), 'team-a');
  assert.equal(first(await change('enable', 'team-b')), 'team-b');
  await change('remove', 'team-a');
  assert.deepEqual(
    fake().accounts.map(({ name }) => name),
    ['team-b'],
  );
  const seen = JSON.stringify([events, reply, accounts.read()]);
  assert.equal(/canary/.test(seen), false, 'no reply and no event has a key');
  for (const { data } of events) ToolAccounts.parse(data);
  assert.ok(events.length >= 6 && events.every(({ event }) => event === 'accounts'));
});

test('changes the order of use, and replaces a key without losing the account', async t => {
  const { box, accounts, fake, add } = setUp(t);
  for (const name of ['a', 'b', 'c']) await add(name, [`sk-${name}`]);
  assert.equal(fake().order, 'list');
  const order = (...names: string[]) => accounts.change({ change: 'order', cli: 'fake', names });
  const listed = (found: ToolAccounts) => fake(found).accounts.map(({ name, default: first }) => [name, first]);
  const reply = await order('c', 'a', 'b');
  assert.deepEqual(listed(reply), [
    ['c', true],
    ['a', false],
    ['b', false],
  ]);
  for (const names of [
    ['c', 'a'],
    ['c', 'a', 'b', 'b'],
    ['c', 'a', 'x'],
  ])
    await assert.rejects(order(...names), {
      code: 'wrapper-refused',
      extras: { reason: 'account-order', hint: 'accounts: c, a, b.' },
    });
  const key: ToolAccountsChange = {
    change: 'add',
    cli: 'fake',
    name: 'a',
    credentials: ['sk-new'],
    store: 'file',
    replace: true,
  };
  assert.deepEqual(listed(await accounts.change(key)), listed(reply));
  assert.match(readFileSync(join(box.config, 'secrets/fake.env'), 'utf8'), /a\/FAKE_KEY=sk-new/);
});

test('says what decides the order of use', t => {
  const { box, fake } = setUp(t);
  box.accounts('fake', { a: 'k1', b: 'k2' });
  box.configure('[capacity.fake]\nstrategy = "soonest-reset"\n');
  assert.equal(fake().order, 'soonest-reset');
  box.configure('[tools.fake]\nfailover = false\n');
  assert.equal(fake().order, 'default');
});

test('a run’s next account is the wrapper’s, and only with a shim', async t => {
  const { box, accounts, fake } = setUp(t);
  box.accounts('fake', { a: 'k1', b: 'k2' });
  assert.deepEqual([fake().shim, fake().next], ['installed', 'a']);
  await accounts.change({ change: 'disable', cli: 'fake', name: 'a' });
  assert.equal(fake().next, 'b');
  box.configure('[tools.fake]\nprefer = "own"\n');
  assert.equal(fake().next, null, 'the tool’s own login comes first');
  box.configure('');
  await accounts.change({ change: 'uninstall', cli: 'fake' });
  assert.equal(fake().next, null, 'without a shim, no account is used');
});

test('a key is replaced only in Culvert’s own store, and a figure from before a reset is not in the sum', async t => {
  const { box, add, fake } = setUp(t);
  await add('mine');
  box.accounts('fake', { theirs: 'k1' });
  const stored = Object.fromEntries(fake().accounts.map(account => [account.name, account.stored]));
  assert.deepEqual(stored, { mine: true, theirs: false });
  const at = Date.now();
  const day = 86_400_000;
  updateState(pathsFor(box.env), 'fake', state => {
    const figures = { remaining: 5, limit: 9, used: 4 };
    state.remaining.mine = { ...figures, at, resets: new Date(at + day).toISOString() };
    state.remaining.theirs = { ...figures, at: at - 2 * day, resets: new Date(at - day).toISOString() };
  });
  assert.deepEqual(fake().total, { remaining: 5, limit: 9, used: 4 });
});

test('gives culvert-wrap’s own words for what it refuses', async t => {
  const { accounts, add } = setUp(t);
  await add('team-a');
  await assert.rejects(add('team-a'), {
    code: 'wrapper-refused',
    message: 'fake already has an account "team-a".',
    extras: { reason: 'account-exists', hint: 'give --replace to change its credential.' },
  });
  await assert.rejects(add('team-b', ['one', 'two']), { code: 'wrapper-refused' });
  await assert.rejects(accounts.change({ change: 'use', cli: 'fake', name: 'nobody' }), {
    code: 'wrapper-refused',
    extras: { reason: 'unknown-account', hint: 'accounts: team-a.' },
  });
  await assert.rejects(accounts.change({ change: 'install', cli: 'no-such-tool' }), { code: 'wrapper-refused' });
});

test('reports a program that is missing, and a program that prints no JSON', async t => {
  const { box } = setUp(t);
  const state = createState({ available: true, path: null, version: null, emulated: false });
  const with_ = (program: string) => createToolAccounts({ env: box.env, state }, { program, catalog: '/dev/null' });
  await assert.rejects(with_(join(box.bin, 'missing')).change({ change: 'install', cli: 'fake' }), {
    code: 'wrapper-failed',
    message: /could not be started/,
  });
  const broken = box.script('broken', `#!/bin/sh\ncat >&2\nexit 70\n`);
  const adding = { change: 'add' as const, cli: 'fake', name: 'a', credentials: [KEY], store: 'file' as const };
  await assert.rejects(with_(broken).change(adding), (error: Problem) => {
    assert.equal(error.code, 'wrapper-failed');
    return !JSON.stringify([error, error.message]).includes(KEY);
  });
});

test('installs and removes shims', async t => {
  const { box, accounts, fake, state } = setUp(t);
  const bin = join(box.bin, 'fake');
  assert.deepEqual([fake().shim, fake().path], ['none', bin]);
  assert.equal(state.snapshot().toolAccounts.offered, true);
  assert.deepEqual(fake(await accounts.change({ change: 'install', cli: 'fake' })).shim, 'installed');
  box.script('fake', '#!/bin/sh\necho upgraded\n');
  assert.deepEqual([fake().shim, fake().path], ['replaced', bin]);
  await accounts.change({ change: 'install', cli: 'fake' });
  assert.equal(fake(await accounts.change({ change: 'uninstall', cli: 'fake' })).shim, 'none');
  assert.equal((await box.run('fake')).stdout, 'upgraded\n');
});

test('shows remaining quotas, pauses, shared quotas and the last runs', async t => {
  const { box, fake } = setUp(t);
  box.accounts('fake', { a: 'k1', b: 'k2', c: 'k3' });
  assert.equal((await box.run('fake', ['crawl', '--secret', KEY])).exit, 0);
  const now = Date.now();
  const left = (remaining: number, identity: string) => ({
    remaining,
    limit: 1000,
    used: 1000 - remaining,
    resets: '2031-01-31',
    at: now,
    identity,
  });
  mkdirSync(join(box.state, 'accounts'), { recursive: true });
  const hour = 3_600_000;
  writeFileSync(
    join(box.state, 'accounts/fake.json'),
    JSON.stringify({
      remaining: { a: left(400, 'team-1'), b: left(400, 'team-1'), c: left(250, 'team-2') },
      paused: { c: { class: 'quota', until: now + hour, since: now }, b: { class: 'auth', until: null, since: now } },
      history: {
        c: [
          { at: now - hour, remaining: 500 },
          { at: now, remaining: 250 },
        ],
      },
    }),
  );
  const { accounts: listed, total, runs } = fake();
  assert.deepEqual(total, { remaining: 650, limit: 2000, used: 1350 }, 'a shared quota counts once');
  assert.deepEqual(
    listed.map(({ sharedWith }) => sharedWith),
    [['b'], ['a'], []],
  );
  assert.deepEqual(listed[1]!.paused, { class: 'auth', until: null });
  assert.deepEqual(listed[2]!.paused, { class: 'quota', until: new Date(now + hour).toISOString() });
  assert.equal(listed[2]!.emptyAt, new Date(now + hour).toISOString());
  assert.deepEqual(
    runs.map(({ command, account, outcome }) => [command, account, outcome]),
    [['crawl', 'a', 'ok']],
  );
});

test('asks the providers on request, and says which could not be asked', async t => {
  const { box, accounts, events } = setUp(t);
  box.script('asks', '#!/bin/sh\necho ok\n');
  const usage = `status_command = '[ "$ASKS_KEY" = good ] && echo "{\\"remaining\\": 7, \\"limit\\": 9}"'`;
  box.provider('asks', `inject = ["ASKS_KEY"]\n${usage}`);
  box.accounts('asks', { a: 'good', b: 'bad' }, 'ASKS_KEY');
  const reply = await accounts.change({ change: 'refresh' });
  const asked = reply.tools.find(({ cli }) => cli === 'asks')!;
  assert.deepEqual(
    asked.accounts.map(({ remaining, problem }) => [remaining, problem !== null]),
    [
      [7, false],
      [null, true],
    ],
  );
  assert.deepEqual(
    events.map(({ data }) => (data as ToolAccounts).refreshing).filter((value, i, all) => value !== all[i - 1]),
    [true, false],
  );
});

test('publishes changes of other processes, but only after a request', async t => {
  const { box, accounts, events, fake } = setUp(t, { leaseMs: 1 });
  const watches = () => process.getActiveResourcesInfo().filter(name => name === 'FSEvent').length;
  assert.equal(watches(), 0, 'nothing is watched before the first request');
  const unfollow = accounts.follow();
  assert.equal(events.length, 1, 'a follower starts with the present value');
  box.accounts('fake', { a: 'k1' });
  await until(() => events.some(({ data }) => fake(data as ToolAccounts)?.accounts.length === 1));
  const paths = pathsFor(box.env);
  const served = { requests: 1, refused: 0, used: 2, lastAt: 1, lastAccount: 'a' };
  updateGateway(paths, 'fake', gateway => {
    gateway.tokens.push({ name: 'agent', digest: 'a'.repeat(64), created: 1, ...served });
  });
  await until(() => events.some(({ data }) => fake(data as ToolAccounts)?.consumers[0]?.account === 'a'));
  accounts.read();
  unfollow();
  await until(() => watches() === 0, 'the store is no longer watched');
});

test('says why accounts can’t be shown', t => {
  const { box, accounts } = setUp(t);
  writeFileSync(join(box.config, 'config.toml'), '[[accounts]]\ncli = 3\n');
  const { tools, problem } = accounts.read();
  assert.deepEqual(tools, []);
  assert.match(problem!, /config\.toml can't be used: .*; correct the file/);
});

test('the words of each change hold no credential', () => {
  const at = { cli: 'fake', name: 'a' };
  const cases: [ToolAccountsChange, string][] = [
    [{ change: 'refresh' }, 'status --json'],
    [{ change: 'use', ...at }, 'accounts use fake a --json'],
    [{ change: 'wake', ...at }, 'accounts wake fake a --json'],
    [{ change: 'install', cli: 'fake' }, 'install fake --json'],
    [{ change: 'uninstall', cli: 'fake' }, 'uninstall fake --json'],
    [{ change: 'add', ...at, credentials: [KEY], store: 'keyring' }, 'accounts add fake a --json'],
    [{ change: 'add', ...at, credentials: [KEY], store: 'file' }, 'accounts add fake a --json --file'],
    [
      { change: 'add', ...at, credentials: [KEY], store: 'keyring', replace: true },
      'accounts add fake a --json --replace',
    ],
    [{ change: 'order', cli: 'fake', names: ['b', 'a'] }, 'accounts order fake b a --json'],
  ];
  for (const [change, words] of cases) assert.equal(wordsFor(change).join(' '), words);
  const refused = [
    { change: 'use', cli: 'fake', name: '--file' },
    { change: 'use', cli: '-x', name: 'a' },
    { change: 'add', ...at, credentials: ['two\nlines'], store: 'file' },
    { change: 'add', ...at, credentials: [''], store: 'file' },
    { change: 'use', ...at, extra: 1 },
    { change: 'order', cli: 'fake', names: [] },
    { change: 'order', cli: 'fake', names: ['a', '--file'] },
  ];
  for (const change of refused) assert.equal(ToolAccountsChange.safeParse(change).success, false);
  assert.deepEqual(parseRefresh({ clis: 3 }), new Map());
});
