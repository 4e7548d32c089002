// Forms in which a bundle may hold something private, by class: what is replaced, and what no pattern can tell.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRedactor } from '../../../daemon/doctor/diagnose/redact.ts';

const NAMES = ['canaryhost', 'Zo\u00eb Canarysdottir', 'Canary Caf\u00e9 5G'];
const redactor = createRedactor({ names: NAMES.map(text => ({ kind: 'user', text })), public: [] });
const SECRET = 'xK7canary9qP2';

/** Forms by class. Nothing of them may be left, and what is around them stays. */
const REPLACED: Record<string, readonly string[]> = {
  'a name broken by a line': ['canaryhos\nt', 'canar\r\n  yhost', 'Zo\u00eb Canar\nysdottir', 'Canary Ca\nf\u00e9 5G'],
  'a name in a string of JSON in JSON, broken by a line': [JSON.stringify('canary\nhost')],
  'a name before digits': ['canaryhost2', 'Canary Caf\u00e9 5G2'],
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
};
const TRACE = /canar|yhost|ysdottir|caf|5G|deadbeef|xK7|113/i;

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
  ])
    assert.equal(redactor.text(plain), plain);
});

test('a bundle leaves what no pattern can tell, as SECURITY.md and its first lines say', () => {
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
