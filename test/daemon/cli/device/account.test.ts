// `culvert account` and `action`: the registration, and secrets that appear nowhere.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { ACTION_NAMES } from '../../../../daemon/api/actions.ts';
import { Problem } from '../../../../daemon/problem.ts';
import { quoted } from '../../../../daemon/view/message.ts';
import {
  createHome,
  culvert,
  ended,
  prints,
  startDaemon,
  startHome,
  startOnTerminal,
  status,
} from '../../../support/daemon/command.ts';

const KEY = 'abcd1234-efgh5678-ijkl9012';

test('account shows the registration and the devices, safe for a terminal', async t => {
  const home = createHome(t);
  const account = {
    ok: true as const,
    registered: true,
    type: 'Team',
    organization: 'acme',
    deviceId: 'd-1',
    accountId: 'a-1',
    license: '****9012',
    managed: true,
    devices: [
      { deviceId: 'd-1', name: 'laptop\x1b]0;x\x07', model: 'X1', os: 'linux', active: true },
      { deviceId: 'd-2', name: null, model: null, os: null, active: false },
    ],
  };
  await startDaemon(t, home, undefined, { tunnel: { account: async () => account } });
  const { stdout } = await culvert(home, ['account']);
  assert.match(stdout, /^Organization {2}acme$/m);
  assert.match(stdout, /^Managed {7}by an organization$/m);
  assert.match(stdout, /^● {2}laptop \]0;x {2}X1, linux {2}d-1$/m);
  assert.match(stdout, /^○ {2}unnamed/m);
  assert.doesNotMatch(stdout, /\x1b|\x07/);
  assert.deepEqual(JSON.parse((await culvert(home, ['account', '--json'])).stdout), account);
});

const seen = { managed: true, organization: 'acme', host: null, evidence: [quoted('mdm.xml has a token')] };
const TOKEN = /service token in \/var\/lib\/cloudflare-warp\/mdm\.xml.*ask your administrator.*mdm\.xml has a token/;
for (const [name, text, registration, expected, isOffered] of [
  ['was never one', 'Daemon Startup', undefined, /^This device is not registered\./, true],
  ['is one that the server does not know', 'Does not exist in API', undefined, /does not know this registration/, true],
  ['was one with a service token', 'Does not exist in API', { ...seen, code: 'token-refused' }, TOKEN, false],
  [
    'should be one with a sign-in',
    'Daemon Startup',
    { ...seen, code: 'sign-in' },
    /register --organization acme/,
    true,
  ],
] as const)
  test(`account says what to do where there ${name}`, async t => {
    const home = createHome(t);
    const nothing = {
      type: null,
      organization: null,
      deviceId: null,
      accountId: null,
      license: null,
      managed: null,
      devices: [],
    };
    const { daemon } = await startDaemon(t, home, undefined, {
      tunnel: { account: async () => ({ ok: true, registered: false, ...nothing }) },
    });
    const reason = { code: 'RegistrationMissing', text: `Registration Missing due to: ${text}` };
    const known = registration && { registration };
    daemon.state.set('status', status('unable', { blocked: 'not-registered', reason, ...known }));
    const { code, stdout, stderr } = await culvert(home, ['account']);
    assert.deepEqual([code, stderr], [0, '']);
    assert.match(stdout.replaceAll('\n', ' '), expected);
    assert.equal(stdout.includes('culvert account register'), isOffered);
  });

test('account says that a device of an organization has a private registration', async t => {
  const home = createHome(t);
  const none = { deviceId: 'd-1', accountId: 'a-1', license: null, devices: [] };
  const account = { ok: true as const, registered: true, type: 'Free', organization: null, managed: false, ...none };
  const { daemon } = await startDaemon(t, home, undefined, { tunnel: { account: async () => account } });
  daemon.state.set('status', status('connected', { registration: { ...seen, code: 'consumer' } }));
  const { stdout } = await culvert(home, ['account']);
  assert.match(
    stdout.replaceAll('\n', ' '),
    /Type +Free.*Registered without your organization.*culvert account delete/,
  );
  assert.deepEqual(JSON.parse((await culvert(home, ['account', '--json'])).stdout), account);
});

test('register, accept-terms and delete perform their action, and delete asks for confirmation', async t => {
  const { home, performed } = await startHome(t);
  await culvert(home, ['account', 'register']);
  await culvert(home, ['account', 'register', '--organization', 'acme']);
  await culvert(home, ['account', 'register', '--organization', 'https://acme.cloudflareaccess.com/']);
  await culvert(home, ['account', 'accept-terms']);
  assert.equal((await culvert(home, ['account', 'delete'])).code, 2);
  await culvert(home, ['account', 'delete', '--yes']);
  assert.deepEqual(performed, [
    ['register', undefined],
    ['registerOrganization', 'acme'],
    ['registerOrganization', 'acme'],
    ['acceptTerms', undefined],
    ['deleteRegistration', undefined],
  ]);
});

