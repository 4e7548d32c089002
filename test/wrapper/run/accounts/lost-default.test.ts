// The default account of a place, and all ways to lose it: another account never replaces it silently.
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { type Sandbox, sandbox } from '../../../support/wrapper/sandbox.ts';
import { PLACES } from '../../../support/wrapper/shipped.ts';

const stateOf = (box: Sandbox, cli: string) => path.join(box.state, `accounts/${cli}.json`);

/** Ways to lose what the state knows, or the account itself, and what runs afterwards. */
const LOSSES: { what: string; lose: (box: Sandbox, cli: string) => unknown; runs: 'c' | 'none' }[] = [
  { what: 'nothing', lose: () => {}, runs: 'c' },
  { what: 'a state that is deleted', lose: (box, cli) => fs.rmSync(stateOf(box, cli)), runs: 'c' },
  { what: 'a state that is damaged', lose: (box, cli) => fs.writeFileSync(stateOf(box, cli), '{"defa'), runs: 'c' },
  {
    what: 'a directory of states that is gone',
    lose: box => fs.rmSync(path.join(box.state, 'accounts'), { recursive: true }),
    runs: 'c',
  },
  { what: 'a default that is removed', lose: (box, cli) => box.wrap(['accounts', 'remove', cli, 'c']), runs: 'none' },
  {
    what: 'a default that is removed, and then the state',
    lose: async (box, cli) => {
      await box.wrap(['accounts', 'remove', cli, 'c']);
      fs.rmSync(stateOf(box, cli));
    },
    runs: 'none',
  },
  { what: 'a default that is disabled', lose: (box, cli) => box.wrap(['accounts', 'disable', cli, 'c']), runs: 'none' },
];

async function withDefault(t: Parameters<typeof sandbox>[0], cli: string, script = 'echo "$KEY"'): Promise<Sandbox> {
  const box = sandbox(t);
  box.script(cli, `#!/bin/sh\n${script}\n`);
  // some names can't be variables of a shell
  box.provider(cli, 'inject = ["KEY"]');
  for (const name of ['a', 'b', 'c'])
    assert.equal((await box.wrap(['accounts', 'add', cli, name, '--file'], { input: `key-${name}\n` })).exit, 0);
  box.install(cli);
  return box;
}

for (const [index, cli] of PLACES.entries()) {
  // each tool loses its default in two ways; together they are all
  const losses = LOSSES.filter((_, place) => place % 4 === index % 4);
  test(`${cli}: the first account is the default, and after ${losses.map(({ what }) => what).join(', or ')} no other runs without a word`, async t => {
    for (const { what, lose, runs } of losses) {
      const box = await withDefault(t, cli);
      assert.equal((await box.shim(cli, ['deploy'])).stdout, 'key-a\n', what);
      await box.wrap(['accounts', 'default', cli, 'c']);
      assert.equal((await box.shim(cli, ['deploy'])).stdout, 'key-c\n', what);
      await lose(box, cli);
      const { exit, stdout, stderr } = await box.shim(cli, ['deploy']);
      if (runs === 'c') {
        assert.deepEqual([exit, stdout], [0, 'key-c\n'], `${what}: ${stderr}`);
        continue;
      }
      assert.deepEqual([exit, stdout], [69, ''], `${what}: ${stderr}`);
      assert.match(stderr, /its default account is disabled, removed or not known.*\n.*use NAME` selects one \(a, b\)/);
      assert.match((await box.wrap(['explain', cli, 'deploy'])).stdout, /nothing runs: its default account/);
      const list = await box.json('accounts', 'list');
      assert.doesNotMatch(JSON.stringify(list), /"default":true/);
      assert.equal((await box.shim(cli, ['deploy'], { env: { CULVERT_WRAP_ACCOUNT: 'b' } })).stdout, 'key-b\n', what);
      await box.wrap(['accounts', 'default', cli, 'b']);
      assert.equal((await box.shim(cli, ['deploy'])).stdout, 'key-b\n', what);
    }
  });
}

test('a default of an earlier version, which only the state had, is not replaced when that is damaged', async t => {
  const box = sandbox(t);
  box.script('vercel', '#!/bin/sh\necho "$VERCEL_TOKEN"\n');
  box.accounts('vercel', { a: 'key-a', b: 'key-b' }, 'VERCEL_TOKEN');
  assert.equal((await box.shim('vercel', ['deploy'])).stdout, 'key-a\n');
  fs.mkdirSync(path.dirname(stateOf(box, 'vercel')), { recursive: true });
  fs.writeFileSync(stateOf(box, 'vercel'), '{"default":"b","jobs":');
  for (const again of ['first', 'second']) {
    const { exit, stdout } = await box.shim('vercel', ['deploy']);
    assert.deepEqual([exit, stdout], [69, ''], again);
  }
});

test('with failover the default moves, so that the configuration does not hold it', async t => {
  const refusing = '[ "$KEY" = key-b ] || { echo "Error: Not authorized" >&2; exit 1; }\necho "$KEY"';
  const box = await withDefault(t, 'vercel', refusing);
  box.configure('[tools.vercel]\nfailover = true\n');
  assert.equal((await box.shim('vercel', ['deploy'])).stdout, 'key-b\n');
  const { stderr, stdout } = await box.shim('vercel', ['deploy']);
  assert.deepEqual([stdout, stderr], ['key-b\n', '']);
});
