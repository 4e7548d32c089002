// Finishes a sign-in with an organization that was begun here, with the address that the browser hands over.
import type { ActionRequest } from '../api/actions.ts';
import type { CommandOutput } from '../api/schema.ts';
import { Problem } from '../problem.ts';

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
