// Defines pages of rows, and reads data for visible pages. Each client shows all of these pages with one widget.
import type { Event } from '../../api/client.ts';
import type { Form } from '../form.ts';
import type { Host } from '../host.ts';
import { errorText } from '../states/problems.ts';
import type { View } from '../view.ts';

export interface OpenPage {
  /** Returns the form for this state. Clients call it only while the page is visible. */
  form(view: View): Form;
  /** True if the form changes with time, so clients request it each second. */
  ticks?: boolean;
  /** Reads data that no event reports. Clients call it whenever the page is opened, after its first form. */
  shown?(): void;
  /** Id of the row that gets the keyboard focus; by default the first row. */
  first?: string;
  /**
   * Prepares the form to show a row, or a part of a row. Clients request the form afterwards.
   * @returns the id of the row to focus, by default the same; or an empty string
   */
  reveal?(row: string): string | undefined;
  /** Shows everything, for a print. */
  showAll?(): void;
  /** Called when the user opens another page. */
  left?(): void;
  close?(): void;
}

/** Opens a page. @param changed called when the form has changed, but not while `form` runs */
export type Page = (host: Host, changed: () => void) => OpenPage;

interface Answer<T> {
  /** The newest answer; null before the first. */
  value: T | null;
  /** Why the newest read failed, in words; null if it did not. */
  failed: string | null;
  /** True while a read is under way. */
  running: boolean;
}

interface ReadingOptions<T> {
  read(): Promise<T>;
  /** Time after which a visible page reads again. By default it reads again only for a new daemon. */
  everyMs?: number | (() => number);
  /** False while reads are impossible; by default, while the daemon does not answer. */
  when?(view: View): boolean;
  /** Returns a key; the page reads again when it changes. */
  of?(view: View): string;
  /** Returns the new answer if an event contains it. */
  from?(event: Event): T | undefined;
}

interface Reading<T> {
  /** Returns the newest answer, and begins a read if it is due. */
  now(view: View): Answer<T>;
  /** Reads, even if no read is due. Never rejects. */
  again(): Promise<void>;
  /** Like `again`, unless a read is under way or reads are impossible. */
  shown(): void;
  close(): void;
}

/** Reads data for a page that events do not contain. */
export function reading<T>(host: Host, changed: () => void, options: ReadingOptions<T>): Reading<T> {
  const { read, everyMs = Number.POSITIVE_INFINITY, of = () => '', from } = options;
  const when = options.when ?? (({ client }: View) => client.offline === null);
  let answer: Answer<T> = { value: null, failed: null, running: false };
  let readAt = Number.NEGATIVE_INFINITY;
  let readOf: string | null = null;
  /** Number of the newest read. */
  let begun = 0;
  /** Number of the read that gave the answer. */
  let answered = 0;
  let closed = false;
  /** True if the newest read is the first since reads were impossible. */
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
    // a later read may have finished first
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
    // the read began when the client showed this snapshot, before this event
    if (isFirst && answer.running) return;
    // another daemon may answer differently, and sends no events about it yet
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
