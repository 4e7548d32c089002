// Turns refusals and failures of the tunnel CLI into problems that say what to do.
import type { Blocked, RegistrationCause, Snapshot } from '../../api/schema.ts';
import type { Message } from '../../api/values.ts';
import { errno } from '../../core/errors.ts';
import { Problem } from '../../problem.ts';
import { demoFault, nextStep, serviceStep, setupText } from '../../view/client/labels.ts';
import { serviceCommand } from '../../view/client/service-words.ts';
import { message } from '../../view/message.ts';
import { lostRegistration } from '../../view/states/causes.ts';
import { causeMessages, registrationStep } from '../../view/states/registration.ts';
import { PANICKED } from '../../view/states/summary.ts';
import { english } from '../../view/translator.ts';
import { type Failure, failureOf, registrationCauseIn } from '../parse/output.ts';
import type { Finished } from './run.ts';

/** The failure of a finished command, or null. */
export function failureIn({ output, notStarted, timedOut }: Finished): Failure | null {
  if (notStarted) return { kind: 'cli-missing', code: null, message: output.stderr };
  if (timedOut) return { kind: 'service-hangs', code: null, message: 'no answer in time' };
  return failureOf(output);
}

/** The blocked state that a failure reveals, or null. */
export function blockedBy({ kind }: Failure): Blocked | null {
  return kind in HINTS ? (kind as Blocked) : null;
}

/** Failures after which the command has certainly changed nothing. */
const REFUSALS: readonly Failure['kind'][] = [
  'cli-missing',
  'cli-too-old',
  'terms-not-accepted',
  'not-registered',
  'not-authorized',
  'not-connected',
  'unsupported',
  'argument',
];

/** True for a failed command that may still have taken effect. */
export const isUncertain = ({ kind }: Failure): boolean => !REFUSALS.includes(kind);

/** Codes of problems with actions that certainly changed nothing; `busy`: the command never ran. */
const REFUSAL_CODES: readonly string[] = [...REFUSALS, 'unsupported-by-cli', 'argument-rejected', 'busy'];

/** True unless the error of an action, of `Tunnel.runAction` or of the API, says that nothing was changed. */
export function mayHaveChanged(error: unknown): boolean {
  const uncertain = error instanceof Problem ? error.uncertain : undefined;
  return uncertain ?? !REFUSAL_CODES.includes(errno(error) ?? '');
}

/** True if the command of a failed action crashed, which says nothing about what is set. */
export function hasCrashed(error: unknown): boolean {
  if (!(error instanceof Problem)) return false;
  const { exitCode, stderr = '' } = error.extras;
  return exitCode === null || exitCode === PANIC.exitCode || PANIC.seen.test(stderr);
}

/** The output of a finished command, or the text of its failure. */
export function outputText({ output }: Finished): string {
  return output.ok ? output.stdout : output.stderr || output.stdout;
}

/** Rust ends a program that panics with this exit code; public reports of 2025 and 2026 have "Broken pipe" after it. */
const PANIC = { seen: PANICKED, exitCode: 101 };

/** Failures whose messages explain little. */
const KNOWN: readonly { seen: RegExp; meaning: Message; hint: string }[] = [
  {
    seen: PANIC.seen,
    meaning: message('The program warp-cli crashed. The change may have been made anyway.'),
    hint: 'Look at what is set now: culvert status. If it crashes again, install WARP again.',
  },
];

/** Facts of a device of which nothing is known. */
const NO_FACTS = { managed: false, organization: null, host: null, evidence: [] };

/**
 * The problem for a device that is not registered, or not with its organization.
 * @param finished the attempt to register that failed; without one, no command was run
 */
export function registrationProblem(cause: RegistrationCause, finished?: Finished): Problem {
  const { sentence } = causeMessages(cause);
  return new Problem(finished ? 'tunnel-cli-failed' : 'not-registered', sentence, {
    hint: registrationHint(cause),
    ...(finished ? { exitCode: finished.output.exitCode, stderr: finished.output.stderr } : {}),
  });
}

function registrationHint(cause: RegistrationCause): string {
  if (cause.code === 'client-too-old') return 'It is at https://pkg.cloudflareclient.com/ (see: culvert doctor)';
  const { does, command } = registrationStep(cause);
  return `${does}: ${command}`;
}

