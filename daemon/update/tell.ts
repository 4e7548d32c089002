// How the updater's outcomes are told over the API.
import { Problem } from '../problem.ts';

/** A manifest's time may have an offset, and a leap second, which Date knows nothing of. */
export function utc(time: string): string {
  const at = new Date(time.replace(/:60(?=[.Z+-])/, ':59'));
  return Number.isNaN(at.getTime()) ? time : at.toISOString();
}

/** A refusal as the check tells it. Anything else is a failure of this machine. */
export function describe(error: Error & { code?: string; hint?: string }): { code: string; detail: string } {
  const refused = error.name === 'Refused' || error.name === 'Refusal';
  if (!refused) return { code: 'failed', detail: `The check failed: ${error.message}.` };
  return { code: error.code!, detail: error.hint ? `${error.message} ${error.hint}` : error.message };
}

/** What an update that was not made answers. */
export function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  const { name, message, code, hint } = error as Error & { code?: string; hint?: string };
  switch (name) {
    case 'Refused':
    case 'Refusal':
      return new Problem('update-refused', message, { reason: code!, ...(hint ? { hint } : {}) }, error);
    case 'InstallError':
      return code === 'locked'
        ? new Problem('busy', message, {}, error)
        : new Problem('update-not-applicable', message, { reason: code! }, error);
    default:
      return new Problem(
        'update-failed',
        `The update failed: ${message}. The installed version is as it was.`,
        { hint: 'Check the free space and the permissions, then try again.', ...(code ? { reason: code } : {}) },
        error,
      );
  }
}
