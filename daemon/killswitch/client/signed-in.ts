// Takes from the root service what sign-ins of this user let through, once they have ended.
import { join } from 'node:path';
import type { HistorySignIn } from '../../api/killswitch.ts';
import { versionAt } from '../../system/files.ts';
import { SIGN_INS_FILE } from '../report.ts';
import { askService } from './busctl.ts';
import type { Places } from './published-state.ts';

/** @param record called with each */
export function createSignedIn(places: Places, record: (signIn: HistorySignIn) => void) {
  let seen: string | null = null;
  let last: HistorySignIn | null = null;
  let taking: Promise<void> = Promise.resolve();

  /** Asks nothing where the service has nothing new to tell. */
  async function takeNew(): Promise<void> {
    const version = versionAt(join(places.run, SIGN_INS_FILE));
    if (version === null || version === seen) return;
    const answer = await askService({ method: 'SignedIn' }, false, places);
    // loaded with the first answer: an idle daemon does without zod
    const { HistorySignIn } = await import('../../api/killswitch.ts');
    if (!Array.isArray(answer)) throw new Error('The root service reported no list of sign-ins.');
    const reports = answer.map(each => HistorySignIn.parse(each));
    seen = version; // after a failure it asks again
    for (const report of reports) record(report);
    last = reports.at(-1) ?? last;
  }

  /** Called whenever the service may have published something. @throws Problem as `askService` */
  const take = () => {
    taking = taking.catch(() => {}).then(takeNew);
    return taking;
  };
  return {
    take,
    /** The last one that ended since the daemon was started; null without one. */
    async last(): Promise<HistorySignIn | null> {
      await take();
      return last;
    },
  };
}
