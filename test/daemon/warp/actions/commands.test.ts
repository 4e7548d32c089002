// Every action must become exactly the command it names, and take nothing but its argument.
import assert from 'node:assert/strict';
import test from 'node:test';
import { ACTION_NAMES, type ActionName, actionRequest } from '../../../../daemon/api/actions.ts';
import { Problem } from '../../../../daemon/problem.ts';
import { isSupported, planAction } from '../../../../daemon/warp/actions/commands.ts';
import { capabilitiesOf, NEWEST } from '../../../../daemon/warp/cli/version.ts';

const LICENSE = 'abcd1234-efgh5678-ijkl9012';
const TOKEN = 'com.cloudflare.warp://acme.cloudflareaccess.com/auth?token=eyJhbGciOi.eyJzdWIi.c2ln-_';

/** action -> [value, command, values that are refused] */
const TABLE: Record<ActionName, [string | undefined, string, string[]]> = {
  connect: [undefined, 'connect', ['now']],
  disconnect: [undefined, 'disconnect', ['']],
  setMode: ['warp+doh', 'mode warp+doh', ['Warp', 'off', 'warp doh', 'warp_doh']],
  setProtocol: ['MASQUE', 'tunnel protocol set MASQUE', ['masque', 'wireguard', 'QUIC']],
  resetProtocol: [undefined, 'tunnel protocol reset', ['MASQUE']],
  enableLocalProxy: [undefined, 'mode proxy', ['40000']],
  acceptTerms: [undefined, '', ['yes']],
  register: [undefined, 'registration new', ['acme']],
  registerOrganization: [
    'acme-team',
    'registration new acme-team',
    ['acme.com', '-acme', 'acme-', 'a b', 'https://acme'],
  ],
  deleteRegistration: [undefined, 'registration delete', ['all']],
  setLicense: [
    LICENSE,
    `registration license ${LICENSE}`,
    ['abcd1234', `${LICENSE}-x`, 'abcd1234_efgh5678_ijkl9012', 'abcd123!-efgh5678-ijkl9012'],
  ],
  setRegistrationToken: [
    TOKEN,
    `registration token ${TOKEN}`,
    [
      'https://acme.cloudflareaccess.com/auth?token=x',
      'com.cloudflare.warp://evil.example/auth?token=x',
      'com.cloudflare.warp://acme.cloudflareaccess.com/auth',
      'com.cloudflare.warp://acme.cloudflareaccess.com.evil.example/auth?token=x',
      `${TOKEN} --accept-tos`,
    ],
  ],
  rotateKeys: [undefined, 'tunnel rotate-keys', ['now']],
  resetSettings: [undefined, 'settings reset', ['all']],
  setEndpoint: [
    '[2606:4700:103::2]:443',
    'tunnel endpoint set [2606:4700:103::2]:443',
    [
      '162.159.198.2',
      '162.159.198.2:0',
      '162.159.198.2:65536',
      '162.159.198.2:0443',
      '2606:4700:103::2:443',
      '[fe80::1%eth0]:443',
      'example.com:443',
      '[162.159.198.2]:443',
      '162.159.198.256:443',
    ],
  ],
  resetEndpoint: [undefined, 'tunnel endpoint reset', ['x']],
  setMasqueOptions: ['h3-with-h2-fallback', 'tunnel masque-options set h3-with-h2-fallback', ['h3', 'H3-ONLY']],
  resetMasqueOptions: [undefined, 'tunnel masque-options reset', ['x']],
  setProxyPort: ['40001', 'proxy port 40001', ['0', '65536', '1e3', '+80', '0x50', '4000 ', '040000', '٤٠']],
  setFamilies: ['malware', 'dns families malware', ['on', 'Off']],
  setGatewayId: ['1a2b3c4d', 'dns gateway-id set 1a2b3c4d', ['a.b', 'a'.repeat(65), 'a/b']],
  resetGatewayId: [undefined, 'dns gateway-id reset', ['x']],
  addFallbackDomain: [
    'corp',
    'dns fallback add corp',
    ['*.corp', 'a..b', '.corp', 'corp.', 'a b', '10.0.0.1', 'ä.de', 'a/b'],
  ],
  removeFallbackDomain: ['home.arpa', 'dns fallback remove home.arpa', ['']],
  resetFallbackDomains: [undefined, 'dns fallback reset', ['x']],
  setDnsLog: ['enable', 'dns log enable', ['on', 'true']],
  addSplitIp: [
    '2001:db8::1',
    'tunnel ip add 2001:db8::1',
    ['10.0.0.0/8', '10.0.0', '010.0.0.1', 'fe80::1%lo', 'localhost', '10.0.0.1 10.0.0.2'],
  ],
  removeSplitIp: ['192.0.2.1', 'tunnel ip remove 192.0.2.1', ['::/0']],
  addSplitRange: [
    '0.0.0.0/0',
    'tunnel ip add-range 0.0.0.0/0',
    ['10.0.0.1', '10.0.0.0/33', '10.0.0.0/08', '2001:db8::/129', '10.0.0.0/', '/8', '10.0.0.0/8/8', '10.0.0.0/-1'],
  ],
  removeSplitRange: ['2001:db8::/32', 'tunnel ip remove-range 2001:db8::/32', ['fe80::1%lo/64']],
  resetSplitIps: [undefined, 'tunnel ip reset', ['x']],
  addSplitHost: [
    '*.example.com',
    'tunnel host add *.example.com',
    [
      '*',
      '*.*.com',
      'a.*.com',
      '*example.com',
      'exa mple.com',
      '192.0.2.1',
      'example.com:443',
      'a.-b.com',
      `${'a'.repeat(64)}.com`,
      `${'a.'.repeat(127)}com`,
    ],
  ],
  removeSplitHost: ['_dmarc.example.com', 'tunnel host remove _dmarc.example.com', ['https://example.com']],
  resetSplitHosts: [undefined, 'tunnel host reset', ['x']],
  addTrustedSsid: [
    'Café am Eck 5G',
    'trusted ssid add Café am Eck 5G',
    ['x'.repeat(33), 'é'.repeat(17), ' padded', 'padded ', 'tab\there'],
  ],
  removeTrustedSsid: ['$(reboot)`;', 'trusted ssid remove $(reboot)`;', ['']],
  resetTrustedSsids: [undefined, 'trusted ssid reset', ['x']],
  setTrustedWifi: ['enable', 'trusted wifi enable', ['yes']],
  setTrustedEthernet: ['disable', 'trusted ethernet disable', ['no']],
  allowLocalNetwork: [undefined, 'override local-network allow', ['1']],
  stopLocalNetwork: [undefined, 'override local-network stop', ['1']],
  setOverrideCode: ['1234567', 'override unlock 1234567', ['show', 'help', '12', '123 456', 'unlock']],
  setVirtualNetwork: [
    'f70ff985-a4ef-4643-bbbc-4a0ed4fc8415',
    'vnet f70ff985-a4ef-4643-bbbc-4a0ed4fc8415',
    ['a b', '../x', '_x'],
  ],
  setEnvironment: ['FedRAMP-High', 'environment set FedRAMP-High', ['a b', 'a/b']],
  resetEnvironment: [undefined, 'environment reset', ['x']],
};

