// The policy file as it lies there: what WARP makes of it, whether an organization manages the machine, and what is wrong.
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  faultsOf,
  hasToken,
  judgePolicy,
  NO_POLICY,
  readPolicyFile,
} from '../../../../daemon/warp/parse/policy-file.ts';
import { temporary } from '../../../support/temporary.ts';

const id = '<key> auth_client_id </key><string>a.access</string>';
const secret = '<key>auth_client_secret</key>\r\n<string>s</string>';
const acme = '<key>organization</key><string>acme</string>';
const root = process.getuid?.() ?? 0;

/** Judges a file with this text. */
function judged(t: Parameters<typeof temporary>[0], text: string) {
  const file = join(temporary(t), 'mdm.xml');
  writeFileSync(file, text, { mode: 0o644 });
  const { managed, faults, configurations } = judgePolicy(readPolicyFile(file), root);
  const [first] = configurations;
  return {
    managed,
    codes: [...faults, ...(first ? faultsOf(first) : [])].map(({ code }) => code),
    token: configurations.some(hasToken),
    names: configurations.length,
  };
}

for (const [what, text, managed, code, token] of [
  ['nothing but an organization', `<dict>${acme}</dict>`, true, undefined, false],
  ['a whole token', `<dict>${acme}${id}${secret}</dict>`, true, undefined, true],
  ['a token without an organization', `<dict>${id}${secret}</dict>`, true, 'policy-token', true],
  ['the ID alone', `<dict>${acme}${id}</dict>`, true, 'policy-token', false],
  ['the secret alone', `<dict>${acme}${secret}</dict>`, true, 'policy-token', false],
  [
    'an empty half',
    `<dict>${acme}${id}<key>auth_client_secret</key><string> </string></dict>`,
    true,
    'policy-token',
    false,
  ],
  [
    'an ID of another kind',
    `<dict>${acme}<key>auth_client_id</key><string>a</string>${secret}</dict>`,
    true,
    'policy-token',
    true,
  ],
  [
    'an address',
    '<dict><key>organization</key><string>acme.cloudflareaccess.com</string></dict>',
    true,
    'policy-organization',
    false,
  ],
  [
    'a variable of a shell',
    '<dict><key>organization</key><string>$ORG</string></dict>',
    true,
    'policy-variables',
    false,
  ],
  [
    'a variable in lower case',
    '<dict><key>organization</key><string>$cloudflare_organization</string></dict>',
    true,
    'policy-variables',
    false,
  ],
  [
    'a variable in braces',
    '<dict><key>organization</key><string>\x24{ORG}</string></dict>',
    true,
    'policy-variables',
    false,
  ],
  ['a template', '<dict><key>organization</key><string>{{ org }}</string></dict>', true, 'policy-variables', false],
  [
    'a name for people with a dollar sign',
    `<dict>${acme}<key>display_name</key><string>A $IGN</string></dict>`,
    true,
    undefined,
    false,
  ],
  [
    'other servers only',
    '<dict><key>override_api_endpoint</key><string>203.0.113.1</string></dict>',
    false,
    undefined,
    false,
  ],
  ['nothing', '', true, 'policy-form', false],
  ['blank lines', '\n \n', true, 'policy-form', false],
  ['an empty dictionary', '<plist><dict/></plist>', false, 'policy-form', false],
  ...(
    [
      ['no value for its organization', '<key>organization</key>'],
      ['no value for its organization, in the middle', '<key>organization</key><key>onboarding</key><true/>'],
      ['a list in place of its organization', '<key>organization</key><array><string>acme</string></array>'],
    ] as const
  ).flatMap(
    ([what, keys]) =>
      [
        [what, `<dict>${keys}</dict>`, true, 'policy-organization', false],
        [
          `another setting, and ${what}`,
          `<dict><key>switch_locked</key><true/>${keys}</dict>`,
          true,
          'policy-organization',
          false,
        ],
      ] as const,
  ),
  ['half a token without a value', '<dict><key>auth_client_id</key></dict>', true, 'policy-token', false],
  [
    'an organization inside another key, beside a setting',
    `<dict><key>onboarding</key><true/><key>organization_configs</key><array><dict>${acme}</dict></array></dict>`,
    true,
    undefined,
    false,
  ],
  ['an open element', `<dict>${id}${secret}`, true, 'policy-form', false],
  ['another document', '<html></html>', true, 'policy-form', false],
  ['UTF-16', [...`<dict>${acme}</dict>`].join('\0'), true, 'policy-form', false],
  ['values in CDATA', '<dict><key>organization</key><string><![CDATA[acme]]></string></dict>', true, undefined, false],
  ['a comment', `<dict><!-- ${id}${secret} -->${acme}</dict>`, true, undefined, false],
] as const)
  test(`a policy file with ${what} is judged`, t => {
    const said = judged(t, text);
    assert.deepEqual([said.managed, said.codes[0], said.token], [managed, code, token]);
  });

