// Makes changes that revert automatically if they are not confirmed or when their time is up, and reverts them.
import { type ActionRequest, type TunnelSubject as Subject, subjectOf } from '../api/actions.ts';
import type { ChangeOptions } from '../api/changes.ts';
import type { CommandOutput, Snapshot } from '../api/schema.ts';
import type { FeatureContext, RoutesChange, RoutesControl, RoutesPlan } from '../controls.ts';
import { reason } from '../core/errors.ts';
import { Problem } from '../problem.ts';
import { mayHaveChanged } from '../warp/cli/failures.ts';
import { type ChangeStore, createChangeStore } from './change-store.ts';
import { type Clock, deadlineIn, type Pending, readClock } from './changes-file.ts';
import {
  actionsTo,
  currentValue,
  knownNow,
  reportedOnly,
  settingOf,
  textOf,
  type Value,
  valueNotRead,
} from './values.ts';

interface Options {
  context: Pick<FeatureContext, 'paths' | 'state' | 'tunnel' | 'say'>;
  /** Loads the control that restores lists of routes. */
  routes(): Promise<Pick<RoutesControl, 'restore'>>;
  /** Called after an unconfirmed change, or one whose time was up, was reverted. */
  reverted?(subject: Subject): void;
  clock?: () => Clock;
}

type LimitedRequest = ActionRequest & ChangeOptions;
/** Runs the action of a request. */
type Work = () => Promise<CommandOutput | null>;

/** Reads the file of changes, and immediately reverts a change that the daemon's end interrupted. */
export function createChangeService({ context, routes, reverted, clock = readClock }: Options) {
  const { paths, state, tunnel, say } = context;
  const store = createChangeStore({ paths, state, clock, say, onDue: revertDue });
  const maker = createMaker(store, clock);
  const exclusively = createQueues();
  const restore = (previous: Value) => restoreValue(previous, context, routes);
  let stopped = false;
  let answers = isAnswering(state.snapshot().status);
  const unsubscribe = state.subscribe(({ event }) => {
    if (event !== 'status') return;
    const before = answers;
    answers = isAnswering(state.snapshot().status);
    if (answers && !before) store.hasten();
  });
  /** Queues an attempt to revert a subject's change. */
  const attempt = <T>(subject: Subject, work: () => Promise<T>): Promise<T> =>
    store.during(subject, () => exclusively(subject, work));

  function revertDue(): void {
    for (const [subject, entry] of store.due()) void attempt(subject, () => revertOne(subject, entry));
    store.publish();
  }

  async function revertOne(subject: Subject, entry: Pending): Promise<void> {
    if (stopped || store.get(subject) !== entry) return; // confirmed, extended or replaced since
    say(`Reverting the change of ${subject}.`);
    try {
      await restore(entry.previous);
      store.note(subject, null);
      reverted?.(subject);
      say(`The change of ${subject} was reverted.`);
    } catch (error) {
      if (stopped) return;
      say(`The change of ${subject} could not be reverted and is tried again: ${reason(error)}`);
      store.fail(subject, error);
    }
  }

  async function actWithin(subject: Subject, request: LimitedRequest, work: Work): Promise<CommandOutput | null> {
    if (!isLimited(request)) return maker.keep(subject, work);
    const value = settingOf(request);
    const previous = store.get(subject)?.previous ?? (await readPrevious(subject, context));
    if (value !== null && value === textOf(previous)) return maker.keep(subject, work);
    return maker.makeReturning({ ...limitsOf(request), previous, value }, work);
  }

  function subjectsOf(subject: Subject | undefined, matches: (entry: Pending) => boolean): Subject[] {
    return store
      .entries()
      .filter(([name, entry]) => (!subject || name === subject) && !entry.making && matches(entry))
      .map(([name]) => name);
  }

  return {
    runWithLimit(request: LimitedRequest, isAutomatic?: boolean): Promise<CommandOutput | null> {
      const subject = subjectOf(request.action);
      const work = () => tunnel.runAction(request, isAutomatic);
      if (subject) return exclusively(subject, () => actWithin(subject, request, work));
      if (!isLimited(request)) return work();
      throw new Problem('argument-rejected', `The action ${request.action} can't be reverted automatically.`, {
        hint: 'Leave confirmWithin and forSeconds out.',
      });
    },

    setRoutes<P extends RoutesPlan, T>({ confirmWithin, plan, work }: RoutesChange<P, T>): Promise<T> {
      return exclusively('routes', async () => {
        const planned = await plan();
        if (!planned.previous) return maker.keep('routes', () => work(planned));
        const previous = store.get('routes')?.previous ?? { subject: 'routes', value: planned.previous };
        return maker.makeReturning({ confirmWithin, previous, value: null }, () => work(planned));
      });
    },

    /** @throws Problem nothing-pending, state-not-writable */
    confirm(subject?: Subject): void {
      const unconfirmed = subjectsOf(subject, ({ confirmBy }) => confirmBy !== null);
      if (subject || !store.acknowledgeLost()) requireSome(unconfirmed);
      for (const name of unconfirmed) {
        const entry = store.get(name)!;
        store.set(name, entry.endsAt ? { ...entry, confirmBy: null } : null);
      }
    },

    /**
     * @throws Problem nothing-pending, and the tunnel CLI's problems; the change then counts as over, and the daemon retries
     *   until reverting succeeds
     */
    async revert(subject?: Subject): Promise<void> {
      const names = requireSome(subjectsOf(subject, () => true));
      const attempts = names.map(name => attempt(name, () => revertNow(name, { store, restore, clock })));
      await Promise.allSettled(attempts);
      await Promise.all(attempts); // throws the first failure
    },

    checkpoint: (subject: Subject) => checkpoint(subject, { store, context, attempt, restore }),

    /** Tries to revert unconfirmed changes before the daemon ends, except changes that are being made. */
    async revertUnconfirmed(): Promise<void> {
      const revertUnlessConfirmed = async (subject: Subject) => {
        const entry = store.get(subject);
        if (entry?.confirmBy && !entry.making) await revertOne(subject, entry);
      };
      await Promise.all(store.entries().map(([subject]) => attempt(subject, () => revertUnlessConfirmed(subject))));
    },

    /** @throws Problem nothing-pending, state-not-writable */
    extend(subject: Subject | undefined, seconds: number): void {
      for (const name of requireSome(subjectsOf(subject, ({ endsAt }) => endsAt !== null)))
        store.set(name, { ...store.get(name)!, endsAt: deadlineIn(seconds, clock()) });
    },

    stop(): void {
      stopped = true;
      unsubscribe();
      store.stop();
    },
  };
}

