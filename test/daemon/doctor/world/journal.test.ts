// The journal of the service is shown in bug reports: nothing secret of it is, also where a secret has several lines.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readServiceJournal } from '../../../../daemon/doctor/world/journal.ts';

const CANARY = 'CaNaRy77';
const body = Array.from({ length: 3 }, () => `${CANARY}${'A'.repeat(56)}`);

/** Lines of the journal by the secret in them. */
const SECRETS: Record<string, readonly string[]> = {
  'a key': ['-----BEGIN PRIVATE KEY-----', ...body, '-----END PRIVATE KEY-----'],
  'a key within a line': ['key: -----BEGIN EC PRIVATE KEY-----', ...body, '-----END EC PRIVATE KEY----- was read'],
  'a key that the first line cuts': [...body, '-----END RSA PRIVATE KEY-----'],
  'a key that the last line cuts': ['-----BEGIN PGP PRIVATE KEY BLOCK-----', '', ...body],
  'a document of several lines': ['{', '  "auth_token":', `    "${CANARY}"`, '}'],
  'a line longer than what is shown': [`${'x'.repeat(480)} token: ${CANARY}`],
};

for (const [name, lines] of Object.entries(SECRETS))
  test(`the journal of the service shows nothing of ${name}`, async () => {
    const stdout = [...lines, ''].join('\n');
    const shown = await readServiceJournal({ run: async () => ({ stdout, stderr: '', exitCode: 0 }) });
    assert.doesNotMatch(shown.join('\n'), /CaNaR/);
    assert.match(shown.join('\n'), /\[redacted\]/);
  });

test('the journal of the service keeps the lines around a key', async () => {
  const key = ['-----BEGIN PRIVATE KEY-----', ...body, '-----END PRIVATE KEY-----'];
  const stdout = ['WARN before', ...key, 'ERROR after', ''].join('\n');
  const shown = await readServiceJournal({ run: async () => ({ stdout, stderr: '', exitCode: 0 }) });
  assert.deepEqual(shown, [
    'WARN before',
    '-----BEGIN PRIVATE KEY-----[redacted]-----END PRIVATE KEY-----',
    'ERROR after',
  ]);
});
