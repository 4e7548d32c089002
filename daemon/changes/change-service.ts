// Makes changes that are taken back by themselves, and takes them back: unless they are confirmed, or when their time is up.
import { type ActionRequest, subjectOf } from '../api/actions.ts';
import type { ChangeOptions } from '../api/schema/changes.ts';
import type { CommandOutput } from '../api/schema.ts';
import type { TunnelSubject as Subject } from '../api/subjects.ts';
import type { FeatureContext, Making, RoutesControl } from '../controls.ts';
import { NotRestored, Problem } from '../problem.ts';
import { reason } from '../system/errno.ts';
import { createChangeStore } from './change-store.ts';
import type { Pending } from './changes-file.ts';
import { type Clock, deadlineIn, readClock } from './deadline.ts';
import { actionsTo, currentValue, settingOf, textOf, type Value } from './values.ts';

interface Options {
  context: Pick<FeatureContext, 'paths' | 'state' | 'tunnel' | 'say'>;
  /** Sets lists of routes again. */
  routes(): Promise<Pick<RoutesControl, 'restore'>>;
  clock?: () => Clock;
}

export type ChangeService = ReturnType<typeof createChangeService>;

/** Reads the file of changes, and takes back at once what was being made when the daemon ended. */
export function createChangeService({ context, routes, clock = readClock }: Options) {
  const { paths, state, tunnel, say } = context;
  const store = createChangeStore({ file: paths.changes, state, clock, say, look });
  const exclusively = createQueues();
  const { restore, previousOf } = createReturn(context, routes);
  let stopped = false;

  function look(): void {
    for (const [subject, entry] of store.due()) void exclusively(subject, () => takeBackDue(subject, entry));
    store.publish();
  }

  async function takeBackDue(subject: Subject, entry: Pending): Promise<void> {
    if (stopped || store.get(subject) !== entry) return; // confirmed, extended or replaced meanwhile
    try {
      await restore(entry.previous);
      store.note(subject, null);
      say(`The change of ${subject} was taken back.`);
    } catch (error) {
      if (stopped) return;
      say(`The change of ${subject} could not be taken back and is tried again: ${reason(error)}`);
      store.fail(subject, error);
    }
  }

  async function make<T>(subject: Subject, making: Making, work: () => Promise<T>): Promise<T> {
    const before = store.get(subject);
    const { value, prepare, confirmWithin, forSeconds } = making;
    const timed = confirmWithin !== undefined || forSeconds !== undefined;
    const journal = (await prepare?.()) ?? null;
    const previous = before?.previous ?? (prepare ? listed(journal) : timed ? await previousOf(subject) : null);
    const changesNothing = prepare ? journal === null : previous && value !== null && value === textOf(previous);
    if (!previous || (!timed && !prepare) || changesNothing) {
      const result = await work();
      if (before) store.note(subject, null); // a choice without a limit replaces one with a limit
      return result;
    }
    const entry = () => entryOf(previous, making, clock());
    store.set(subject, entry());
    let result: T;
    try {
      result = await work();
    } catch (error) {
      if (error instanceof NotRestored) {
        store.fail(subject, error, 'now');
        throw error.problem;
      }
      // a command that was killed may have done its work before
      const uncertain = timed && error instanceof Problem && error.code === 'tunnel-cli-timeout';
      store.note(subject, uncertain ? { ...entry(), making: false } : (before ?? null));
      throw error;
    }
    store.note(subject, timed ? { ...entry(), making: false } : null);
    return result;
  }

  function the(subject: Subject | undefined, wanted: (entry: Pending) => boolean): Subject[] {
    const found = store
      .entries()
      .filter(([name, entry]) => (!subject || name === subject) && !entry.making && wanted(entry));
    if (found.length) return found.map(([name]) => name);
    throw new Problem('nothing-pending', 'There is no such change, or its previous value has returned already.');
  }

  return {
    make: <T>(subject: Subject, making: Making, work: () => Promise<T>) =>
      exclusively(subject, () => make(subject, making, work)),

    perform(request: ActionRequest & ChangeOptions): Promise<CommandOutput | null> {
      const { confirmWithin, forSeconds } = request;
      const subject = subjectOf(request.action);
      if (subject) {
        const work = () => tunnel.perform(request);
        return exclusively(subject, () =>
          make(subject, { value: settingOf(request), confirmWithin, forSeconds }, work),
        );
      }
      if (confirmWithin === undefined && forSeconds === undefined) return tunnel.perform(request);
      throw new Problem('argument-rejected', `The action ${request.action} can't be taken back by itself.`, {
        hint: 'Leave confirmWithin and forSeconds out.',
      });
    },

    /** @throws Problem nothing-pending, state-not-writable */
    confirm(subject?: Subject): void {
      for (const name of the(subject, ({ confirmBy }) => confirmBy !== null)) {
        const entry = store.get(name)!;
        store.set(name, entry.endsAt ? { ...entry, confirmBy: null } : null);
      }
    },

    /** @throws Problem nothing-pending, and what the tunnel CLI answers */
    async revert(subject?: Subject): Promise<void> {
      for (const name of the(subject, () => true))
        await exclusively(name, async () => {
          const entry = store.get(name);
          if (!entry || entry.making) return;
          await restore(entry.previous);
          store.set(name, null);
        });
    },

    /** Sets back what was not confirmed, before the daemon ends. What fails is set back at the next start. */
    async revertUnconfirmed(): Promise<void> {
      const revertOne = async (subject: Subject) => {
        const entry = store.get(subject);
        if (entry?.confirmBy && !entry.making) await takeBackDue(subject, entry);
      };
      await Promise.all(store.entries().map(([subject]) => exclusively(subject, () => revertOne(subject))));
    },

    /** @throws Problem nothing-pending, state-not-writable */
    extend(subject: Subject | undefined, seconds: number): void {
      for (const name of the(subject, ({ endsAt }) => endsAt !== null))
        store.set(name, { ...store.get(name)!, endsAt: deadlineIn(seconds, clock()) });
    },

    stop(): void {
      stopped = true;
      store.stop();
    },
  };
}

/** Changes of one subject are made and taken back one after another. */
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

/** Finds the value before a change, and sets it again. */
function createReturn({ tunnel, state }: Options['context'], routes: Options['routes']) {
  async function restore(previous: Value): Promise<void> {
    if (previous.subject === 'routes') return (await routes()).restore(previous.value);
    await tunnel.refresh('stale');
    for (const action of actionsTo(previous, state.snapshot())) await tunnel.perform(action);
  }

  async function previousOf(subject: Subject): Promise<Value> {
    await tunnel.refresh('stale');
    const value = currentValue(subject, state.snapshot());
    if (value) return value;
    throw new Problem(
      'previous-unknown',
      'The tunnel client does not report what is set now, so it could not return.',
      {
        hint: 'Make the change without a time limit, or see: culvert doctor',
      },
    );
  }

  return { restore, previousOf };
}

const listed = (value: string[] | null): Value | null => value && { subject: 'routes', value };

/** What is noted while the change is being made. */
function entryOf(previous: Value, { value, confirmWithin, forSeconds }: Making, now: Clock): Pending {
  return {
    previous,
    value,
    setAt: new Date(now.wallMs).toISOString(),
    making: true,
    confirmBy: confirmWithin === undefined ? null : deadlineIn(confirmWithin, now),
    endsAt: forSeconds === undefined ? null : deadlineIn(forSeconds, now),
  };
}
