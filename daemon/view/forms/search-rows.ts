// Builds the rows that a search finds on pages with lists, and answers whether an address or a host name uses WARP.
import type { App, LogEntry, Why } from '../../api/schema.ts';
import type { Model } from '../client/model.ts';
import { type Form, type Group, goTo, noteRow, type Row } from '../form.ts';
import { NOW } from '../graph.ts';
import { commandLine, outcome, SHOWS, showsName } from '../log.ts';
import { appBadge } from '../states/apps.ts';
import { type ChecksState, NO_CHECKS } from '../states/findings.ts';
import { errorText } from '../states/problems.ts';
import { whyAnswers } from '../states/why.ts';
import { fill, type Translator } from '../translator.ts';
import type { View } from '../view.ts';
import { addition, describeRoutes, type RoutesView, removal } from './tunnel/split-tunnel.ts';
import { routeKind } from './validate.ts';

/** Data that a client reads for its search in addition to the state. */
export interface Gathered {
  checks: ChecksState;
  apps: readonly App[];
  log: readonly LogEntry[];
}

export const NOTHING_GATHERED: Gathered = { checks: NO_CHECKS, apps: [], log: [] };

/** Reads apps and the log, which no event reports. Without a daemon, both are empty. */
export async function gatherForSearch(model: Pick<Model, 'call'>): Promise<Pick<Gathered, 'apps' | 'log'>> {
  const none = () => null;
  const [apps, log] = await Promise.all([
    model.call('GET /api/apps').catch(none),
    model.call('GET /api/logs', { query: { since: '0' } }).catch(none),
  ]);
  return { apps: apps?.apps ?? [], log: log?.entries ?? [] };
}

/** Prefix of the id of a list's entry. The text for the page's own search follows it. */
const ENTRY = '=';

/** Returns the text for a page's own search that shows a found row, or an empty string for a permanent row. */
export function searchedText(row: string): string {
  return row.startsWith(ENTRY) ? row.slice(ENTRY.length) : '';
}

const entry = (text: string, subtitle: string) => noteRow(ENTRY + text, text, subtitle);

function formOf(rows: Row[]): Form {
  return { groups: [{ id: 'rows', rows }] };
}

export function routeRows({ client, tunnel }: View, tr: Translator): Form {
  const { entries } = describeRoutes(client, tunnel.settable, tr);
  const rows = entries.map(({ value, origin, note: comment }) =>
    entry(value, [comment, origin].filter(Boolean).join(' · ')),
  );
  return formOf([noteRow('add', tr._('Address, range or host to add')), ...rows]);
}

export function appRows(apps: readonly App[], tr: Translator): Form {
  return formOf(apps.map(app => entry(app.name, appBadge(app, tr))));
}

export function historyRows({ _ }: Translator): Form {
  return formOf([
    noteRow(NOW, _('Now')),
    noteRow('latency', _('Latency')),
    noteRow('loss', _('Packet loss')),
    noteRow('speed', _('Speed: received (solid), sent (dashed)')),
    noteRow('totals', _('Totals')),
    noteRow('timeline', _('Timeline')),
  ]);
}

/** Returns the choices of the log's filter, and the newest run of each command. */
export function logRows(log: readonly LogEntry[], tr: Translator): Form {
  const newest = new Map(log.map(run => [commandLine(run), run]));
  const commands = [...newest].map(([line, run]) => entry(line, outcome(run, tr)));
  return formOf([...SHOWS.map(shows => noteRow(shows, showsName(shows, tr))), ...commands]);
}

/** Delay between the last key and the lookup, in ms, to avoid lookups of incomplete names. */
const REST_MS = 600;

