// Answers the API requests about the organization's certificate, and updates Culvert's lists when a certificate changes.
import { existsSync, type FSWatcher, watch } from 'node:fs';
import type { FeatureContext } from '../controls.ts';
import { reason } from '../core/errors.ts';
import { makeDirectory } from '../core/files.ts';
import { type Feature, lazy } from '../feature.ts';
import { isMember } from '../view/states/registration.ts';
import type { Place } from './certificates.ts';
import { DIRECTORY, OLD_PLACE, SYSTEM_PLACES } from './organization.ts';

export function openTrust(context: FeatureContext): Feature<'trust'> {
  const lists = keepTrustLists(context);
  const trust = lazy(async () => (await import('./trust.ts')).createTrustService(context, lists.refresh));
  return {
    handlers: {
      'POST /api/trust': async ({ body }) => (await trust()).report(body),
      'POST /api/trust/apply': async ({ body }) => (await trust()).apply(body),
      'POST /api/trust/undo': async ({ body }) => (await trust()).undo(body),
    },
    start: lists.start,
    async stop() {
      await Promise.all([lists.stop(), trust.loaded().then(loaded => loaded?.stop())]);
    },
  };
}

type Context = Pick<FeatureContext, 'env' | 'paths' | 'state' | 'say'>;

const JOURNAL = 'trust.json';
const PLACES = [...SYSTEM_PLACES, DIRECTORY, OLD_PLACE];
/** Delay after a change, because several files change together. */
const SETTLE_MS = 1_000;
/** Longest timer. A suspended computer stops timers, so a longer timer would end late. */
const MAX_TIMER_MS = 6 * 3_600_000;

/**
 * Checks the lists when the daemon starts, the status, the account or a file changes, or a certificate expires. On a machine
 * without an organization's certificate, it loads and watches nothing.
 * @param place replaces the root directory and its owner in tests
 */
export function keepTrustLists({ env, paths, state, say }: Context, place?: Place) {
  const root = place?.root ?? '';
  const ended = new AbortController();
  let unsubscribe = () => {};
  let last: Promise<void> = Promise.resolve();
  let watches: FSWatcher[] = [];
  let timer: NodeJS.Timeout | undefined;

  async function look(): Promise<void> {
    const isChanged = existsSync(`${paths.trust}/${JOURNAL}`);
    if (ended.signal.aborted) return;
    if (!isChanged && !PLACES.some(path => existsSync(root + path))) {
      state.set('trust', { offered: false, removalDue: false });
      return;
    }
    try {
      const { createTrust } = await import('./trust.ts');
      const trust = createTrust({ env, paths, signal: ended.signal, isMember: isMember(state.snapshot()), place });
      if (isChanged) await trust.refresh();
      const { certificates, removalDue, applied } = trust.summary();
      state.set('trust', { offered: certificates.length + applied.length > 0, removalDue });
      const ends = certificates.flatMap(each => (each.state === 'valid' ? [Date.parse(each.until)] : []));
      follow(ends, trust.directories());
    } catch (error) {
      say(`The certificates for tools could not be renewed: ${reason(error)}`);
    }
  }

  const next = () => {
    last = last.then(look);
    return last;
  };

  /** @param ends expiry times of the certificates, in milliseconds since 1970 */
  function follow(ends: readonly number[], directories: readonly string[]): void {
    for (const each of watches) each.close();
    watches = [];
    if (ended.signal.aborted) return;
    const later = (ms: number) => {
      clearTimeout(timer);
      timer = setTimeout(next, ms).unref();
    };
    if (ends.length > 0) later(Math.min(MAX_TIMER_MS, Math.max(SETTLE_MS, Math.min(...ends) - Date.now())));
    const soon = (directory: string, isOf: (name: string) => boolean) => {
      try {
        const onChange = (_: string, name: string | null) => (name === null || isOf(name)) && later(SETTLE_MS);
        watches.push(watch(directory, { persistent: false }, onChange).on('error', () => {}));
      } catch {
        // the directory is missing, or the system's limit of watches is reached
      }
    };
    for (const each of directories) soon(each, () => true);
    // ignores the other files, which this process writes
    makeDirectory(paths.trust);
    soon(paths.trust, name => name.startsWith(JOURNAL));
  }

  return {
    start() {
      unsubscribe = state.subscribe(({ event }) => {
        if (event === 'account' || event === 'status') void next();
      });
      void next();
    },
    /** Checks the lists after any running check. Never rejects. */
    refresh: next,
    async stop() {
      unsubscribe();
      ended.abort();
      clearTimeout(timer);
      for (const each of watches) each.close();
      await last;
    },
  };
}
