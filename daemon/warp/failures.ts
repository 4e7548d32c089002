// What to tell a client when the tunnel CLI refuses or fails: the problem, and what to do about it.
import type { Blocked } from '../api/schema.ts';
import { Problem } from '../problem.ts';
import { type Failure, failureOf } from './parse.ts';
import type { Finished } from './run.ts';

/** The failure that a finished command tells, or null. */
export function failureIn({ output, notStarted, timedOut }: Finished): Failure | null {
  if (notStarted) return { kind: 'cli-missing', code: null, message: output.stderr };
  if (timedOut) return { kind: 'failed', code: null, message: 'no answer in time' };
  return failureOf(output);
}

/** The blocked state that a failure reveals, or null. */
export function blockedBy({ kind }: Failure): Blocked | null {
  return kind in BLOCKED ? (kind as Blocked) : null;
}

/** What a finished command printed to say why it failed, or what it answered. */
export function wordsOf({ output }: Finished): string {
  return output.ok ? output.stdout : output.stderr || output.stdout;
}

/** The problem for a failure of a command. `what` names it in words: `the action connect`. */
export function problemOf(what: string, failure: Failure, { output, timedOut }: Finished): Problem {
  const extras = { exitCode: output.exitCode, stderr: output.stderr };
  if (timedOut) {
    const seconds = Math.round(output.durationMs / 1000);
    return new Problem('tunnel-cli-timeout', `The tunnel CLI gave no answer to ${what} within ${seconds} s.`, {
      hint: 'Its processes were ended. Restart the tunnel service if this happens again.',
      ...extras,
    });
  }
  switch (failure.kind) {
    case 'cli-missing':
    case 'service-stopped':
    case 'terms-not-accepted':
    case 'not-registered':
    case 'not-authorized': {
      const problem = blockedProblem(failure.kind);
      return new Problem(failure.kind, problem.message, { ...problem.extras, ...extras });
    }
    case 'unsupported':
      return new Problem('unsupported-by-cli', `The installed tunnel CLI does not know ${what}.`, {
        hint: 'Install a newer version of the tunnel client.',
        ...extras,
      });
    case 'argument':
      return new Problem(
        'argument-rejected',
        `The tunnel CLI refused the value of ${what}: ${failure.message}`,
        extras,
      );
    default:
      return new Problem('tunnel-cli-failed', `The tunnel CLI failed at ${what}: ${failure.message || 'no message'}`, {
        ...(/Old registration is still around/i.test(failure.message)
          ? { hint: 'Delete the old registration first (action deleteRegistration).' }
          : {}),
        ...extras,
      });
  }
}

/** The problem for a state in which nothing else makes sense. */
export function blockedProblem(blocked: Blocked): Problem {
  const [detail, hint] = BLOCKED[blocked];
  return new Problem(blocked, detail, { hint });
}

const BLOCKED: Record<Blocked, [detail: string, hint: string]> = {
  'cli-missing': [
    'The tunnel CLI (warp-cli) is not installed, or can’t be started.',
    'Install the Cloudflare WARP client, or try the emulator: culvert --demo.',
  ],
  'service-stopped': [
    'The tunnel service (warp-svc) does not answer.',
    'Start it: sudo systemctl enable --now warp-svc',
  ],
  'terms-not-accepted': [
    'The terms of service of Cloudflare WARP have not been accepted.',
    'Read them at https://www.cloudflare.com/application/terms/ and agree with the action acceptTerms.',
  ],
  'not-registered': ['This device is not registered.', 'Register it with the action register.'],
  'not-authorized': [
    'The tunnel service does not allow this.',
    'A policy of your organisation locks it, or another user of this machine registered the device.',
  ],
};