/** The problem for a deletion without an answer, after which the registration was read again and is still there. */
export function stillRegistered({ kind }: Failure, { output }: Finished): Problem {
  const code = kind === 'service-hangs' ? kind : 'tunnel-cli-failed';
  const problem = new Problem(code, message('The registration was not deleted: this device is still registered.'), {
    hint: 'Try again, or see: culvert doctor',
    exitCode: output.exitCode,
    stderr: output.stderr,
  });
  problem.uncertain = false;
  return problem;
}

/** One command without an answer does not mean that the service hangs for good. */
function onceHint({ emulated, serviceManager: manager }: Snapshot['tunnelCli']): string {
  if (emulated) return `Try again. ${demoFault(english)}`;
  return manager
    ? `Try again. If it fails again: ${serviceStep('restart', manager)}`
    : `Try again. If it fails again, restart the service: ${serviceCommand('restart', manager)}`;
}

/** The problem for a failed command. `what` names the command: `the action connect`. @param shown the state after the command */
export function problemOf(...failed: Parameters<typeof wordedProblem>): Problem {
  const problem = wordedProblem(...failed);
  problem.uncertain = isUncertain(failed[1]);
  return problem;
}

function wordedProblem(
  what: string,
  failure: Failure,
  finished: Finished,
  shown: Pick<Snapshot, 'status' | 'tunnelCli'>,
): Problem {
  const { output, timedOut } = finished;
  const extras = { exitCode: output.exitCode, stderr: output.stderr };
  if (timedOut) {
    const seconds = Math.round(output.durationMs / 1000);
    return new Problem('tunnel-cli-timeout', `The tunnel CLI did not answer ${what} within ${seconds} s.`, {
      hint: 'Its processes were ended. Restart the tunnel service if this happens again.',
      ...extras,
    });
  }
  switch (failure.kind) {
    case 'cli-missing':
    case 'cli-too-old':
    case 'service-stopped':
    case 'service-hangs':
    case 'terms-not-accepted':
    case 'not-registered':
    case 'not-authorized': {
      const problem = blockedProblem(failure.kind, shown);
      const hint = failure.kind === 'service-hangs' ? { hint: onceHint(shown.tunnelCli) } : {};
      return new Problem(failure.kind, problem.message, { ...problem.extras, ...hint, ...extras });
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
    default: {
      // a license and a token are sent to the same servers as a registration
      const code = registrationCauseIn(failure.message);
      const { managed, organization } = shown.status.registration ?? NO_FACTS;
      if (code) return registrationProblem({ ...NO_FACTS, managed, organization, code }, finished);
      const known = KNOWN.find(({ seen }) => seen.test(`${failure.message} ${output.stderr}`));
      const text = `The tunnel CLI failed at ${what}: ${failure.message || 'no message'}`;
      return new Problem('tunnel-cli-failed', known?.meaning ?? text, {
        ...(known ? { hint: known.hint } : {}),
        ...extras,
      });
    }
  }
}

/** The problem for a state that the user has to resolve first. */
export function blockedProblem(
  blocked: Blocked,
  { status, tunnelCli }: Pick<Snapshot, 'status' | 'tunnelCli'>,
): Problem {
  const lost = lostRegistration({ ...status, blocked }, english);
  if (lost) return new Problem(blocked, `${lost.title}.`, { hint: lost.sentence });
  const where = { manager: tunnelCli.serviceManager, emulated: tunnelCli.emulated };
  return new Problem(blocked, setupText(blocked, english, tunnelCli.version), {
    hint: HINTS[blocked] ?? nextStep(blocked, where)!,
  });
}

/** Hints for programs; null if a program can also use the hint for people, a command to type. */
const HINTS: Record<Blocked, string | null> = {
  'cli-missing': null,
  'service-stopped': null,
  'service-hangs': null,
  'cli-too-old': 'It is at https://pkg.cloudflareclient.com/',
  'terms-not-accepted':
    'Read them at https://www.cloudflare.com/application/terms/ and agree with the action acceptTerms.',
  'not-registered': 'Register it with the action register.',
  'not-authorized': 'A policy of your organization locks it, or another user of this machine registered the device.',
};