/** Refused by whatever takes a value. */
const HOSTILE = [
  '', '-h', '--help', '--accept-tos', '-', '--', 'connect\n', 'connect\u0000', 'warp\r', '\u001b[31mwarp', 'warp\u202e', '\ufeffwarp',
  'w\u200barp', 'warp\u2028', 'warp\u0085', 'x'.repeat(8193), 'warp\ud800',
]; // biome-ignore format: a table of scraps

for (const name of ACTION_NAMES) {
  const [value, command, refused] = TABLE[name];
  test(`${name} becomes "${command}"`, () => {
    const plan = planAction(actionRequest(name, value), NEWEST);
    assert.equal(plan.argv.join(' '), command);
    if (value !== undefined) assert.ok(plan.argv.includes(value), 'the value is a separate argument');
    assert.ok(plan.timeoutMs >= 10_000 && plan.timeoutMs <= 60_000);
  });

  test(`${name} refuses ${value === undefined ? 'any value' : 'every other value and none'}`, () => {
    const hostile = value === undefined ? [value ?? 'x', ''] : [undefined, ...HOSTILE];
    for (const bad of [...hostile, ...refused]) {
      assert.throws(
        () => planAction(actionRequest(name, bad), NEWEST),
        problem('argument-rejected'),
        JSON.stringify(bad),
      );
    }
  });
}

test('a refusal says what is expected, and does not repeat the value', () => {
  assert.throws(
    () => planAction(actionRequest('setLicense', 'secret-license-key'), NEWEST),
    (error: Problem) => /license key of three groups/.test(error.message) && !error.message.includes('secret'),
  );
});

test('an action re-reads what it can have changed, and connecting neither lists nor account', () => {
  assert.deepEqual(planAction(actionRequest('connect'), NEWEST).changes, ['settings']);
  assert.deepEqual(planAction(actionRequest('addSplitHost', 'a.example'), NEWEST).changes, [
    'settings',
    'splitTunnelHosts',
    'splitTunnelDump',
  ]);
  assert.ok(planAction(actionRequest('register'), NEWEST).changes.includes('registration'));
});

const plans = () => ACTION_NAMES.map(name => ({ name, ...planAction(actionRequest(name, TABLE[name][0]), NEWEST) }));

test('only actions that are pointless without a registration ask for one', () => {
  const asking = plans().flatMap(({ name, registered }) => (registered ? [name] : []));
  assert.deepEqual(asking.sort(), [
    'allowLocalNetwork',
    'connect',
    'disconnect',
    'rotateKeys',
    'setLicense',
    'setOverrideCode',
    'setVirtualNetwork',
    'stopLocalNetwork',
  ]);
});

test('actions that talk to the servers of the vendor may take a minute, and the others 15 s', () => {
  const slow = plans().flatMap(({ name, timeoutMs }) => (timeoutMs === 60_000 ? [name] : []));
  assert.deepEqual(slow.sort(), [
    'deleteRegistration',
    'register',
    'registerOrganization',
    'rotateKeys',
    'setLicense',
    'setRegistrationToken',
  ]);
  const limits = new Set(plans().map(({ timeoutMs }) => timeoutMs));
  assert.deepEqual([...limits].sort(), [15_000, 60_000]);
});

test('only a release that lets consumers choose the protocol, or the HTTP version, supports that', () => {
  const can = capabilitiesOf('2024.9.346')!;
  for (const name of ACTION_NAMES) {
    assert.equal(isSupported(name, NEWEST), true, name);
    assert.equal(isSupported(name, can), !/^(set|reset)(Protocol|MasqueOptions)$/.test(name), name);
  }
  assert.throws(() => planAction(actionRequest('resetProtocol'), can), problem('unsupported-by-cli'));
});

function problem(code: string) {
  return (error: unknown) => error instanceof Problem && error.code === code;
}
