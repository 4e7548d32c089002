// Reads the blocked destinations that the root service recorded, and keeps the recording on.
import type { BlockedList } from '../../api/killswitch.ts';
import type { FeatureContext } from '../../controls.ts';
import { Problem } from '../../problem.ts';
import { message } from '../wording.ts';
import { isInstalled, readPublished, requireService, type ServicePaths } from './published-state.ts';
import { askService } from './service-link.ts';

/** Time for which one read keeps the recording on. */
const LOOK_SECONDS = 60;
const RENEW_MS = 60_000;
/** Longer than the time between two renewals, so that a late renewal loses nothing. */
const RENEWED_SECONDS = 180;

const NOTHING: BlockedList = { recordingSince: null, entries: [], hidden: 0, missed: 0 };

/** @throws Problem killswitch-not-installed, killswitch-denied, killswitch-failed */
export async function readBlocked(service: ServicePaths, seconds = LOOK_SECONDS): Promise<BlockedList> {
  requireService(service);
  const published = readPublished(service);
  // the service ended because it had nothing to guard, and a read does not start it
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
        // the kill switch may have been turned on: record from its first packet
        else if (event === 'killSwitch' && timer) void renew();
      });
    },
    stop() {
      unsubscribe();
      if (timer) clearInterval(timer);
    },
  };
}
