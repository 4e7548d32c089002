// Forms in which a bundle may hold something private, by class: what is replaced, and what no pattern can tell.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRedactor } from '../../../../daemon/doctor/diagnose/redact.ts';

const NAMES = ['canaryhost', 'Zo\u00eb Canarysdottir', 'Canary Caf\u00e9 5G'];
const redactor = createRedactor({ names: NAMES.map(text => ({ kind: 'user', text })), public: ['162.159.197.0/24'] });
const SECRET = 'xK7canary9qP2';

/** Forms by class. Nothing of them may be left, and what is around them stays. */
const REPLACED: Record<string, readonly string[]> = {
  'a name broken by a line': ['canaryhos\nt', 'canar\r\n  yhost', 'Zo\u00eb Canar\nysdottir', 'Canary Ca\nf\u00e9 5G'],
  'a name in a string of JSON in JSON, broken by a line': [JSON.stringify('canary\nhost')],
  'a name before digits': ['canaryhost2', 'Canary Caf\u00e9 5G2'],
  'a name with something else for its blank': [
    ...['_', '-', '.', ''].map(blank => `Canary${blank}Caf\u00e9${blank}5G`),
    'zo\u00ebcanarysdottir.example',
    '=?utf-8?Q?Canary_Caf=C3=A9_5G?=',
  ],
  'a host without a domain, in an address': [
    'http://canary:8080/x',
    'smb://canary/share',
    'http:\\/\\/canary\\/x',
    'http://canary.',
    'http://u:p@canary/x',
    'https%3A%2F%2Fcanary%2Fx',
    '\\\\canary\\share',
    JSON.stringify('\\\\canary\\share$'),
  ],
  'a name in mail and in HTML': ['Zo=C3=AB Canarysdottir', 'Zo&#235; Canarysdottir', 'Canary Caf&#xe9; 5G'],
  'an address of mail': [
    '"canary person"@example.org',
    'canary@localmachine',
    'canary@[203.0.113.9]',
    'canary@[2001:db8::ca]',
    'canary.person@\nexample.org',
  ],
  'a home': ['~canary/file', '/home/canary', '/media/canary/disk'],
  'a key with a mark': [
    `warp-cli registration token ${SECRET}`,
    `token=${SECRET}`,
    `Cookie: a=${SECRET}`,
    ...['pass=', 'psk=', 'api-key=', '--token ', '--license ', '\nX-Api-Key: ', '\npwd: ', 'PrivateKey = '].map(
      mark => mark + SECRET,
    ),
    `{"auth":"${SECRET}"}`,
    `github_pat_${SECRET}`,
    `xoxe-${SECRET}`,
    `-----BEGIN PRIVATE KEY-----\n${SECRET}\n-----END PRIVATE KEY-----`,
  ],
  'the end of a key': [`MII${SECRET}canary\n-----END PRIVATE KEY-----`],
  'a key that a line breaks': [`canary${'A'.repeat(16)}\n${'A'.repeat(20)}=`],
  'a long key without a mark': ['A1b2C3d4E5f6canaryJ9k0L1m2', 'canary0123456789-_abcdefABCDEF01'],
  'an identifier': ['deadbeefcafe01234567', 'deadbeef_cafe_4a77_8b77_000000000001'],
  'an address with zeros': ['203.000.113.077'],
  'an address in the name of a machine': [
    'ip-203-0-113-77',
    'ec2-203-0-113-77.example',
    'a_203_0_113_77',
    '203.0.113.77_x',
  ],
  'a MAC address by blanks, or without zeros': ['02 ca 4a 7f 00 01', '2:ca:4a:7f:0:1'],
};
const TRACE = /canar|yhost|ysdottir|caf|5G|deadbeef|xK7|113|4a.7f/i;

for (const [name, forms] of Object.entries(REPLACED))
  test(`a bundle has nothing left of ${name}`, () => {
    for (const form of forms) {
      const clean = redactor.text(`: ${form}\n!`);
      assert.doesNotMatch(clean.replace(/<[a-z-]+-\d+>/g, ''), TRACE, `${form} became ${clean}`);
      assert.match(clean, /^:.*!$/s, `${form} became ${clean}`);
    }
  });

