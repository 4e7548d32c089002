// Each way to fail has its own code, and tells what to do.
import assert from 'node:assert/strict';
import test from 'node:test';
import { PROBLEM_CODES } from '../../../daemon/api/schema.ts';
import { failureIn, problemOf } from '../../../daemon/warp/failures.ts';
import type { Finished } from '../../../daemon/warp/run.ts';

function finished(output: Partial<Finished['output']>, more: Partial<Finished> = {}): Finished {
  return {
    output: {
      ok: false,
      argv: ['warp-cli'],
      exitCode: 1,
      stdout: '',
      stderr: '',
      durationMs: 15_004,
      at: '',
      ...output,
    },
    timedOut: false,
    notStarted: false,
    ...more,
  };
}

const CASES: [name: string, finished: Finished, code: string, detail: RegExp][] = [
  [
    'hangs',
    finished({ exitCode: null }, { timedOut: true }),
    'tunnel-cli-timeout',
    /no answer to the action connect within 15 s/,
  ],
  [
    'cannot be started',
    finished({ exitCode: null, stderr: 'ENOENT' }, { notStarted: true }),
    'cli-missing',
    /not installed/,
  ],
  ['fails', finished({ stderr: 'Error: Route exists\n', exitCode: 7 }), 'tunnel-cli-failed', /Route exists/],
  ['fails silently', finished({}), 'tunnel-cli-failed', /no message/],
  [
    'fails in JSON at exit 0',
    finished({ stdout: '{"code":"AlreadyExists","error":"Route exists"}', exitCode: 0 }),
    'tunnel-cli-failed',
    /Route exists/,
  ],
  [
    'does not know the command',
    finished({ stderr: "error: unrecognized subcommand 'x'", exitCode: 2 }),
    'unsupported-by-cli',
    /does not know the action connect/,
  ],
  [
    'refuses the value',
    finished({ stderr: "error: invalid value 'off' for '<MODE>'", exitCode: 2 }),
    'argument-rejected',
    /invalid value/,
  ],
  [
    'has no service',
    finished({ stderr: 'Unable to connect to the CloudflareWARP daemon: Connection refused (os error 111)' }),
    'service-stopped',
    /warp-svc/,
  ],
  [
    'has no registration',
    finished({ stderr: 'Error: Missing registration. Try running: "warp-cli registration new"' }),
    'not-registered',
    /not registered/,
  ],
  [
    'is not allowed to',
    finished({ stderr: 'Operation not authorized in this context' }),
    'not-authorized',
    /does not allow/,
  ],
  [
    'waits for the terms',
    finished({ stderr: 'Please accept the WARP Terms of Service by running this command in a TTY' }),
    'terms-not-accepted',
    /terms/,
  ],
];

for (const [name, result, code, detail] of CASES) {
  test(`a CLI that ${name} is ${code}`, () => {
    const failure = failureIn(result);
    assert.ok(failure);
    const problem = problemOf('the action connect', failure, result);
    assert.equal(problem.code, code);
    assert.match(problem.message, detail);
    assert.ok(PROBLEM_CODES.includes(problem.code));
    assert.deepEqual([problem.extras.exitCode, problem.extras.stderr], [result.output.exitCode, result.output.stderr]);
  });
}

test('a success is no failure', () => {
  assert.equal(failureIn(finished({ ok: true, exitCode: 0, stdout: 'Success\n' })), null);
});
