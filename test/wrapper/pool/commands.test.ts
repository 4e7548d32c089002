// `culvert-wrap pool join`, `leave` and `status` as a user meets them.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { freePort } from '../../support/ports.ts';
import { missing, temporary } from '../../support/temporary.ts';
import { type Sandbox, sandbox } from '../../support/wrapper/sandbox.ts';
import { SECRET_TOOL } from '../../support/wrapper/secret-tool.ts';
import { onPort, storeServer } from '../../support/wrapper/store-server.ts';

const server = await storeServer({ after });
await server.client.call('ACL', 'SETUSER', 'ci', 'on', '>open sesame', '~culvert:*', '+@all');

function withConfig(t: { after(end: () => unknown): unknown }, text: string): Sandbox & { file: string } {
  const box = sandbox(t);
  mkdirSync(box.config, { recursive: true, mode: 0o700 });
  const file = join(box.config, 'config.toml');
  writeFileSync(file, text, { mode: 0o600 });
  return { ...box, file };
}

const BEFORE = `# my accounts
[[accounts]]
cli = "firecrawl"
name = "a" # the first
env = { FIRECRAWL_API_KEY = "env:KEY" }

[capacity.firecrawl]
reserve = 5
`;

test('joining and leaving keeps comments and layout, and stores no password', async t => {
  const box = withConfig(t, BEFORE);
  const joined = await box.wrap(['pool', 'join', server.url, '--user', 'ci', '--password', 'env:POOL', '--json'], {
    env: { POOL: 'open sesame' },
  });
  assert.equal(joined.exit, 0, joined.stderr);
  const { ok, address, machine, offline } = JSON.parse(joined.stdout);
  assert.deepEqual([ok, address, offline], [true, server.url, 'refuse']);
  const text = readFileSync(box.file, 'utf8');
  assert.ok(text.startsWith(BEFORE));
  assert.match(text, /\n\[pool\]\nurl = ".*"\nuser = "ci"\npassword = "env:POOL"\nmachine = "machine-[0-9a-f]{8}"\n$/);
  assert.ok(!text.includes('sesame'));

  // options that are not given again stay, but for the login, which belongs to the address
  const again = await box.wrap(['pool', 'join', server.url, '--offline', 'local', '--machines', '4']);
  assert.equal(again.exit, 0, again.stderr);
  assert.match(
    readFileSync(box.file, 'utf8'),
    new RegExp(`\\n\\[pool\\]\\nurl = ".*"\\nmachine = "${machine}"\\noffline = "local"\\nmachines = 4\\n$`),
  );
  assert.equal((await box.wrap(['pool', 'leave'])).stdout, `left the pool at ${server.url}\n`);
  assert.equal(readFileSync(box.file, 'utf8').trimEnd(), BEFORE.trimEnd());
  assert.match((await box.wrap(['pool', 'status'])).stdout, /this machine is in no pool/);
  const twice = await box.wrap(['pool', 'leave']);
  assert.deepEqual([twice.exit, /in no pool/.test(twice.stderr)], [2, true]);
});

test('a password goes into the keyring once it is known to be right, and leaves it with the pool', async t => {
  const box = withConfig(t, BEFORE);
  box.script('secret-tool', SECRET_TOOL);
  const keyring = join(box.home, 'keyring');
  const stored = () =>
    existsSync(keyring) ? readdirSync(keyring).map(name => readFileSync(join(keyring, name), 'utf8')) : [];
  const joined = (input: string, ...args: string[]) =>
    box.wrap(['pool', 'join', server.url, '--user', 'ci', '--password', ...args], {
      input,
      env: { POOL: 'open sesame' },
    });
  assert.deepEqual([(await joined('open sesame\n', 'keyring:')).exit, stored()], [0, ['open sesame']]);
  const wrong = await joined('close sesame\n', 'keyring:');
  assert.deepEqual([wrong.exit, stored()], [78, ['open sesame']]);
  assert.equal((await box.wrap(['pool', 'status'])).exit, 0, 'the pool of before is still joined');
  assert.deepEqual([(await joined('', 'env:POOL')).exit, stored()], [0, []]);
  assert.deepEqual([(await joined('open sesame\n', 'keyring:')).exit, stored()], [0, ['open sesame']]);
  assert.deepEqual([(await box.wrap(['pool', 'leave'])).exit, stored()], [0, []]);
});