test('a bundle keeps what only looks like something private', () => {
  for (const plain of [
    'veth0@if5: mtu 1500',
    'kernel 6.1.0-18-amd64',
    'commit 02ca4a7f0001',
    'systemd-networkd-wait-online.service',
    'CF_HAPPY_EYEBALLS_MITM_FAILURE',
    '2026-11-21T10:00:00.000Z',
    'QuicConnectionTimeoutIdle',
    '0000000000000000',
    'hosts a and b\nc',
    'The registration token is invalid',
    'bypass=true',
    '--token=',
    'http://localhost:4173/ and http://<host-1>:80',
    'socks5://127.0.0.1:40000',
    'https://www.cloudflare.com/cdn-cgi/trace',
    JSON.stringify({ stdout: JSON.stringify('\nfirst\nsecond') }),
    'from 2026-11-25-10 to 12:34:56',
    '162-159-197-3 and 10 20 30 40 50 60',
  ])
    assert.equal(redactor.text(plain), plain);
});

test('a bundle leaves what no pattern can tell, as culvert-doctor(1) and its first lines say', () => {
  for (const left of [
    'hunter2',
    'xK7canary9qP2',
    'canarynas',
    '3405803853',
    '[203,0,113,77]',
    '02ca4a7f0001',
    'canary-corp.log',
    'https://github.com/canary/private',
  ])
    assert.equal(redactor.text(left), left);
});

test('redaction leaves versions, times, loopback, file names and vendor hosts alone', () => {
  const redactor = createRedactor({ names: [], public: ['162.159.197.0/24'] });
  for (const kept of [
    '2026-11-21T10:00:00.000Z',
    'warp-cli 2026.8.2100.0',
    '127.0.2.2:53',
    '0.0.0.0',
    '::1',
    '162.159.197.3:443',
    '/etc/systemd/resolved.conf',
    'warp-svc.service',
    'https://www.cloudflare.com/cdn-cgi/trace',
    'org.freedesktop.resolve1',
    'CF_DNS_PROXY_FAILURE',
    '10:23:59',
  ])
    assert.equal(redactor.text(kept), kept);
  assert.equal(redactor.text('fe80::1%eth0 and 8.8.8.8, 8.8.8.8 again'), '<lan-ip-1>%eth0 and <ip-1>, <ip-1> again');
});

test('names are replaced in every form in which an output holds them', () => {
  const names = ['Casa "Canary" 5G', 'Z\u00e9b\\Back', 'T&C <Canary>', 'id', 'a', 'key'];
  const redactor = createRedactor({ names: names.map(text => ({ kind: 'ssid', text })), public: [] });
  for (const name of names) {
    const json = JSON.stringify({ list: [name] });
    const forms = [name, json, JSON.stringify({ stdout: `x\\n${json}` }), JSON.stringify(`first\n${name}\nlast`)];
    if (name.length > 3) forms.push(encodeURIComponent(name), json.replaceAll('\u00e9', '\\u00e9'));
    for (const form of forms) {
      const text = redactor.text(form);
      for (const left of name.length > 3 ? ['Canary', 'Back'] : [])
        assert.ok(!text.includes(left), `${form} became ${text}`);
      assert.match(text, /<ssid-\d+>/, form);
      assert.ok(
        !text
          .replace(/<[a-z-]+-\d+>/g, '')
          .split(/[^a-zA-Z]+/)
          .includes(name),
        `${form} became ${text}`,
      );
    }
  }
  // words that only contain a short name, and names of properties, stay
  assert.equal(redactor.text('idea, Id, kid, data'), 'idea, Id, kid, data');
  assert.deepEqual(redactor.value({ id: 'x', at: 'id' }), { id: 'x', at: redactor.text('id') });
  // nor is a name found in what replaced another
  assert.equal(redactor.text('198.51.100.7 id'), `<ip-1> ${redactor.text('id')}`);
});

