// Lists what a search finds on pages that are lists themselves: routes, apps, graphs of the history, commands of the log.
import type { App, LogEntry } from '../../../api/schema.ts';
import type { Model } from '../../client/model.ts';
import type { Form, Row } from '../../form.ts';
import { NOW } from '../../graph.ts';
import { commandLine, outcome, SHOWS, showsName } from '../../log.ts';
import { appBadge } from '../../states/apps.ts';
import { type ChecksState, NO_CHECKS } from '../../states/findings.ts';
import type { Translator } from '../../translator.ts';
import type { View } from '../../view.ts';
import { describeRoutes } from '../tunnel/split-tunnel.ts';

/** Data beyond the state that a client has read for its search. */
export interface Gathered {
  checks: ChecksState;
  apps: readonly App[];
  log: readonly LogEntry[];
}

export const NOTHING_GATHERED: Gathered = { checks: NO_CHECKS, apps: [], log: [] };

/** Reads what no event reports. Without a daemon there is nothing to find. */
export async function gatherForSearch(model: Pick<Model, 'call'>): Promise<Pick<Gathered, 'apps' | 'log'>> {
  const none = () => null;
  const [apps, log] = await Promise.all([
    model.call('GET /api/apps').catch(none),
    model.call('GET /api/logs', { query: { since: '0' } }).catch(none),
  ]);
  return { apps: apps?.apps ?? [], log: log?.entries ?? [] };
}

/** Begins the id of an entry of a list; the text for the page's own search follows. */
const ENTRY = '=';

/** The text for a page's own search that shows a row which was found; the empty string for a row that is always there. */
export function searchedText(row: string): string {
  return row.startsWith(ENTRY) ? row.slice(ENTRY.length) : '';
}

const note = (id: string, title: string, subtitle: string | null = null): Row => ({
  kind: 'note',
  id,
  title,
  subtitle,
});

const entry = (text: string, subtitle: string) => note(ENTRY + text, text, subtitle);

function formOf(rows: Row[]): Form {
  return { groups: [{ id: 'rows', rows }] };
}

export function routeRows({ client, tunnel }: View, tr: Translator): Form {
  const { entries } = describeRoutes(client, tunnel.settable, tr);
  const rows = entries.map(({ value, origin, note: comment }) =>
    entry(value, [comment, origin].filter(Boolean).join(' · ')),
  );
  return formOf([note('add', tr._('Address, range or host to add')), ...rows]);
}

export function appRows(apps: readonly App[], tr: Translator): Form {
  return formOf(apps.map(app => entry(app.name, appBadge(app, tr))));
}

export function historyRows({ _ }: Translator): Form {
  return formOf([
    note(NOW, _('Now')),
    note('latency', _('Latency')),
    note('loss', _('Packet loss')),
    note('speed', _('Speed: received (solid), sent (dashed)')),
    note('totals', _('Totals')),
    note('timeline', _('Timeline')),
  ]);
}

/** The choices of its filter, and the newest run of each command. */
export function logRows(log: readonly LogEntry[], tr: Translator): Form {
  const newest = new Map(log.map(run => [commandLine(run), run]));
  const commands = [...newest].map(([line, run]) => entry(line, outcome(run, tr)));
  return formOf([...SHOWS.map(shows => note(shows, showsName(shows, tr))), ...commands]);
}
