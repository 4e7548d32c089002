// Sets how long a client with a window waits for an answer before it gives a request up.
import type { RequestLine } from './contract.ts';
import { TOOL_CHANGE_MS, TOOL_CHANGES_WAITING } from './limits.ts';

/** The time for most requests, in ms. */
const USUAL_MS = 60_000;
/** A person may have to type a password, or a dozen programs start, in ms. */
const MINUTES_MS = 300_000;
/** A download, or as many runs of the tunnel CLI as a list has entries, in ms. */
const HOUR_MS = 3_600_000;

/** Requests that change or try something. Each needs a row, so that none is forgotten. */
type Timed = Extract<RequestLine, `POST ${string}`>;

/** In ms; null for the usual time. */
const LIMITS: Record<Timed, number | null> = {
  'POST /api/restart': null,
  'POST /api/session': null,
  'POST /api/account/sign-in': null,
  'POST /api/action': null,
  'POST /api/killswitch': MINUTES_MS,
  'POST /api/killswitch/pause': MINUTES_MS,
  'POST /api/config/session': null,
  'POST /api/config/user': null,
  'POST /api/apps/proxy-launcher': null,
  // the root service may ask for a password, and others may be in front
  'POST /api/apps/tunnel-launcher': MINUTES_MS,
  'POST /api/apps/outside-launcher': MINUTES_MS,
  'POST /api/apps/shortcut': null,
  'POST /api/update/apply': HOUR_MS,
  'POST /api/update/rollback': MINUTES_MS,
  'POST /api/why': null,
  'POST /api/proof': null,
  'POST /api/routes/preview': null,
  'POST /api/routes': HOUR_MS,
  'POST /api/routes/undo': HOUR_MS,
  'POST /api/networks': null,
  'POST /api/networks/what-if': null,
  'POST /api/networks/answer': null,
  'POST /api/networks/revert': null,
  'POST /api/settings/diff': null,
  'POST /api/settings/apply': HOUR_MS,
  'POST /api/settings/undo': HOUR_MS,
  // those in front come first, and the daemon's own answer says more than a client that gave up
  'POST /api/accounts': (TOOL_CHANGES_WAITING + 1) * TOOL_CHANGE_MS + USUAL_MS,
  'POST /api/trust': MINUTES_MS,
  'POST /api/trust/apply': MINUTES_MS,
  'POST /api/trust/undo': null,
  'POST /api/history/clear': null,
  'POST /api/changes/confirm': null,
  'POST /api/changes/revert': HOUR_MS,
  'POST /api/changes/extend': null,
  'POST /api/doctor': null,
  'POST /api/doctor/bundle': null,
  'POST /api/doctor/fix': null,
  'POST /api/doctor/undo': null,
};

/**
 * The deadline of a request, in ms.
 * @param path with or without its query
 * @param usual in place of 60 s for what is not slow
 */
export function deadlineOf(method: string, path: string, usual = USUAL_MS): number {
  const line = `${method} ${path.replace(/\?.*/, '')}`;
  return (LIMITS as Record<string, number | null>)[line] ?? usual;
}
