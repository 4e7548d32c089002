// Failures and answers differ by what is printed, whatever the exit code says.
import assert from 'node:assert/strict';
import test from 'node:test';
import { parseVersion } from '../../../../daemon/warp/cli/version.ts';
import { failureOf, jsonOf } from '../../../../daemon/warp/parse/output.ts';
import { parseDevices, parseRegistration, parseStats } from '../../../../daemon/warp/parse/reads.ts';
import { parseRoutes, parseSettings } from '../../../../daemon/warp/parse/settings.ts';
import { parseStatus, parseStatusText } from '../../../../daemon/warp/parse/status.ts';
import { printed, recordings } from '../../../support/daemon/recordings.ts';

test('every recorded answer of a successful action is a success', () => {
  const successes = recordings.filter(
    row => /^Success$/m.test(row.stdout) || row.stdout.includes('"status":"Success"'),
  );
  assert.ok(successes.length >= 5);
  for (const row of successes) assert.equal(failureOf(printed(row)), null, row.argv.join(' '));
});

test('every recorded refusal is a failure of its kind', () => {
  const kinds = recordings
    .filter(row => row.stderr && !row.stdout && row.argv.length > 0 && !row.stderr.startsWith('Warning:'))
    .map(row => [row.argv.join(' '), failureOf(printed(row))?.kind]);
  const counts = new Map<string, number>();
  for (const [, kind] of kinds) counts.set(kind ?? 'none', (counts.get(kind ?? 'none') ?? 0) + 1);
  assert.deepEqual(Object.fromEntries([...counts].sort()), {
    // an old registration, a bad token, an address where a range is due and the other way round
    argument: 3,
    failed: 3,
    'not-authorized': 5,
    'not-registered': 2,
    'service-hangs': 2,
    'service-stopped': 2,
    'terms-not-accepted': 4,
    unsupported: 3,
  });
});

test('a JSON error is a failure at any exit code, on either stream', () => {
  const error = '{\n  "code": "AlreadyExists",\n  "error": "Route exists"\n}\n';
  for (const exitCode of [0, 1]) {
    for (const output of [
      { stdout: error, stderr: '' },
      { stdout: '', stderr: error },
    ]) {
      assert.deepEqual(failureOf({ ...output, exitCode }), {
        kind: 'failed',
        code: 'AlreadyExists',
        message: 'Route exists',
      });
    }
  }
});

test('an error line at exit 0 is a failure, and a deprecation warning is not', () => {
  assert.equal(failureOf({ stdout: 'Error: no', stderr: '', exitCode: 0 })?.message, 'Error: no');
  assert.equal(failureOf({ stdout: '', stderr: 'Error(401): Unauthorized', exitCode: 0 })?.kind, 'failed');
  const warning = 'Warning: The "set-mode" command will be deprecated in a future release. Please use "mode" instead\n';
  assert.equal(failureOf({ stdout: 'Success\n', stderr: warning, exitCode: 0 }), null);
});

test('a prompt for the terms is a failure unless it was answered', () => {
  const prompt = 'Accept Terms of Service and Privacy Policy? [y/N] y\n\nSuccess\n';
  assert.equal(failureOf({ stdout: prompt, stderr: '', exitCode: 0 }), null);
  assert.equal(
    failureOf({ stdout: 'Accept Terms of Service and Privacy Policy? [y/N] ', stderr: '', exitCode: 0 })?.kind,
    'terms-not-accepted',
  );
});

test('a document is found between other lines', () => {
  assert.deepEqual(jsonOf('Success\n{\n "a": 1\n}\nbye'), { a: 1 });
  for (const text of ['', 'x', '{"a":', '7', '"text"', 'null']) assert.equal(jsonOf(text), undefined, text);
});

/** A small generator with a seed, so that a failure can be repeated. */
function random(seed: number) {
  return (below: number) => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return seed % below;
  };
}

const parsers = [
  parseStatusText,
  parseSettings,
  parseRoutes,
  parseStats,
  parseRegistration,
  parseDevices,
  parseVersion,
];
const fragments = [
  'Status update: ', 'Reason: ', 'Network: ', 'healthy', '{', '}', '[', ']', '"', ':', ',', '\n', '\r\n', '\t', '  ', '(', ')',
  '"status"', '"reason"', 'null', '1e999', '\u001b[31m', '\u0000', '__proto__', 'constructor', 'Unable', 'Mode: ', 'Excluded routes:',
  'Sent: ', '; ', '%', 'Account type: ', '💥', '\ud800', '.', 'Error', '-1', 'settings',
]; // biome-ignore format: a table of scraps

test('no text makes a parser throw, or look connected or disconnected without the word', () => {
  for (let seed = 1; seed <= 20_000; seed++) {
    const next = random(seed);
    const length = next(24);
    let text = '';
    for (let at = 0; at < length; at++) text += fragments[next(fragments.length)];
    for (const parse of parsers) parse(text);
    const { state } = parseStatus({ stdout: text, stderr: text, exitCode: next(3) - 1 });
    assert.ok(state === 'unknown' || state === 'unable', `seed ${seed}: ${JSON.stringify(text)} is ${state}`);
  }
});

test('a recorded answer that is cut or damaged never turns into another state', () => {
  for (const row of recordings) {
    const whole = parseStatus(printed(row)).state;
    for (let end = 0; end <= Math.min(row.stdout.length, 400); end++) {
      const cut = row.stdout.slice(0, end);
      const { state } = parseStatus({ stdout: cut, stderr: '', exitCode: 0 });
      assert.ok(state === whole || state === 'unknown', `${JSON.stringify(cut)} is ${state}, the whole is ${whole}`);
      for (const parse of parsers) parse(cut);
    }
  }
});