test('names, addresses and secrets are replaced in the encodings of other programs', () => {
  const names = ['canaryhost', 'Canary Caf\u00e9 5G', 'Canary:Colon'];
  const redactor = createRedactor({ names: names.map(text => ({ kind: 'ssid', text })), public: [] });
  const percent = (text: string) => [...Buffer.from(text)].map(code => `%${code.toString(16)}`).join('');
  for (const text of [
    ...names.flatMap(name => [
      percent(name),
      encodeURIComponent(encodeURIComponent(name)),
      encodeURIComponent(name).replaceAll('%20', '+'),
      Buffer.from(name).toString('base64'),
      Buffer.from(name).toString('hex'),
      name.normalize('NFD'),
      name.replaceAll(' ', '\n'),
    ]),
    'Canary Caf\\303\\251 5G',
    'Canary\\x20Caf\\xc3\\xa9\\x205G',
    'Canary\\:Colon',
    'canary.person%40example.org',
    'c\u00e1nary@b\u00fcro-canary.example',
    'https://a.b/?next=https%3A%2F%2Fcanary.example%2F',
    'canary.m\u00fcller.example',
    '.canary-corp.example',
    '@canary-corp.example',
    'http://bob:canary@canary@proxy',
    'http:\\/\\/bob:canary@proxy',
    '?token=canary-secret',
    'API_KEY=canary-secret',
    'Authorization: Bearer canary-secret',
    '<key>auth_client_secret</key>\n  <string>canary &amp; secret</string>',
    '"Set-Cookie": "session=canary"',
    '"Cookie":"canary"',
    '/media/canary/USB',
    'ghp_canary1234567890abcdefABCDEF123456',
  ]) {
    const clean = redactor.text(`before ${text} after`);
    assert.match(clean, /^before .*(?:<[a-z]+-\d+>|\[redacted\]).* after$/s, text);
    assert.doesNotMatch(clean, /canary|nary|\b5G|%63|Y2FuYX|63616e|c3/i, `${text} became ${clean}`);
  }
  for (const text of [
    '2001:db8:ca4a:7::1: no route',
    'address:2001:db8:ca4a:7::1',
    '2001:db8:ca4a:7:0:0:0:1:443',
    '2001:db8:ca4a:7::1.443',
    '2001%3Adb8%3Aca4a%3A7%3A%3A1',
    '::ffff:203.0.113.77',
    'host_203.0.113.77',
    '02ca.4a7f.0001',
    '02\\:ca\\:4a\\:7f\\:00\\:01',
    'dev_02_CA_4A_7F_00_01',
    'wlx02ca4a7f0001',
    'mac=02ca4a7f0001',
    'HWaddr 02CA4A7F0001',
    '"bssid": "02ca4a7f0001"',
    'mac_address: 02ca4a7f0001',
  ]) {
    const clean = redactor.text(`before ${text} after`);
    assert.match(clean, /^before .*<(?:lan-)?(?:ip|mac)-\d+>.* after$/, `${text} became ${clean}`);
    assert.doesNotMatch(clean, /ca4a|4a7f|4A_7F|\.113|\.77/, `${text} became ${clean}`);
  }
  const secrets = { token: 'short', auth_client_secret: 'short', password: '', tokens: 3 };
  assert.deepEqual(Object.values(redactor.value(secrets)).slice(2), ['', 3]);
  assert.ok(!JSON.stringify(redactor.value(secrets)).includes('short'));
  for (const line of [
    'Cookie: a=canary; b=canary',
    '< set-cookie:\tx="canary"; path=/',
    'cookie: canaryhost; b=canary',
  ])
    assert.doesNotMatch(redactor.text(`before\n${line}\nafter`), /canary|path/, line);
  assert.equal(redactor.text('Cookie: a=canary\nafter'), 'Cookie: [redacted]\nafter');
  assert.match(redactor.value({ hwaddr: '02ca4a7f0001' }).hwaddr, /^<mac-\d+>$/);
  for (const plain of [
    'commit 02ca4a7f0001',
    'machine 02ca4a7f0001',
    '100%',
    '100%25',
    'a%20b',
    'disconnected',
    'deadbeef',
    '12:34:56',
    '::',
    'a::b::c',
    'culvert 1.2.3',
    'exit code=5',
  ])
    assert.equal(redactor.text(`before ${plain} after`), `before ${plain} after`);
});

test('secrets of base64url, and domains that end as files do, are replaced', () => {
  const redactor = createRedactor({ names: [], public: [] });
  for (const secret of [
    'aB3-'.repeat(10),
    `${'Qx_9'.repeat(12)}==`,
    'canary-corp.so',
    'www.canary.target',
    'canary.list',
  ])
    assert.match(redactor.text(`before ${secret} after`), /^before <(?:key|host)-\d+> after$/, secret);
  for (const plain of ['libssl.so', 'multi-user.target', '/etc/apt/sources.list', 'culvert.service', 'a-'.repeat(30)])
    assert.equal(redactor.text(`before ${plain} after`), `before ${plain} after`);
});