test('the password of Sentinels comes from its own source, and is kept apart from that of the store', async t => {
  const [tcp, port] = [freePort(), freePort()];
  const store = await storeServer(t, onPort(tcp));
  await store.client.call('ACL', 'SETUSER', 'ci', 'on', '>of store', '~culvert:*', '+@all');
  const directory = temporary(t, 'sentinel');
  const file = join(directory, 'sentinel.conf');
  writeFileSync(file, `sentinel monitor shared 127.0.0.1 ${tcp} 1\n`);
  const options = onPort(port, '--dir', directory, '--requirepass', 'of sentinel');
  await storeServer(t, options, [file, '--sentinel']);
  const url = `valkey+sentinel://127.0.0.1:${port}/shared`;
  const box = withConfig(t, BEFORE);
  box.script('secret-tool', SECRET_TOOL);
  const keyring = join(box.home, 'keyring');
  const stored = () =>
    existsSync(keyring)
      ? readdirSync(keyring)
          .map(name => readFileSync(join(keyring, name), 'utf8'))
          .sort()
      : [];
  const joinAt = (input: string, ...args: string[]) =>
    box.wrap(['pool', 'join', url, '--user', 'ci', ...args], { input });
  const both = ['--password', 'keyring:', '--sentinel-password', 'keyring:'];
  const joined = await joinAt('of store\nof sentinel\n', ...both);
  assert.deepEqual([joined.exit, stored()], [0, ['of sentinel', 'of store']], joined.stderr);
  assert.equal((await box.wrap(['pool', 'status'])).exit, 0);
  assert.match(readFileSync(box.file, 'utf8'), /sentinel_password = "keyring:"/);
  const swapped = await joinAt('of sentinel\nof store\n', ...both);
  assert.deepEqual([swapped.exit, stored()], [78, ['of sentinel', 'of store']]);
  assert.match(swapped.stderr, /the Sentinels of the pool at \S+ refuse the login\n.*--sentinel-password/);

  writeFileSync(join(box.home, 'keys.env'), 'SENTINEL=of sentinel\n', { mode: 0o600 });
  const fromFile = await joinAt(
    'of store\n',
    '--password',
    'keyring:',
    '--sentinel-password',
    'file:~/keys.env#SENTINEL',
  );
  assert.deepEqual([fromFile.exit, stored()], [0, ['of store']], fromFile.stderr);
  writeFileSync(join(box.home, 'keys.env'), '', { mode: 0o600 });
  const gone = await box.wrap(['pool', 'status']);
  assert.match(gone.stdout + gone.stderr, /the password of the Sentinels .*can't be read/);
  assert.deepEqual([(await box.wrap(['pool', 'leave'])).exit, stored()], [0, []]);
});

test('a failed join leaves the configuration as it was', async t => {
  const box = withConfig(t, BEFORE);
  const cases: [string[], number, RegExp][] = [
    [['redis://ci:open-sesame@h'], 2, /contains a password.*\n.*--password/],
    [[server.url, '--password', 'open-sesame'], 2, /source of the password, not the password itself/],
    [[server.url, '--password', 'env:UNSET_VARIABLE'], 78, /UNSET_VARIABLE is not set/],
    [[server.url, '--sentinel-password', 'open-sesame'], 2, /--sentinel-password is the source/],
    [[server.url, '--sentinel-password', 'env:X'], 2, /sentinel_password is for addresses with \+sentinel/],
    [['valkey+sentinel://h/m', '--sentinel-user', 'x'], 2, /sentinel_user needs sentinel_password/],
    [[server.url, '--offline', 'local'], 2, /needs machines = N/],
    [[server.url, '--offline', 'sometimes'], 2, /can't be joined/],
    [[server.url, '--machines', 'many'], 2, /can't be joined/],
    [[server.url, '--machine', 'a b'], 2, /name of a machine/],
    [[server.url, '--ca', 'missing.pem'], 78, /missing\.pem can't be used: it does not exist/],
    [[server.url, '--ca', '.'], 78, /can't be used: Is a directory/],
    [[server.url, '--ca', '.config/culvert-wrap/config.toml'], 78, /holds no certificate in PEM/],
    [['valkey+unix:///a%zz'], 2, /a "%" in it does not begin a character/],
    [['valkey://us%er@h'], 2, /a "%" in it does not begin a character/],
    [['valkey+unix:///a%00b'], 2, /a "%" in it/],
    [[`valkey+unix://${missing(t)}`], 69, /can't be reached: there is no such socket/],
  ];
  for (const [args, exit, message] of cases) {
    const refused = await box.wrap(['pool', 'join', ...args]);
    assert.equal(refused.exit, exit, `${args}: ${refused.stderr}`);
    assert.match(refused.stderr, message);
    assert.ok(!refused.stderr.includes('open-sesame'), 'a password is not repeated');
  }
  const wrong = await box.wrap(['pool', 'join', server.url, '--user', 'ci', '--password', 'env:POOL'], {
    env: { POOL: 'nothing' },
  });
  assert.deepEqual([wrong.exit, /refuses the login/.test(wrong.stderr)], [78, true]);
  assert.equal(readFileSync(box.file, 'utf8'), BEFORE);
});

test('a [pool] table that is wrong is named with its place', async t => {
  const box = withConfig(t, `${BEFORE}\n[pool]\nurl = "valkey://h"\nmachine = "m"\noffline = "local"\n`);
  const status = await box.wrap(['pool', 'status']);
  assert.equal(status.exit, 78);
  assert.match(status.stderr, /line \d+: pool\.offline: "local" needs machines = N/);
});

test('times that a timer cannot wait are refused', async t => {
  const file = (line: string) => `${BEFORE}\n[pool]\nurl = "${server.url}"\nmachine = "m"\n${line}\n`;
  const box = withConfig(t, '');
  for (const [line, expected] of [
    ['ttl = "0s"', /ttl.*a duration from 1s to 1d/],
    ['ttl = "90d"', /ttl.*a duration from 1s to 1d/],
    ['ttl = "soon"', /ttl.*a duration from 1s to 1d/],
    ['timeout = "0ms"', /timeout.*a duration from 10ms to 10m/],
    ['timeout = "30d"', /timeout.*a duration from 10ms to 10m/],
  ] as const) {
    writeFileSync(box.file, file(line));
    const status = await box.wrap(['pool', 'status']);
    assert.equal(status.exit, 78, line);
    assert.match(status.stderr, expected);
  }
  for (const line of ['ttl = "1s"', 'ttl = "1d"', 'timeout = "10m"']) {
    writeFileSync(box.file, file(line));
    assert.equal((await box.wrap(['pool', 'status'])).exit, 0, line);
  }
});

test('a schema of another version is refused when joining, and for each command', async t => {
  const box = withConfig(t, BEFORE);
  await server.client.set('culvert:{firecrawl}:schema', '9');
  t.after(() => server.client.del('culvert:{firecrawl}:schema'));
  const refused = await box.wrap(['pool', 'join', server.url]);
  assert.equal(refused.exit, 78);
  assert.match(refused.stderr, /has the schema 9, and this version of culvert-wrap knows the schema 1\n.*one version/);
});

test('status survives a damaged pool.json, and shows nothing that moves the cursor', async t => {
  const box = withConfig(t, BEFORE);
  await box.wrap(['pool', 'join', server.url]);
  mkdirSync(box.state, { recursive: true });
  writeFileSync(join(box.state, 'pool.json'), '{"unsent":[1,{"cli":3}],"away":{"x":[]},"waits":"many"');
  await server.client.zadd('culvert:1:{firecrawl}:accounts', 1, 'f1');
  await server.client.hset('culvert:1:{firecrawl}:account:f1', 'name', '\u001b[2Jevil');
  const status = await box.wrap(['pool', 'status']);
  assert.equal(status.exit, 0, status.stderr);
  assert.ok(!status.stdout.includes('\u001b') && status.stdout.includes('?[2Jevil'));
  const unknown = await box.wrap(['pool', 'reset', 'nobody']);
  assert.deepEqual([unknown.exit, /the pool has no account "nobody"/.test(unknown.stderr)], [2, true]);
});

test('the words of `pool` are completed', async t => {
  const box = sandbox(t);
  const words = await box.wrap(['__complete', 'culvert-wrap', 'pool', '']);
  for (const word of ['join', 'leave', 'status', 'leases', 'reset'])
    assert.match(words.stdout, new RegExp(`^${word}$`, 'm'));
});