test('delete asks on a terminal, and only yes is yes', async t => {
  const { home, performed } = await startHome(t);
  for (const [answer, count] of [
    ['n\r', 0],
    ['\r', 0],
    ['\x03', 0],
    ['\x04', 0],
    ['y\r', 1],
  ] as const) {
    const child = await startOnTerminal(home, ['account', 'delete']);
    await prints(child, 'stdout', /\[y\/N\] /);
    child.stdin.write(answer);
    const { code } = await ended(child);
    assert.deepEqual([code, performed.length], [count ? 0 : 1, count]);
  }
});

for (const [words, action] of [
  [['account', 'license'], 'setLicense'],
  [['account', 'token'], 'setRegistrationToken'],
  [['action', 'setOverrideCode'], 'setOverrideCode'],
] as const) {
  test(`${words.join(' ')} reads its secret from a pipe and prints it nowhere`, async t => {
    const { home, performed } = await startHome(t);
    const { code, stdout, stderr } = await culvert(home, [...words], `${KEY}\n`);
    assert.equal(code, 0);
    assert.deepEqual(performed, [[action, KEY]]);
    assert.ok(!(stdout + stderr).includes(KEY));
  });
}

test('a secret typed on a terminal is not shown, can be corrected, and is not in the command line', async t => {
  const home = createHome(t);
  let commandLines = '';
  const { performed } = await startDaemon(t, home, () => {
    commandLines = readFileSync(`/proc/${child.pid}/cmdline`, 'utf8');
    return undefined;
  });
  const child = await startOnTerminal(home, ['account', 'license']);
  await prints(child, 'stdout', /not shown\): /);
  child.stdin.write(`wrong\x15${KEY}x\x7f\r`);
  const { code, stdout } = await ended(child);
  assert.equal(code, 0);
  assert.deepEqual(performed, [['setLicense', KEY]]);
  assert.match(commandLines, /license/);
  assert.ok(!commandLines.includes(KEY));
  assert.doesNotMatch(stdout, /abcd|wrong/);
});

test('arrow keys do not end up in a hidden secret', async t => {
  const { home, performed } = await startHome(t);
  const child = await startOnTerminal(home, ['account', 'license']);
  await prints(child, 'stdout', /not shown\): /);
  const [up, down, right, end, del] = ['\x1b[A', '\x1b[B', '\x1b[C', '\x1b[F', '\x1b[3~'];
  child.stdin.write(`${up}${KEY.slice(0, 5)}${right}${down}${KEY.slice(5)}${del}${end}\r`);
  const { code, stdout } = await ended(child);
  assert.equal(code, 0);
  assert.deepEqual(performed, [['setLicense', KEY]]);
  assert.doesNotMatch(stdout, /abcd|bcd1/);
});

for (const [title, keys] of [
  ['Ctrl+D at an empty prompt changes nothing, and after text it submits nothing', ['\x04', 'abc\x04\x03']],
  ['Ctrl+C at the prompt changes nothing', ['abc\x03']],
] as const)
  test(title, async t => {
    const { home, performed } = await startHome(t);
    for (const typed of keys) {
      const child = await startOnTerminal(home, ['account', 'license']);
      await prints(child, 'stdout', /not shown\): /);
      child.stdin.write(typed);
      const { code } = await ended(child);
      assert.deepEqual([code, performed], [130, []]);
    }
  });

test('no secret, more than one line, and a secret on the command line are wrong usage', async t => {
  const { home, performed } = await startHome(t);
  for (const input of ['', '\n', ' \n', 'one\ntwo\n'])
    assert.equal((await culvert(home, ['account', 'license'], input)).code, 2);
  for (const words of [
    ['account', 'license', KEY],
    ['action', 'setLicense', KEY],
  ]) {
    const { code, stderr } = await culvert(home, words);
    assert.equal(code, 2);
    assert.ok(!stderr.includes(KEY), stderr);
  }
  assert.deepEqual(performed, []);
});

test('action performs any action with its value and refuses what the table does not know', async t => {
  const { home, performed } = await startHome(t);
  assert.equal((await culvert(home, ['action', 'setProxyPort', '40001'])).code, 0);
  assert.deepEqual(performed, [['setProxyPort', '40001']]);
  for (const [words, why] of [
    [['setproxyport', '1'], /Did you mean setProxyPort\?/],
    [['toString'], /There is no action "toString"/],
    [['connect', 'now'], /connect takes no value/],
    [['setProxyPort'], /setProxyPort needs a value: PORT/],
  ] as const) {
    const { code, stderr } = await culvert(home, ['action', ...words]);
    assert.equal(code, 2);
    assert.match(stderr, why);
  }
});

test('actions lists every action of the contract', async t => {
  const home = createHome(t);
  const { stdout } = await culvert(home, ['actions']);
  assert.deepEqual(
    stdout
      .trim()
      .split('\n')
      .map(line => line.split(' ')[0]),
    [...ACTION_NAMES],
  );
});

test('an argument that the daemon rejects is wrong usage', async t => {
  const home = createHome(t);
  await startDaemon(t, home, () => {
    throw new Problem('argument-rejected', 'The value of setProxyPort was refused: expected a port from 1 to 65535.');
  });
  const { code, stderr } = await culvert(home, ['action', 'setProxyPort', '0']);
  assert.equal(code, 2);
  assert.match(stderr, /expected a port from 1 to 65535/);
});
