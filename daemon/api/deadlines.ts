// Sets how long a client with a window waits for an answer before it gives a request up.

/** In ms. */
const DEADLINE_MS = 60_000;
/** Limits of requests that wait for a password or a whole download. */
const SLOW: Record<string, number> = {
  '/api/killswitch': 300_000,
  '/api/killswitch/pause': 300_000,
  '/api/update/apply': 3_600_000,
  '/api/update/rollback': 300_000,
  // a list of thousands of entries is set by as many runs of the tunnel CLI
  '/api/routes': 3_600_000,
  '/api/routes/undo': 3_600_000,
  '/api/settings/apply': 3_600_000,
  '/api/settings/undo': 3_600_000,
  '/api/changes/revert': 3_600_000,
  // the root service may ask for a password, and others may be in front
  '/api/apps/tunnel-launcher': 300_000,
  '/api/apps/outside-launcher': 300_000,
  // a dozen programs start, each three times
  '/api/trust': 300_000,
  '/api/trust/apply': 300_000,
};

/**
 * The deadline of a request, in ms.
 * @param path with or without its query
 * @param others in place of 60 s for what is not slow
 */
export function deadlineOf(path: string, others = DEADLINE_MS): number {
  return SLOW[path.replace(/\?.*/, '')] ?? others;
}
