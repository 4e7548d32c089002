// Defines what a page of rows is: its form, and what it reads while it can be seen. Each client has one widget for any of them.
import type { Event } from '../../api/client.ts';
import type { Form } from '../form.ts';
import type { Host } from '../host.ts';
import { errorText } from '../states/problems.ts';
import type { View } from '../view.ts';

/** A page that was opened. */
export interface OpenPage {
  /** The rows for this state. Clients ask for them only while the page can be seen. */
  form(view: View): Form;
  /** The form changes with time alone, so that clients ask for it each second. */
  ticks?: boolean;
  /** Reads again what no event reports. Clients call it when the page is turned to, after its first form. */
  shown?(): void;
  /** The row in which the keyboard begins; by default the first one. */
  first?: string;
  /** Prepares the form for a row that a search may have to show first. Clients ask for the form afterwards. */
  reveal?(row: string): void;
  /** Another page is turned to, and a search begins empty again. Clients that make a page each time call `close` only. */
  left?(): void;
  close?(): void;
}

/** Opens a page. @param changed is called when its form has changed, but not while the form is made */
export type Page = (host: Host, changed: () => void) => OpenPage;

interface Answer<T> {
  /** The newest one; null until there is one. */
  value: T | null;
  /** Why the newest reading failed, in words. */
  failed: string | null;
  /** A reading is under way. */
  running: boolean;
}

interface ReadingOptions<T> {
  read(): Promise<T>;
  /** Time after which a page that is seen reads again. By default it does so for a new daemon only. */
  everyMs?: number | (() => number);
  /** False while nothing can be read. By default that is while the daemon does not answer. */
  when?(view: View): boolean;
  /** The page reads again when this changes. */
  of?(view: View): string;
  /** The new answer, if an event brings one. */
  from?(event: Event): T | undefined;
}

interface Reading<T> {
  /** The answer as it is known. Begins a reading where one is due. */
  now(view: View): Answer<T>;
  /** Reads, even if it was not due. Never rejects. */
  again(): Promise<void>;
  /** As `again`, unless a reading is under way or nothing can be read. */
  shown(): void;
  close(): void;
}

/** Reads for a page what the events do not bring. */
export function reading<T>(host: Host, changed: () => void, options: ReadingOptions<T>): Reading<T> {
  const { read, everyMs = Number.POSITIVE_INFINITY, of = () => '', from } = options;
  const when = options.when ?? (({ client }: View) => client.offline === null);
  let answer: Answer<T> = { value: null, failed: null, running: false };
  let readAt = Number.NEGATIVE_INFINITY;
  let readOf: string | null = null;
  /** Numbers of the newest reading that began, and of the reading that gave the answer. */
  let begun = 0;
  let answered = 0;
  let closed = false;
  /** The newest reading is the first since nothing could be read. */
  let isFirst = false;

  const show = (change: Partial<Answer<T>>) => {
    answer = { ...answer, ...change };
    changed();
  };
  const begin = async () => {
    begun += 1;
    const turn = begun;
    readAt = host.now();
    answer = { ...answer, running: true };
    const outcome = await read().then(
      value => ({ value, failed: null }),
      error => ({ failed: errorText(error, host.tr()) }),
    );
    // a later reading may have been answered first
    if (closed || turn < answered) return;
    answered = turn;
    show({ ...outcome, running: turn < begun });
  };
  const again = () => {
    const ended = begin();
    changed();
    return ended;
  };
  const unsubscribe = host.model.onEvent(event => {
    const value = from?.(event);
    if (value !== undefined) show({ value, failed: null });
    if (event.event !== 'snapshot') return;
    // the client showed this snapshot before it passed the event on
    if (isFirst && answer.running) return;
    // another daemon may know something else, and does not follow it yet
    readAt = Number.NEGATIVE_INFINITY;
    changed();
  });
  return {
    now(view) {
      if (!when(view)) {
        readOf = null;
        return answer;
      }
      const key = of(view);
      const pace = typeof everyMs === 'number' ? everyMs : everyMs();
      if (key !== readOf || host.now() - readAt >= pace) {
        isFirst = readOf === null;
        void begin();
      }
      readOf = key;
      return answer;
    },
    again,
    shown() {
      if (!answer.running && when(host.view())) void again();
    },
    close() {
      closed = true;
      unsubscribe();
    },
  };
}
