// Translates the updater's outcomes into what the API answers.
import type { Verified } from '../../manifest/verify.ts';
import type { UpdateCheck } from '../api/schema.ts';
import { Problem } from '../problem.ts';
import { errno, reason } from '../system/errno.ts';
import type { UpdateState } from './update-state.ts';

/** A manifest's time may have an offset, and a leap second, which `Date` does not know. */
function toUtc(time: string): string {
  const at = new Date(time.replace(/:60(?=[.Z+-])/, ':59'));
  return Number.isNaN(at.getTime()) ? time : at.toISOString();
}

/** The manifest of a verified release as the API shows it. */
export function describeManifest({ manifest, signers }: Verified): UpdateCheck['manifest'] {
  return {
    generatedAt: toUtc(manifest.generated_at),
    tag: manifest.tag ?? null,
    signed: true,
    signer: signers.map(({ name }) => name).join(', '),
  };
}

/** Why a check has no answer. */
export function describeFailure(error: unknown): NonNullable<UpdateCheck['problem']> {
  const { code, hint } = detailsOf(error);
  if (error instanceof Problem) return { code: error.code, detail: error.message };
  if (!isRefusal(error) || code === undefined) return { code: 'failed', detail: `The check failed: ${reason(error)}.` };
  return { code, detail: hint ? `${reason(error)} ${hint}` : reason(error) };
}

/** The problem for an update that was not made. */
export function toProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  const { code, hint } = detailsOf(error);
  const message = reason(error);
  if (isRefusal(error))
    return new Problem('update-refused', message, { reason: code!, ...(hint ? { hint } : {}) }, error);
  if (error instanceof Error && error.name === 'InstallError')
    return code === 'locked'
      ? new Problem('busy', message, {}, error)
      : new Problem('update-not-applicable', message, { reason: code! }, error);
  return new Problem(
    'update-failed',
    `The update failed: ${message}. The installed version is unchanged.`,
    { hint: 'Check the free space and the permissions, then try again.', ...(code ? { reason: code } : {}) },
    error,
  );
}

/** A source that can't be reached for so long is reported; before that, it may be the network of a traveler. */
const UNREACHABLE_MS = 7 * 86_400_000;
/** Codes that a broken or captive network causes as well. */
const NETWORK_CODES = new Set([
  'network-failed',
  'certificate-invalid',
  'tls-failed',
  'timeout',
  'stalled',
  'redirected',
  'http-status',
  'release-missing',
  'response-malformed',
  'truncated',
  'encoded',
  'too-large',
  'stopped',
  'busy',
]);

/** Results of earlier checks. */
type SourceHistory = Pick<UpdateState, 'answeredAt' | 'failingSince'>;

/**
 * Reports whether updates can reach this installation. Without this, a source that is blocked or serves an expired release
 * would go unnoticed: the freeze attack of TUF.
 * @param now in milliseconds since 1970
 */
export function describeSource(
  problem: UpdateCheck['problem'],
  state: SourceHistory,
  now: number,
): UpdateCheck['source'] {
  const lastAnswerAt = state.answeredAt === null ? null : new Date(state.answeredAt).toISOString();
  if (problem === null || problem.code === 'no-source') return { state: 'ok', lastAnswerAt };
  if (problem.code === 'expired') return { state: 'expired', lastAnswerAt };
  if (!NETWORK_CODES.has(problem.code)) return { state: 'refused', lastAnswerAt };
  const since = state.failingSince ?? now;
  return { state: now - since >= UNREACHABLE_MS ? 'unreachable' : 'ok', lastAnswerAt };
}

function isRefusal(error: unknown): boolean {
  return error instanceof Error && (error.name === 'UpdateRefused' || error.name === 'Refusal');
}

function detailsOf(error: unknown): { code: string | undefined; hint: string | undefined } {
  const hint = error instanceof Error && 'hint' in error ? String(error.hint) : undefined;
  return { code: errno(error), hint };
}
