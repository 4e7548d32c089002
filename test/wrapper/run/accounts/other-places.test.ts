// A refused or unreadable credential, where another account is another set of things: nothing moves to it without the user.
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { loadCatalog } from '../../../../wrapper/catalog/catalog.ts';
import { missing } from '../../../support/temporary.ts';
import { type Sandbox, sandbox } from '../../../support/wrapper/sandbox.ts';

const shipped = fileURLToPath(new URL('../../../../wrapper/catalog/providers.toml', import.meta.url));
const { providers } = loadCatalog(shipped, missing({ after }));

/** Entries of places that would move on, were another account not another set of things. */
const PLACES = Object.entries(providers)
  .filter(
    ([, { account_is: is, accounts, rules }]) => is === 'place' && accounts !== 'one-per-person' && rules.length > 0,
  )
  .map(([cli]) => cli);

const RULES = `account_is = "place"
inject = ["KEY"]
[[providers.fake.rules]]
class = "auth"
stderr = "^refused"
[[providers.fake.rules]]
class = "quota"
stderr = "^used up"
[[providers.fake.rules]]
class = "rate"
stderr = "^slow down"
`;

/** Writes the key of each run down. */
const SCRIPT = `#!/bin/sh
echo "$KEY $*" >> "$HOME/calls"
echo "out of $KEY"
case $KEY in
  bad*) echo "$(cat "$HOME/answer")" >&2; exit 3 ;;
esac
`;

const calls = (box: Sandbox) => fs.readFileSync(path.join(box.home, 'calls'), 'utf8').trim().split('\n');

function withPlace(t: Parameters<typeof sandbox>[0], answer = 'refused') {
  const box = sandbox(t);
  box.script('fake', SCRIPT);
  fs.writeFileSync(path.join(box.home, 'answer'), answer);
  box.provider('fake', RULES);
  box.accounts('fake', { customer: 'bad-c', private: 'good-p' }, 'KEY');
  return box;
}

for (const [answer, text] of [
  ['refused', 'was refused (auth)'],
  ['used up', 'has no quota left (quota'],
] as const) {
  test(`"${answer}" ends a command with 69, shows the answer, names \`use\`, and the next command stays with the account`, async t => {
    const box = withPlace(t, answer);
    for (const named of [undefined, 'customer']) {
      const result = await box.run('fake', ['deploy'], { env: { CULVERT_WRAP_ACCOUNT: named } });
      assert.deepEqual([result.exit, result.stdout], [69, 'out of bad-c\n'], result.stderr);
      const [shown, line, ...more] = result.stderr.trim().split('\n');
      assert.deepEqual([shown, more], [answer, []]);
      assert.ok(line!.startsWith(`culvert-wrap: fake: account "customer" ${text}`), line);
      assert.match(
        line!,
        /another account is another set of things.*`fake accounts use NAME` selects one \(customer, private\)$/,
      );
    }
    assert.deepEqual(calls(box), ['bad-c deploy', 'bad-c deploy']);
    await box.wrap(['accounts', 'default', 'fake', 'private']);
    assert.equal((await box.run('fake', ['deploy'])).stdout, 'out of good-p\n');
  });
}

test('a rate limit keeps the exit status of the tool, and leads to no other account either', async t => {
  const box = withPlace(t, 'slow down');
  const result = await box.run('fake', ['deploy']);
  assert.equal(result.exit, 3);
  assert.deepEqual(calls(box), ['bad-c deploy']);
});

test('the user can have failover', async t => {
  const box = withPlace(t);
  fs.appendFileSync(path.join(box.config, 'config.toml'), '[tools.fake]\nfailover = true\n');
  const result = await box.run('fake', ['deploy']);
  assert.deepEqual([result.exit, result.stdout], [0, 'out of good-p\n']);
  assert.deepEqual(calls(box), ['bad-c deploy', 'good-p deploy']);
});

test('a credential that cannot be read, as in a locked keyring, ends the command with 69 and runs no other account', async t => {
  const box = withPlace(t);
  box.script('secret-tool', '#!/bin/sh\nexit 1\n');
  const config = path.join(box.config, 'config.toml');
  const text = fs.readFileSync(config, 'utf8');
  for (const source of ['keyring:', 'command:exit 1', 'env:NOT_SET', `file:${missing(t)}#K`]) {
    fs.writeFileSync(config, text.replace(/"file:[^"]*#fake_customer"/, JSON.stringify(source)));
    const result = await box.run('fake', ['deploy']);
    assert.deepEqual([result.exit, result.stdout], [69, ''], source);
    assert.match(
      result.stderr,
      /the account can't be used \(customer: KEY from [^\n]*\)\n[^\n]*`fake accounts use NAME` selects one/,
    );
  }
  assert.equal(fs.existsSync(path.join(box.home, 'calls')), false);
});

test('no shipped entry of a place moves on from a refused credential', async t => {
  assert.ok(PLACES.includes('wrangler') && PLACES.includes('npm') && PLACES.length >= 8, PLACES.join());
  for (const cli of PLACES) {
    const box = sandbox(t);
    box.script(cli, SCRIPT);
    fs.writeFileSync(path.join(box.home, 'answer'), 'refused');
    box.provider(cli, `inject = ["KEY"]\nrules = [{ class = "auth", stderr = "^refused" }]`);
    box.accounts(cli, { customer: 'bad-c', private: 'good-p' }, 'KEY');
    for (const command of ['deploy', 'publish']) {
      const result = await box.run(cli, [command]);
      assert.equal(result.exit, 69, `${cli}: ${result.stderr}`);
    }
    assert.deepEqual(calls(box), ['bad-c deploy', 'bad-c publish'], cli);
    const { how } = JSON.parse((await box.wrap(['explain', cli, 'deploy', '--json'])).stdout);
    assert.equal(how, 'with one account only: another account is another set of things', cli);
  }
});
