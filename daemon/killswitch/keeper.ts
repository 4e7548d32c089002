// Keeps kernel, files and report in step with the mode of the kill switch.
import { describeState } from './describe-state.ts';
import type { Edges } from './edges.ts';
import { createEffects, messageOf, readStored, readTrial, tolerant } from './effects.ts';
import type { Report } from './report.ts';
import type { Trial } from './rules/persisted-rules.ts';
import { isBlocking, type Listing } from './rules/ruleset-diff.ts';
import { SwitchError } from './switch-error.ts';
import { type Event, inForce, type Mode, reconcile, transition, undo } from './transition.ts';
import { type Message, wordingOf } from './wording.ts';

/** Until the next attempt, where the kernel refused the rules. */
const RETRY_SECONDS = 2;

/** @param ring called when the next measurement is due. Calls of the returned functions must not overlap. */
export function createKeeper(edges: Edges, ring: () => void) {
  const { kernel, files, clock } = edges;
  let mode: Mode = { kind: 'off' };
  let trouble: Message[] | null = null;
  let repairedAt: number | null = null;
  let announced: { until: number; ends: number } | null = null;
  const effects = createEffects(edges);

  /** Runs the effects of an event. The mode changes after the last of them, or before the first. @throws Error */
  async function makeTransition(
    { mode: next, effects: list }: ReturnType<typeof transition>,
    order: 'first' | 'after' = 'after',
  ) {
    if (order === 'first') mode = next;
    for (const effect of list) await effects.apply(effect);
    mode = 'fingerprint' in next && inForce(next) ? { ...next, fingerprint: effects.fingerprint() } : next;
  }

  /** Repairs foreign changes, ends what is due, and lists the rules afterwards. */
  async function settle(): Promise<Listing | null> {
    const listing = await kernel.list();
    const seen = { fingerprint: listing?.fingerprint ?? null, blocks: isBlocking(listing) };
    const event = reconcile(mode, seen, clock.uptime());
    if (!event) return listing;
    if (event.kind === 'damaged') await repairDamage();
    else await makeTransition(transition(mode, event));
    return kernel.list();
  }

  async function repairDamage(): Promise<void> {
    if (!('fingerprint' in mode) || mode.fingerprint !== null) repairedAt = clock.now();
    await makeTransition(transition(mode, { kind: 'damaged' }));
  }

  /** In wall-clock time as it was when the trial was first reported, so that it is the same in each report. */
  function trialEnds({ until }: Trial): number {
    if (announced?.until !== until) announced = { until, ends: clock.now() + (until - clock.uptime()) * 1000 };
    return announced.ends;
  }

  async function measure(): Promise<Report> {
    let listing: Listing | null | undefined;
    try {
      listing = await settle();
      if (mode.kind !== 'fail-closed') trouble = null;
    } catch (error) {
      trouble = wordingOf(error);
      listing = await kernel.list().catch(() => undefined);
    }
    const active = listing === undefined ? null : isBlocking(listing);
    const report = describeState(mode, {
      active,
      protection: kernel.protection(listing ?? null),
      bootGuard: edges.bootGuard(),
      backend: kernel.backend,
      trouble,
      isSigningIn: edges.isSigningIn(),
      repairedAt,
      ends: mode.kind === 'trying' ? trialEnds(mode.trial) : 0,
    });
    edges.alarm(nextLook(mode, active, clock.uptime()), ring);
    edges.publish(report);
    return report;
  }

  /** Runs a change; where it fails, restores mode and files. @throws SwitchError Failed */
  async function change(event: Event, failure: string): Promise<Report> {
    const previous = mode;
    const stored = {
      rules: tolerant(() => files.read('rules.nft')),
      trial: tolerant(() => files.read('trial.json')),
    };
    try {
      await makeTransition(transition(mode, event));
      trouble = repairedAt = null;
    } catch (error) {
      await makeTransition(undo(previous, event, stored)).catch(() => {});
      await measure();
      throw new SwitchError('Failed', `${failure}: ${messageOf(error)}`, error);
    }
    return measure();
  }

  async function start(): Promise<Report> {
    try {
      const stored = readStored(files);
      const event: Event = {
        kind: 'started',
        stored,
        trial: readTrial(edges),
        inForce: stored.kind === 'absent' && (await kernel.list()) !== null,
      };
      await makeTransition(transition(mode, event), 'first');
    } catch (error) {
      trouble = wordingOf(error);
    }
    return measure();
  }

  return {
    start,
    change,
    measure,
    mode: () => mode,
  };
}

/** Seconds until the next measurement is due; null: none is, until something else happens. */
function nextLook(mode: Mode, active: boolean | null, uptime: number): number | null {
  if (mode.kind === 'trying') {
    const left = mode.trial.until - uptime;
    if (left <= 0) return RETRY_SECONDS; // ending it has failed
    const retry = active !== true && mode.trial.wanted !== null;
    return retry ? Math.min(RETRY_SECONDS, left) : left;
  }
  return active !== true && mode.kind !== 'off' ? RETRY_SECONDS : null;
}
