// The service token in a policy file: only a token that WARP can use counts.
import assert from 'node:assert/strict';
import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { hasServiceToken } from '../../../../daemon/warp/parse/policy-file.ts';
import { temporary } from '../../../support/temporary.ts';

const id = '<key> auth_client_id </key><string>a.access</string>';
const secret = '<key>auth_client_secret</key>\r\n<string>s</string>';

for (const [what, text, expected] of [
  ['no file', null, false],
  ['an empty file', '', false],
  ['a file of another purpose', '<dict><key>organization</key><string>acme</string></dict>', false],
  ['both halves', `<dict>${id}${secret}</dict>`, true],
  ['both halves in one configuration of a list', `<array><dict/><dict>${id}${secret}</dict></array>`, true],
  ['the ID alone', `<dict>${id}</dict>`, false],
  ['the secret alone', `<dict>${secret}</dict>`, false],
  ['halves of two configurations', `<array><dict>${id}</dict><dict>${secret}</dict></array>`, false],
  ['an empty half', `<dict>${id}<key>auth_client_secret</key><string> </string></dict>`, false],
  ['a half without a value', `<dict>${id}<key>auth_client_secret</key></dict>`, false],
  ['a comment', `<dict><!-- ${id}${secret} --><key>organization</key><string>acme</string></dict>`, false],
  ['a list that WARP ignores', `<dict><key>configs</key><array><dict>${id}${secret}</dict></array></dict>`, false],
  ['a file that is not well-formed', `<dict>${id}${secret}`, false],
  ['UTF-16', [...`<dict>${id}${secret}</dict>`].join('\0'), false],
] as const)
  test(`a policy file with ${what} has ${expected ? 'a' : 'no'} service token`, t => {
    const file = join(temporary(t), 'mdm.xml');
    if (text !== null) writeFileSync(file, text);
    assert.equal(hasServiceToken(file), expected);
  });

test('a link to a policy file has no service token, as for WARP', t => {
  const place = temporary(t);
  writeFileSync(join(place, 'real.xml'), `<dict>${id}${secret}</dict>`);
  symlinkSync('real.xml', join(place, 'mdm.xml'));
  assert.equal(hasServiceToken(join(place, 'mdm.xml')), false);
});