test('no fault quotes a value of the file', t => {
  const file = join(temporary(t), 'mdm.xml');
  const values = ['CaNaRy77 x', '$CaNaRy77', '', 'CaNaRy77'];
  for (const value of values) {
    const pair = (name: string) => `<key>${name}</key><string>${value}</string>`;
    writeFileSync(file, `<dict>${['organization', 'auth_client_id', 'auth_client_secret'].map(pair).join('')}</dict>`);
    const { faults, configurations } = judgePolicy(readPolicyFile(file), root);
    assert.doesNotMatch(JSON.stringify([faults, ...configurations.map(faultsOf)]), /CaNaRy/);
  }
});

test('counts each configuration of a list, and no other dictionary', t => {
  const text = `<dict><key>organization_configs</key><dict><key>acme</key><dict><key>environment</key><string>normal</string></dict></dict>
    <key>configs</key><array><dict>${acme}</dict><dict><key>organization</key><string>b</string></dict></array></dict>`;
  assert.equal(judged(t, text).names, 2);
});

test('distinguishes a link, a file that the service may not read, a directory and a missing file', t => {
  const place = temporary(t);
  writeFileSync(join(place, 'real.xml'), `<dict>${acme}</dict>`);
  symlinkSync('real.xml', join(place, 'link.xml'));
  symlinkSync('link.xml', join(place, 'loop.xml'));
  mkdirSync(join(place, 'directory.xml'));
  writeFileSync(join(place, 'closed.xml'), `<dict>${acme}</dict>`);
  chmodSync(join(place, 'closed.xml'), 0o070);
  const code = (name: string) => judgePolicy(readPolicyFile(join(place, name)), root).faults[0]?.code;
  assert.deepEqual(['link.xml', 'loop.xml', 'directory.xml', 'closed.xml', 'real.xml'].map(code), [
    'policy-link',
    'policy-link',
    'policy-form',
    'policy-owner',
    undefined,
  ]);
  assert.deepEqual(judgePolicy(readPolicyFile(join(place, 'none.xml'))), NO_POLICY);
});

test('a file of another user is closed to root without the right to read all files, unless others may read it', () => {
  const file = { path: '/x', link: null, uid: 1000, gid: 1000, isFile: true, text: `<dict>${acme}</dict>` };
  const code = (mode: number, gid = 1000) => judgePolicy({ ...file, gid, mode }).faults[0]?.code;
  assert.deepEqual(
    [code(0o600), code(0o640), code(0o640, 0), code(0o644)],
    ['policy-owner', 'policy-owner', undefined, undefined],
  );
});

test('a file that this user may not read counts as that of an organization', () => {
  const file = { path: '/x', link: null, uid: 0, gid: 0, mode: 0o600, isFile: true, text: null };
  const { managed, faults } = judgePolicy(file);
  assert.deepEqual([managed, faults[0]?.code], [true, 'policy-hidden']);
});

test('a file that can’t be inspected counts as that of an organization', t => {
  const place = temporary(t);
  // no user may look up a name that is too long, root included, as with a directory that is closed to this user
  const file = readPolicyFile(join(place, 'x'.repeat(300)));
  assert.deepEqual([judgePolicy(file).managed, judgePolicy(file).faults[0]?.code], [true, 'policy-hidden']);
  writeFileSync(join(place, 'file'), '');
  assert.equal(readPolicyFile(join(place, 'file/mdm.xml')), null);
});

test('from WARP 2026.7 on the service may read any file, and a file without an organization manages nothing', () => {
  const file = { path: '/x', link: null, uid: 1000, gid: 1000, mode: 0o600, isFile: true };
  const of = (text: string | null, version: string | null) => {
    const { managed, faults } = judgePolicy({ ...file, text }, 0, version);
    return [managed, faults[0]?.code];
  };
  assert.deepEqual(of(`<dict>${acme}</dict>`, '2026.6.822.0'), [true, 'policy-owner']);
  assert.deepEqual(of(`<dict>${acme}</dict>`, '2026.7.1343.0'), [true, undefined]);
  assert.deepEqual(of('<dict><key>service_mode</key><string>warp</string></dict>', null), [false, 'policy-owner']);
  assert.deepEqual(of(null, null), [true, 'policy-owner']);
});