/** Returns the address or host name in a query, which may be a web address, or null for other words. */
export function targetOf(query: string): string | null {
  const [, host] = /^[a-z]+:\/\/(?:[^@/?#]*@)?([^/?#:]+)/i.exec(query.trim()) ?? [];
  const target = (host ?? query.trim()).toLowerCase();
  const kind = routeKind(target);
  return kind === 'address' || (kind === 'host' && !target.startsWith('*')) ? target : null;
}

interface Lookup {
  /** Follows the typed text and the relevant state, and looks a target up when both stop changing. */
  follow(query: string, view: View): void;
  /** Returns the answer as rows, or null if the query is not an address or host name. */
  group(view: View, tr: Translator): Group | null;
}

/** @param changed called when an answer arrives */
export function createLookup(model: Pick<Model, 'call'>, changed: () => void): Lookup {
  let target: string | null = null;
  let key = '';
  let answer: Why | null = null;
  let failure: unknown = null;
  let timer: ReturnType<typeof setTimeout> | null = null;
  const ask = async (asked: string, host: string) => {
    let why: Why | null = null;
    let error: unknown = null;
    try {
      why = await model.call('POST /api/why', { body: { target: host } });
    } catch (problem) {
      error = problem;
    }
    if (asked !== key) return;
    [answer, failure] = [why, error];
    changed();
  };
  return {
    follow(query, { client }) {
      const host = targetOf(query);
      const { splitTunnel, status, settings, killSwitch } = client.snapshot ?? {};
      const causes = [splitTunnel, status?.state, settings?.Mode, killSwitch?.active, client.offline === null];
      const asked = host === null ? '' : JSON.stringify([host, ...causes]);
      if (asked === key) return;
      // an answer about an earlier list of routes stays until the next answer
      if (host !== target) [answer, failure] = [null, null];
      [key, target] = [asked, host];
      if (timer !== null) clearTimeout(timer);
      timer = null;
      if (host !== null) timer = setTimeout(() => void ask(asked, host), REST_MS);
    },
    group(view, tr) {
      if (target === null) return null;
      const rows = answer ? answerRows(answer, view, tr) : [waitingRow(target, failure, tr)];
      return { id: 'lookup', rows };
    },
  };
}

function waitingRow(target: string, failure: unknown, tr: Translator): Row {
  return failure === null
    ? noteRow('lookup', target, tr._('Looking it up…'))
    : noteRow('lookup', target, errorText(failure, tr), 'warning');
}

/** Returns one row that says whether the target's addresses use WARP, bypass it, or differ. */
export function answerRows(why: Why, { client, tunnel }: View, tr: Translator): Row[] {
  const { _ } = tr;
  const { target } = why;
  const answers = whyAnswers(why, tr);
  const known = answers.filter(({ way }) => way !== null);
  const isMixed = new Set(known.map(({ way }) => way)).size > 1;
  const { way, verdict, because, disagreement, blocked } =
    answers.find(each => each.disagreement) ?? known[0] ?? answers[0]!;
  const inTitle = !isMixed && way !== null && !blocked;
  const title = !inTitle
    ? target.value
    : // Translators: %s is an address or a host name
      fill(way ? _('%s uses WARP') : _('%s bypasses WARP'), target.value);
  const subtitle = isMixed
    ? _('Some of its addresses use WARP, others bypass it.')
    : [inTitle || !why.addresses.length ? null : verdict, ...because, disagreement].filter(Boolean).join('\n');
  if (disagreement && !isMixed)
    return [
      {
        kind: 'button',
        id: 'lookup',
        title,
        subtitle,
        tone: 'warning',
        mark: 'problem',
        label: _('Run Checks'),
        command: goTo('checks'),
      },
    ];
  const isChangeable = !isMixed && way !== null && why.addresses.length > 0;
  const change = isChangeable ? changeOf(why, way, describeRoutes(client, tunnel.settable, tr), tr) : null;
  if (!change) return [noteRow('lookup', title, subtitle)];
  const label = way ? _('Bypass') : _('Tunnel It');
  return [{ kind: 'button', id: 'lookup', title, subtitle, label, command: change, sensitive: tunnel.settable }];
}

/** Returns a command that adds the target to the routes, or removes the entry that names exactly this target. */
function changeOf({ target, list, addresses, nameEntry }: Why, way: boolean, view: RoutesView, tr: Translator) {
  const reason = addresses[0]?.reason;
  if (!view.sensitive || list === null || (reason !== 'entry' && reason !== 'default')) return null;
  const { value } = target;
  // a new entry in an exclude list bypasses the tunnel, and a new entry in an include list uses it
  if (way === (list === 'exclude')) return addition(value, list, tr);
  const decided = nameEntry ?? addresses[0]?.entry?.replace(/\/(32|128)$/, '');
  const entry = view.entries.find(each => each.removable && each.value === value && decided === value);
  return entry ? removal(entry, tr) : null;
}
