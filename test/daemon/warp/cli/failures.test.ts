// Each way to fail has its own code, and says what to do.
import assert from 'node:assert/strict';
import test from 'node:test';
import { PROBLEM_CODES } from '../../../../daemon/api/schema.ts';
import { failureIn, outputText, problemOf } from '../../../../daemon/warp/cli/failures.ts';
import type { Finished } from '../../../../daemon/warp/cli/run.ts';
import { clientState } from '../../../support/gnome/view/translator.ts';

const SHOWN = clientState({ status: { state: 'unknown' }, tunnelCli: { emulated: false } }).snapshot!;

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
    /did not answer the action connect within 15 s/,
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
    /WARP service is not running/,
  ],
  [
    'has a service that hangs',
    finished({ stderr: 'Error communicating with daemon: The IPC call hit a timeout and could not be processed' }),
    'service-hangs',
    /^WARP does not answer\.$/,
  ],
  [
    'has no registration',
    finished({ stderr: 'Error: Missing registration. Try running: "warp-cli registration new"' }),
    'not-registered',
    /not set up/,
  ],
  [
    'is not allowed to',
    finished({ stderr: 'Operation not authorized in this context' }),
    'not-authorized',
    /can’t change WARP/,
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
    const problem = problemOf('the action connect', failure, result, SHOWN);
    assert.equal(problem.code, code);
    assert.match(problem.message, detail);
    assert.ok(PROBLEM_CODES.includes(problem.code));
    assert.deepEqual([problem.extras.exitCode, problem.extras.stderr], [result.output.exitCode, result.output.stderr]);
  });
}

test('a success has no failure', () => {
  assert.equal(failureIn(finished({ ok: true, exitCode: 0, stdout: 'Success\n' })), null);
});

test('the text of a command is its answer, or why it failed', () => {
  const texts = [
    finished({ ok: true, stdout: 'answer', stderr: 'warning' }),
    finished({ ok: false, stdout: 'answer', stderr: 'reason' }),
    finished({ ok: false, stdout: 'answer', stderr: '' }),
  ].map(outputText);
  assert.deepEqual(texts, ['answer', 'reason', 'answer']);
});

test('a time limit is reported in whole seconds', () => {
  const late = finished({ durationMs: 15_500 }, { timedOut: true });
  assert.match(problemOf('x', failureIn(late)!, late, SHOWN).message, /within 16 s/);
});

test('an old registration that is in the way is explained, and other failures are not', () => {
  const hintFor = (stderr: string) => {
    const result = finished({ stderr });
    return problemOf('the action register', failureIn(result)!, result, SHOWN).extras.hint;
  };
  assert.match(hintFor('Error: Old registration is still around. Try running: ...') ?? '', /account delete/);
  assert.equal(hintFor('Error: Route exists'), undefined);
  const panic = "thread 'main' panicked at src/main.rs:1:1:\nfailed printing to stdout: Broken pipe";
  assert.match(hintFor(panic) ?? '', /culvert status/);
});
