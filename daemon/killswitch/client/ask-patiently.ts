// Asks the root service for a program's place, again and again while it has too much to do.
import { setTimeout as delay } from 'node:timers/promises';
import { Problem } from '../../problem.ts';
import { askService } from './busctl.ts';
import type { Places } from './published-state.ts';

/** The root service takes some calls a second of each user. */
const RETRY = { everyMs: 400, attempts: 600 };
/** Start of its answer to a user who calls too often. */
const BUSY = /^(?:Too many calls|Other requests of this user)/;

/** @throws Problem as `askService` */
export async function askPatiently(method: 'KeepInTunnel' | 'LeadOutside', places: Places): Promise<unknown> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await askService({ method }, true, places);
    } catch (error) {
      if (!(error instanceof Problem) || !BUSY.test(error.message) || attempt === RETRY.attempts) throw error;
      await delay(RETRY.everyMs * (0.5 + Math.random()));
    }
  }
}
