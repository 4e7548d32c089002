// `--json` of what fails. That every command keeps to one form is test/e2e/json.test.ts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createHome, culvert, startHome } from '../../support/daemon/command.ts';

test('the commands of the kill switch print one line of JSON with ok: true', async t => {
  const { home } = await startHome(t);
  for (const words of [['status'], ['off'], ['pause', '5'], ['resume']]) {
    const { code, stdout, stderr } = await culvert(home, ['killswitch', ...words, '--json']);
    assert.deepEqual([code, stderr], [0, ''], words.join(' '));
    assert.match(stdout, /^\{"ok":true,.*\}\n$/, words.join(' '));
    JSON.parse(stdout);
  }
});

test('a failure is one line of JSON with ok: false on stdout, and on stderr where a program has the output', async t => {
  const home = createHome(t);
  for (const [words, exitCode] of [
    [['mode'], 5],
    [['bogus'], 2],
    [['config', 'get'], 2],
    [['doctor', 'fix', 'no-such-check'], 2],
    [['network'], 5],
    [['wait', '--timeout', '0'], 5],
  ] as const) {
    const { code, stdout, stderr } = await culvert(home, [...words, '--json']);
    assert.deepEqual([code, stderr], [exitCode, ''], words.join(' '));
    assert.match(stdout, /^\{"ok":false,.*\}\n$/);
    assert.ok(JSON.parse(stdout).detail);
  }
  const { stdout, stderr } = await culvert(home, ['run', '--json', '--', 'true']);
  assert.deepEqual([stdout, JSON.parse(stderr).code], ['', 'usage']);
});

test('a check for updates without an answer is not ok', async t => {
  const { home, daemon } = await startHome(t);
  const { handlers } = daemon.features;
  const check = await handlers['GET /api/update/check']({ body: undefined, query: {} });
  handlers['GET /api/update/check'] = () => ({
    ...check,
    problem: { code: 'unreachable', detail: 'There is no network.' },
  });
  const { code, stdout } = await culvert(home, ['update', 'check', '--json']);
  assert.deepEqual([code, JSON.parse(stdout).ok], [1, false]);
});
