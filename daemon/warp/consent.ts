// Keeps what the user agreed to: the vendor's terms, and a sign-in with an organization that was begun here.
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { ActionRequest } from '../api/actions.ts';
import type { CommandOutput } from '../api/schema.ts';
import { makeDirectory } from '../core/files.ts';
import { Problem } from '../problem.ts';

/** Only after the user agreed does the tunnel CLI get the agreement. */
export interface Terms {
  accepted(): boolean;
  /** @throws Problem `config-not-writable` when it could not be stored */
  accept(): void;
}

/** @param file holds the word `accepted` and the time; anything else is not consent */
export function createTerms(file: string): Terms {
  let accepted = read(file);
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

function read(file: string): boolean {
  try {
    return /^accepted\b/.test(readFileSync(file, 'utf8'));
  } catch {
    return false; // no file, no consent
  }
}

/** Time in which a person signs in. */
const LIMIT_MS = 15 * 60_000;
/** The vendor's page ends at `com.cloudflare.warp://TEAM.cloudflareaccess.com/auth?token=JWT`. */
const TEAM = /^com\.cloudflare\.warp:\/\/([a-z0-9-]{1,63})\.cloudflareaccess\.com\//i;

export interface SignIn {
  /** A user of Culvert asks to join this organization. */
  begin(organization: string): void;
  /**
   * Any page of the web can have the browser open such an address, so it counts once, and only for the organization that
   * was asked for within the last minutes.
   * @throws Problem precondition-failed, and as `runAction`
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
