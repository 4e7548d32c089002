// Texts in which people keep keys: what is a key, a list of keys, or only stands for one.
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: texts that were not filled in
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isKey, keysIn, nameOf, oddityIn, referenceIn, referenceTo } from '../../../wrapper/store/key-texts.ts';
import { assertCredential } from '../../../wrapper/store/secrets.ts';

const REFERENCES = [
  'op://Private/firecrawl/key',
  ' op://Private/firecrawl/key ',
  'vault://secret/data/exa#key',
  'bws://0000',
  'doppler://prod/EXA_API_KEY',
  'infisical://x',
  'secret://x',
  'keychain://login/x',
  'aws-sm://x',
  'ssm://x/y',
  'ref+vault://x',
  '$EXA_API_KEY',
  '${EXA_API_KEY}',
  '${EXA_API_KEY:-none}',
  'Bearer ${EXA_API_KEY}',
  '${input:exa-key}',
  '${env:EXA_API_KEY}',
  '${{ secrets.EXA_API_KEY }}',
  '$(op read op://x)',
  '`pass show exa`',
  '{{ exa_api_key }}',
  '%EXA_API_KEY%',
  referenceTo({ cli: 'exa', name: 'main' }),
  'pass:work/firecrawl',
  'env:TEAM_B_KEY',
  'file:~/keys.env#TEAM_B',
  'command:op read op://x',
  'keyring:service=firecrawl,user=me',
  'arn:aws:secretsmanager:eu-west-1:0:secret:x',
  '@Microsoft.KeyVault(SecretUri=x)',
  'projects/p/secrets/s/versions/latest',
  'ENC[AES256_GCM,data:x]',
  'bw:firecrawl',
  'vault:secret/data/firecrawl#key',
  'keychain:firecrawl',
  'doppler:prod/KEY',
  'ssm:/x/y',
  'gsm:x',
  '<your-key>',
  '<API_KEY>',
  'your_api_key_here',
  'YOUR-API-KEY',
  'fc-YOUR-API-KEY',
  'fc-your_key',
  'tvly-YOUR_API_KEY',
  'sk-<your-key>',
  'my-api-key-here',
  '[YOUR KEY]',
  '{your key}',
  'changeme',
  'replace-with-your-key',
  'insert_key_here',
  'xxxxxxxx',
  'sk-xxxxxxxx',
  'fc-...',
  'fc-0123xxxx',
  'sk-proj-AbCXXXXXXXX',
  'tvly-12••••',
  '********',
  'placeholder',
  'API_KEY',
  'null',
  'TODO',
];

const KEYS = [
  'fc-0123456789abcdef',
  'tvly-dev-abc',
  '00000000-0000-0000-0000-000000000001',
  'k$1',
  '$2b$10$abc',
  'a%b',
  'eyJhbGciOi.J9.a_b-c==',
  'Zm9v/YmFy+x=',
  '00000000-0000-0000-0000-000000000001:fx',
  '12|abcdefABCDEF',
  'sk-proj-yourself0123',
  'xoxb-1-2-abc',
  'fc-herexxx1',
];

test('a text that only stands for a key is named as such, and is neither stored nor taken from a client', () => {
  for (const text of REFERENCES) {
    assert.notEqual(referenceIn(text), undefined, text);
    assert.doesNotMatch(referenceIn(text)!, /Private|EXA_API|prod/, text);
    assert.throws(() => assertCredential(text), /stands for|reference|placeholder|command that/, text);
    assert.equal(isKey(text), false, text);
  }
  for (const text of KEYS) {
    assert.equal(referenceIn(text), undefined, text);
    assert.doesNotThrow(() => assertCredential(text));
    assert.equal(isKey(text), true, text);
  }
  // an address or a path that an account brings along
  for (const text of ['http://127.0.0.1:3002', 'https://api.example.com', '/home/me/.codex', 'postgres://u@h/db'])
    assert.doesNotThrow(() => assertCredential(text));
});

test('a command that was not run is said to be one', () => {
  for (const text of ['$(pass show exa)', '`pass show exa`'])
    assert.match(referenceIn(text)!, /^it is a command that was/);
  for (const text of ['$EXA', '${EXA}']) assert.match(referenceIn(text)!, /^it stands for another variable/);
});

const LISTS: [text: string, keys: string[], variable?: string, prefix?: string][] = [
  ['k1', ['k1']],
  ['k1,k2', ['k1', 'k2']],
  [' k1 , k2 ,', ['k1', 'k2']],
  ['k1;k2;k1', ['k1', 'k2']],
  ['k1,$K2', ['k1', '$K2']],
  ['a b,c', ['a b,c']],
  ['p,w', ['p,w'], 'DB_PASSWORD'],
  ['fc-1 fc-2', ['fc-1', 'fc-2'], 'FIRECRAWL_API_KEY', 'fc-'],
  ['fc-a fc-b', ['fc-a', 'fc-b'], 'FIRECRAWL_API_KEY', 'fc-'],
  ['fc-1|fc-2', ['fc-1', 'fc-2'], 'FIRECRAWL_API_KEY', 'fc-'],
  ['k1 | k2,k3 k4', ['k1', 'k2', 'k3', 'k4']],
  ['Bearer k1', ['k1']],
  ['bearer  fc-5', ['fc-5'], 'FIRECRAWL_API_KEY', 'fc-'],
  ['Bearer p', ['Bearer p'], 'DB_PASSWORD'],
  ['["k1","k2"]', ['k1', 'k2']],
  ["[ 'k1', 'k2', 'k1', ]", ['k1', 'k2']],
  ['["k1"]', ['k1']],
  ['[YOUR KEY]', ['[YOUR KEY]']],
  ['k1;OPENAI_ORG=org', ['k1', 'OPENAI_ORG=org']],
  ['k1 NEON_PROJECT=x', ['k1', 'NEON_PROJECT=x']],
  ['12|abcdef', ['12|abcdef']],
  ['<my, key>', ['<my, key>']],
  ['fc-1\nfc-2\r\nfc-3', ['fc-1', 'fc-2', 'fc-3'], 'FIRECRAWL_API_KEY', 'fc-'],
  ['fc-12\n34', ['fc-12\n34'], 'FIRECRAWL_API_KEY', 'fc-'],
  ['k1\nk2', ['k1\nk2']],
  ['n1,n2', ['n1', 'n2'], 'npm_config_//registry.npmjs.org/:_authToken'],
];

test('a list is one of keys where its variable is for keys, and a wrapped line is no second key', () => {
  for (const [text, keys, variable = 'EXA_API_KEY', prefix = ''] of LISTS)
    assert.deepEqual(keysIn(text, variable, prefix), keys, text);
  assert.deepEqual(
    [0, 1, 2].map(index => nameOf('main', index)),
    ['main', 'main-2', 'main-3'],
  );
});

test('a part of a file is no key where it has a blank or a backslash in it, or sets something', () => {
  for (const text of ['OPENAI_ORG=org', 'a b', 'k1\\', 'a\tb']) {
    assert.notEqual(oddityIn(text, 'EXA_API_KEY'), undefined, text);
    assert.doesNotMatch(oddityIn(text, 'EXA_API_KEY')!, /ORG|k1/);
    assert.equal(oddityIn(text, 'DB_PASSWORD'), undefined, text);
  }
  for (const text of KEYS) assert.equal(oddityIn(text, 'EXA_API_KEY'), undefined, text);
});