/** True if the tunnel CLI reports a state and nothing blocks it. */
function isAnswering({ state, blocked }: Snapshot['status']): boolean {
  return state !== 'unknown' && blocked === null;
}

interface Reverting extends Pick<CheckpointParts, 'store' | 'restore'> {
  clock(): Clock;
}

/** Reverts a change that the user wants reverted. After a failure, it counts as over. */
async function revertNow(subject: Subject, { store, restore, clock }: Reverting): Promise<void> {
  const entry = store.get(subject);
  if (!entry || entry.making) return;
  try {
    await restore(entry.previous);
  } catch (error) {
    store.note(subject, { ...entry, endsAt: deadlineIn(0, clock()) });
    store.fail(subject, error);
    throw error;
  }
  store.note(subject, null);
}

/** Serializes the changes of each subject, and their reversals. */
function createQueues() {
  const queues = new Map<Subject, Promise<unknown>>();
  return <T>(subject: Subject, work: () => Promise<T>): Promise<T> => {
    const result = (queues.get(subject) ?? Promise.resolve()).then(work);
    queues.set(
      subject,
      result.catch(() => {}),
    );
    return result;
  };
}

/**
 * Restores a previous value without comparing it with the known value, which may be outdated if reads fail. Only the
 * entries of a list are compared.
 */
async function restoreValue(previous: Value, context: Options['context'], routes: Options['routes']): Promise<void> {
  if (previous.subject === 'routes') return (await routes()).restore(previous.value);
  const isList = previous.subject === 'fallback';
  const now = isList ? await readValue(previous.subject, context) : null;
  if (isList && !now) throw valueNotRead();
  for (const action of actionsTo(previous, now)) await context.tunnel.runAction(action, true);
}

