// Stores the user's agreement to the vendor's terms, and accepts only sign-ins to an organization that the user began here.
import { writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { ActionRequest } from '../api/actions.ts';
import type { CommandOutput } from '../api/schema.ts';
import { makeDirectory, readText } from '../core/files.ts';
import { Problem } from '../problem.ts';

/** The user's agreement, which the tunnel CLI gets only after the user gave it. */
export interface Terms {
  accepted(): boolean;
  /** @throws Problem `config-not-writable` if the agreement can't be stored */
  accept(): void;
}

/** @param file path of a file with the word `accepted` and the time; any other content is no consent */
export function createTerms(file: string): Terms {
  let accepted = /^accepted\b/.test(readText(file) ?? '');
  return {
    accepted: () => accepted,
    accept() {
      try {
        makeDirectory(dirname(file));
        writeFileSync(file, `accepted ${new Date().toISOString()}\n`, { mode: 0o600 });
      } catch (cause) {
        const why = (cause as Error).message;
        throw new Problem('config-not-writable', `Your agreement could not be stored: ${why}`, {}, cause);
      }
      accepted = true;
    },
  };
}

/** Time limit for a sign-in. */
const LIMIT_MS = 15 * 60_000;
/** The vendor's page ends at `com.cloudflare.warp://TEAM.cloudflareaccess.com/auth?token=JWT`. */
const TEAM = /^com\.cloudflare\.warp:\/\/([a-z0-9-]{1,63})\.cloudflareaccess\.com\//i;

export interface SignIn {
  /** Records that the user wants to join this organization. */
  begin(organization: string): void;
  /**
   * Passes the token on. Any website can make the browser open such an address, so it is accepted once, and only for the
   * organization of a sign-in that began in the last 15 minutes.
   * @throws Problem precondition-failed, and like `runAction`
   */
  finish(address: string): Promise<CommandOutput | null>;
}

/** @param now monotonic time, in ms */
export function createSignIn(
  runAction: (request: ActionRequest) => Promise<CommandOutput | null>,
  now: () => number = () => performance.now(),
): SignIn {
  let begun: { organization: string; until: number } | null = null;
  return {
    begin(organization) {
      begun = { organization: organization.toLowerCase(), until: now() + LIMIT_MS };
    },
    async finish(address) {
      const team = TEAM.exec(address)?.[1]?.toLowerCase();
      if (team === undefined || !begun || begun.organization !== team || now() > begun.until)
        throw new Problem('precondition-failed', 'No sign-in to this organization was begun in Culvert.', {
          hint: 'If you want to join it, enter its name on the page Account first, or use: culvert account register --organization NAME',
        });
      begun = null;
      return runAction({ action: 'setRegistrationToken', value: address });
    },
  };
}
