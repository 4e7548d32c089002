// Reads what the root service recorded: blocked destinations, and ended sign-ins of this user.

import { join } from 'node:path';
import type { BlockedList, HistorySignIn } from '../../api/killswitch.ts';
import type { FeatureContext } from '../../controls.ts';
import { versionAt } from '../../core/file-version.ts';
import { Problem } from '../../problem.ts';
import { SIGN_INS_FILE } from '../report.ts';
import { message } from '../wording.ts';
import { isInstalled, readPublished, requireService, type ServicePaths } from './published-state.ts';
import { askService } from './service-link.ts';

/** Time for which one look keeps the recording on. */
const LOOK_SECONDS = 60;
const RENEW_MS = 60_000;
/** Longer than the time between two renewals, so that a late one loses nothing. */
const RENEWED_SECONDS = 180;

const NOTHING: BlockedList = { recordingSince: null, entries: [], hidden: 0, missed: 0 };

/** @throws Problem killswitch-not-installed, killswitch-denied, killswitch-failed */
export async function readBlocked(service: ServicePaths, seconds = LOOK_SECONDS): Promise<BlockedList> {
  requireService(service);
  const published = readPublished(service);
  // the service ended with nothing to guard, and this does not start it
  if (!('unreadable' in published) && published.pid === null) return NOTHING;
  const answer = await askService({ method: 'Blocked', seconds }, false, service);
  // loaded with the first answer: an idle daemon does without zod
  const { BlockedList } = await import('../../api/killswitch.ts');
  const list = BlockedList.safeParse(answer);
  if (!list.success) throw new Problem('killswitch-failed', message("The root service's answer can't be parsed."));
  return list.data;
}

/** Keeps the recording on while `warp.recordBlocked` is set. */
export function createBlockedRenewal({ state, settings, say }: FeatureContext, service: ServicePaths) {
  let timer: NodeJS.Timeout | null = null;
  let unsubscribe = () => {};
  let hasFailed = false;

  const renew = () =>
    readBlocked(service, RENEWED_SECONDS).then(
      () => {
        hasFailed = false;
      },
      (error: Error) => {
        if (!hasFailed && isInstalled(service)) say(`Kill switch: ${error.message}`);
        hasFailed = true;
      },
    );

  function follow(isWanted: boolean): void {
    if (timer) clearInterval(timer);
    timer = isWanted ? setInterval(renew, RENEW_MS) : null;
    timer?.unref();
    if (isWanted) void renew();
  }

  return {
    start() {
      if (settings.config.warp.recordBlocked) follow(true);
      unsubscribe = state.subscribe(({ event }) => {
        const { recordBlocked } = settings.config.warp;
        if (event === 'config' && recordBlocked !== (timer !== null)) follow(recordBlocked);
        // it may have been turned on: record from its first packet
        else if (event === 'killSwitch' && timer) void renew();
      });
    },
    stop() {
      unsubscribe();
      if (timer) clearInterval(timer);
    },
  };
}

/** @param record called with each */
export function createSignedIn(service: ServicePaths, record: (signIn: HistorySignIn) => void) {
  let seen: string | null = null;
  let last: HistorySignIn | null = null;
  let taking: Promise<void> = Promise.resolve();

  /** Asks nothing where the service has nothing new to tell. */
  async function takeNew(): Promise<void> {
    const version = versionAt(join(service.run, SIGN_INS_FILE));
    if (version === null || version === seen) return;
    const answer = await askService({ method: 'SignedIn' }, false, service);
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
    /** The last sign-in that ended since the daemon started; null: none did. */
    async last(): Promise<HistorySignIn | null> {
      await take();
      return last;
    },
  };
}
