// Wrapped commands of a pool whose credentials come from a program, which may mint a new one each time.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type PoolBox, poolBox } from '../../support/wrapper/pool/pool-box.ts';
import { type StoreServer, storeServer } from '../../support/wrapper/store-server.ts';

/** A provider that must not be asked: the tool of these tests prints its credential. */
const NO_API = {
  url: 'http://127.0.0.1:9',
  used: new Map(),
  refused: new Map(),
  questions: new Map(),
  served: new Map(),
};

interface Machine {
  box: PoolBox;
  /** Number of runs of a credential command since the last call. */
  asked(command: string): number;
  /** The account that a run used, by the beginning of its credential. */
  run(): Promise<string>;
}

/**
 * A machine of a pool.
 * @param accounts by name, a source and further lines of the configuration
 */
function machine(
  t: TestContext,
  server: StoreServer,
  accounts: Record<string, string>,
  { capacity = '', fail = '-', failure = 'quota' }: { capacity?: string; fail?: string; failure?: string } = {},
): Machine {
  const names = Object.keys(accounts);
  const keys = Object.fromEntries(names.map(name => [name, `fixed-${name}`]));
  const before = `case "$FAKE_KEY" in ${fail}) echo 'Error: ${failure}' >&2; exit 1 ;; esac\necho "$FAKE_KEY"\nexit`;
  const box = poolBox(t, { url: server.url, api: NO_API }, { usage: false, keys, capacity, before });
  box.provider('other', '[[providers.tool.rules]]\nclass = "auth"\nstderr = "^Error: refused"');
  for (const name of ['mint', 'mint2', 'steady']) {
    const value = name === 'steady' ? 'steady' : `${name}-$(date +%s%N)`;
    box.script(name, `#!/bin/sh\necho x >> "$HOME/asked-${name}"\necho "${value}"\n`);
  }
  const file = join(box.config, 'config.toml');
  let text = readFileSync(file, 'utf8');
  for (const [name, lines] of Object.entries(accounts)) {
    text = text.replace(new RegExp(`(name = "${name}"\n)env = .*\n`), `$1${lines}\n`);
  }
  writeFileSync(file, text);
  return {
    box,
    asked: command => {
      const log = join(box.home, `asked-${command}`);
      const count = existsSync(log) ? readFileSync(log, 'utf8').split('\n').length - 1 : 0;
      rmSync(log, { force: true });
      return count;
    },
    run: async () => {
      const { exit, stdout, stderr } = await box.tool();
      assert.deepEqual([exit, stderr.includes('without')], [0, false], stderr);
      return stdout.split('-')[0]!.trim();
    },
  };
}

const source = (command: string) => `env = { FAKE_KEY = "command:${command}" }`;
const keysIn = async ({ client }: StoreServer) => (await client.keys('*:account:*')).length;

test('a credential that is minted for each run is asked for twice at first and then once', {
  timeout: 60_000,
}, async t => {
  const server = await storeServer(t);
  const { box, asked, run } = machine(t, server, { a: source('mint') });
  const counts: number[] = [];
  for (let i = 0; i < 4; i++) {
    assert.equal(await run(), 'mint');
    counts.push(asked('mint'));
  }
  assert.deepEqual(counts, [2, 1, 1, 1]);
  assert.equal(await keysIn(server), 1);
  assert.ok(!readFileSync(join(box.state, 'pool.json'), 'utf8').includes('mint-'));
});

test('two accounts with minted credentials share their limits by name, on all machines', {
  timeout: 60_000,
}, async t => {
  const server = await storeServer(t);
  const accounts = { a: source('mint'), b: source('mint2') };
  const machines = [0, 1].map(() => machine(t, server, accounts, { fail: 'mint-*' }));
  const [first, second] = machines as [Machine, Machine];
  assert.equal(await first.run(), 'mint2');
  assert.equal(await second.run(), 'mint2');
  assert.deepEqual(
    machines.map(({ asked }) => [asked('mint'), asked('mint2')]),
    [
      [2, 2],
      [2, 2],
    ],
  );
  assert.equal(await first.run(), 'mint2');
  assert.equal(first.asked('mint'), 0, 'the account is paused in the pool');
  assert.equal(await keysIn(server), 2);
});