/** Reads the current value; null if unknown. */
async function readValue(subject: Subject, context: Options['context']): Promise<Value | null> {
  const { tunnel } = context;
  await tunnel.refresh('stale');
  const value = currentValue(subject, knownNow(context));
  if (value || tunnel.stale().length === 0) return value;
  // reading only stale parts gives up early on a busy machine
  await tunnel.refresh('all');
  return currentValue(subject, knownNow(context));
}

/** Reads the value before a change. @throws Problem previous-unknown */
async function readPrevious(subject: Subject, context: Options['context']): Promise<Value> {
  const value = await readValue(subject, context);
  if (value) return value;
  const condition = reportedOnly(subject, knownNow(context));
  const why = condition ? `reports this value only ${condition}` : 'does not report the current value';
  throw new Problem('previous-unknown', `The tunnel client ${why}, so it could not be restored.`, {
    hint: `Make the change without a time limit${condition ? '.' : ', or see: culvert doctor'}`,
  });
}

/** @throws Problem nothing-pending */
function requireSome(subjects: Subject[]): Subject[] {
  if (subjects.length) return subjects;
  throw new Problem('nothing-pending', 'There is no such change, or it was already reverted.');
}

interface LimitedChange extends ChangeOptions {
  previous: Value;
  /** The new value in readable form; null for lists. */
  value: string | null;
}

/** Makes single changes, and stores the previous values while the changes may revert. */
function createMaker(store: ChangeStore, clock: () => Clock) {
  return {
    /** Makes a permanent change, which replaces a pending change of the same subject. */
    async keep<T>(subject: Subject, work: () => Promise<T>): Promise<T> {
      const result = await work();
      store.note(subject, null);
      store.acknowledgeLost();
      return result;
    },

    /** Makes a change after writing its previous value to disk, so that it reverts even after a kill. */
    async makeReturning<T>(change: LimitedChange, work: () => Promise<T>): Promise<T> {
      const { subject } = change.previous;
      const before = store.get(subject) ?? null;
      const limited = isLimited(change) ? () => entryOf(change, clock()) : () => null;
      store.set(subject, { ...entryOf(change, clock()), making: true });
      let result: T;
      try {
        result = await work();
      } catch (error) {
        if (error instanceof Problem && error.notRestored) store.fail(subject, error, 'now');
        else store.note(subject, (mayHaveChanged(error) && limited()) || before);
        throw error;
      }
      store.note(subject, limited());
      store.acknowledgeLost();
      return result;
    },
  };
}

const limitsOf = ({ confirmWithin, forSeconds }: ChangeOptions): ChangeOptions => ({
  confirmWithin,
  forSeconds,
});

const isLimited = ({ confirmWithin, forSeconds }: ChangeOptions) =>
  confirmWithin !== undefined || forSeconds !== undefined;

function entryOf({ previous, value, confirmWithin, forSeconds }: LimitedChange, now: Clock): Pending {
  return {
    previous,
    value,
    setAt: new Date(now.wallMs).toISOString(),
    making: false,
    confirmBy: confirmWithin === undefined ? null : deadlineIn(confirmWithin, now),
    endsAt: forSeconds === undefined ? null : deadlineIn(forSeconds, now),
  };
}

interface CheckpointParts {
  store: ChangeStore;
  context: Options['context'];
  attempt(subject: Subject, work: () => Promise<void>): Promise<void>;
  restore(value: Value): Promise<void>;
}

/** Returns the function that puts a subject's pending change back, with its limits and its value; null without one. */
async function checkpoint(subject: Subject, parts: CheckpointParts): Promise<(() => Promise<void>) | null> {
  const { store, context, attempt, restore } = parts;
  const entry = store.get(subject);
  const value = entry && !entry.making ? await readValue(subject, context) : null;
  if (!entry || !value) return null;
  return () =>
    attempt(subject, async () => {
      store.note(subject, entry);
      await restore(value);
    });
}
