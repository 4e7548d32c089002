// `culvert status --format`: the line of a status bar, once or for each change.
import { applyEvent } from '../../../api/apply-event.ts';
import { Unreachable } from '../../../api/client.ts';
import type { Snapshot } from '../../../api/schema.ts';
import { BAR_FORMATS, type BarFormat, barLine, barStart } from '../../../view/bars/bars.ts';
import { createLongTimer, shownState } from '../../../view/client/client-state.ts';
import { english } from '../../../view/translator.ts';
import type { Context, Options } from '../../context.ts';
import { EXIT, usage } from '../../errors.ts';
import { follow } from '../../follow.ts';
import { asciiJson, isAsciiLocale } from '../../terminal/fit.ts';

/** Time in which a daemon has to answer before its state is shown as unknown. */
const FIRST_LINE_MS = 1_000;

/**
 * Time from one line to the next, in which only the newest state counts. Waybar 0.9 reads a line into the string
 * that it draws from in another thread: of lines that come together it loses some, with a "Syntax error" in its log.
 */
const BETWEEN_LINES_MS = 100;

/** Never fails for want of a daemon: its state is unknown then. */
export async function showBar(context: Context, { format: name, watch, json }: Options): Promise<number> {
  const format = BAR_FORMATS.find(each => each === name);
  if (!format) throw usage(`There is no format ${String(name)}.`, `There are: ${BAR_FORMATS.join(', ')}`);
  if (json) throw usage("--json and --format can't be used together.");
  const put = writer(context, format);
  if (!watch) {
    const snapshot = await context.client.call('GET /api/snapshot').catch(error => {
      if (error instanceof Unreachable) return null;
      throw error;
    });
    put(barLine(shownState(snapshot), format, false, english));
    return EXIT.ok;
  }
  for (const line of barStart(format)) put(line);
  let shown: Snapshot | null = null;
  let printed = '';
  let rest: NodeJS.Timeout | null = null;
  const show = () => {
    long.follow(shown?.status ?? null);
    const line = barLine(shownState(shown), format, true, english);
    if (rest || line === printed) return;
    put(line);
    printed = line;
    rest = setTimeout(() => {
      rest = null;
      show();
    }, BETWEEN_LINES_MS);
  };
  const long = createLongTimer(show);
  const late = setTimeout(show, FIRST_LINE_MS);
  for await (const followed of follow(context.client, context.signal, { isWhole: true, isPatient: true })) {
    clearTimeout(late);
    // never the state before
    if (followed.kind === 'lost') shown = null;
    else if (followed.kind === 'event') shown = applyEvent(shown, followed.event);
    if (followed.kind !== 'back') show();
  }
  clearTimeout(late);
  if (rest) clearTimeout(rest);
  long.stop();
  return EXIT.ok;
}

function writer({ env, print, printDocument }: Context, format: BarFormat): (line: string) => void {
  if (format === 'polybar' || format === 'plain') return print;
  // as a document it is not written in lookalikes, which may be quotes
  return line => printDocument(isAsciiLocale(env) ? asciiJson(line) : line);
}