test('a minted credential together with fixed ones', { timeout: 60_000 }, async t => {
  const server = await storeServer(t);
  const accounts = { a: source('mint'), b: source('steady'), c: 'enabled = true' };
  const { box, asked, run } = machine(t, server, accounts, { capacity: 'strategy = "round-robin"' });
  writeFileSync(
    join(box.config, 'config.toml'),
    readFileSync(join(box.config, 'config.toml'), 'utf8').replace(
      'enabled = true',
      `env = { FAKE_KEY = "file:${box.config}/keys.env#tool_c" }`,
    ),
  );
  const used: string[] = [];
  for (let i = 0; i < 6; i++) {
    used.push(await run());
    assert.ok(asked('mint') <= 2 && asked('steady') <= 2);
  }
  assert.deepEqual(used.sort(), ['fixed', 'fixed', 'mint', 'mint', 'steady', 'steady']);
  assert.equal(await keysIn(server), 3);
});

test('a fixed credential of a program that is replaced once is another account', { timeout: 60_000 }, async t => {
  const server = await storeServer(t);
  const { box, asked, run } = machine(t, server, { a: source('steady'), b: source('mint') }, { fail: 'steady' });
  assert.equal(await run(), 'mint');
  box.script('steady', '#!/bin/sh\necho x >> "$HOME/asked-steady"\necho replaced\n');
  asked('steady');
  await box.wrap(['accounts', 'use', 'tool', 'a']);
  assert.equal(await run(), 'mint', 'a limit of the old credential is not looked into while another account is free');
  await box.wrap(['accounts', 'disable', 'tool', 'b']);
  assert.equal(await run(), 'replaced');
  assert.equal(asked('steady'), 2);
});

test('a credential that changes in a file each time leaves no growing number of keys', { timeout: 60_000 }, async t => {
  const server = await storeServer(t);
  const { box, run } = machine(t, server, { a: 'enabled = true' });
  const text = readFileSync(join(box.config, 'config.toml'), 'utf8');
  const env = `env = { FAKE_KEY = "file:${box.config}/keys.env#tool_a" }`;
  writeFileSync(join(box.config, 'config.toml'), text.replace('enabled = true', env));
  for (let i = 0; i < 8; i++) {
    writeFileSync(join(box.config, 'keys.env'), `tool_a=token-${i}\n`);
    assert.equal(await run(), 'token');
  }
  assert.equal(await keysIn(server), 4, 'three short-lived credentials and the name');
});

test('a declared identity is one account on all machines, whatever its name and credential', {
  timeout: 60_000,
}, async t => {
  const server = await storeServer(t);
  const identity = 'identity = "team-a"';
  const first = machine(t, server, { a: `${source('mint')}\n${identity}`, z: source('mint2') }, { fail: 'mint-*' });
  const second = machine(t, server, { other: `${source('steady')}\n${identity}`, z: source('mint2') });
  assert.equal(await first.run(), 'mint2');
  assert.equal(first.asked('mint'), 1, 'its identity needs no credential');
  assert.equal(await second.run(), 'mint2');
  assert.equal(second.asked('steady'), 0, 'the account is paused for all machines');
  assert.equal(await keysIn(server), 2);
});

test('a refused account that is known by its name is tried again after minutes', { timeout: 60_000 }, async t => {
  const server = await storeServer(t);
  const { box } = machine(t, server, { a: source('mint') }, { fail: 'mint-*', failure: 'refused' });
  assert.equal((await box.tool()).exit, 1);
  const refused = await box.tool();
  assert.equal(refused.exit, 69);
  assert.match(refused.stderr, /"a" is paused for [45] min/);
});

test('two accounts of a tool cannot have one identity', async t => {
  const server = await storeServer(t);
  const same = `${source('mint')}\nidentity = "team-a"`;
  const { box } = machine(t, server, { a: same, b: same });
  const { exit, stderr } = await box.wrap(['status']);
  assert.equal(exit, 78);
  assert.match(stderr, /tool has two accounts with the identity team-a/);
});
