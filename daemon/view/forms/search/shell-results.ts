// Lists what the search of a shell finds, outside of Culvert's window: actions, modes, pages, and apps to start in the tunnel.

import type { ChangeOptions } from '../../../api/schema/changes.ts';
import type { ActionRequest, App } from '../../../api/schema.ts';
import { type ClientState, current } from '../../client/client-state.ts';
import { modeName } from '../../client/labels.ts';
import { PAGE_NAMES, type PageName } from '../../form.ts';
import { pageTitle } from '../../page-titles.ts';
import { stateIcon } from '../../states/summary/table.ts';
import { offCommands } from '../../states/timed.ts';
import { describeTunnel, type TunnelView } from '../../states/tunnel.ts';
import { foldText } from '../../text-search.ts';
import { fill, type Translator } from '../../translator.ts';
import { MAIN_MODES, toBeConfirmed } from '../tunnel/to-be-confirmed.ts';
import { rankRows } from './match.ts';

/** An app that may be started in the tunnel. */
export type SearchedApp = Pick<App, 'id' | 'name'> & { icon?: string | null };

export interface ShellResult {
  id: string;
  title: string;
  description: string;
  /** Name of an icon, or an absolute path; empty for that of Culvert. */
  icon: string;
  act:
    | { kind: 'action'; request: ActionRequest & ChangeOptions }
    | { kind: 'page'; page: PageName }
    | { kind: 'launch'; appId: string; name: string };
  /** Further words by which it is found: few, because a desktop shows much else for each word. */
  keywords: string;
}

/** Most characters of a query that are searched for. */
const QUERY = 200;
const MOST = 20;
/** The worst rank that a shell shows: every word of the query begins a word of the result. */
const WORST = 5;
/** Pages that are a step of another one. */
const STEPS: readonly PageName[] = ['editor', 'welcome'];

/** Everything that can be found now. */
export function shellResults(client: ClientState, apps: readonly SearchedApp[], tr: Translator): ShellResult[] {
  const { _ } = tr;
  const general = _('WARP; VPN; Cloudflare; tunnel');
  const { toolAccounts, trust } = current(client) ?? {};
  const offers: { [page in PageName]?: boolean | undefined } = {
    tools: toolAccounts?.offered,
    certificate: trust?.offered,
  };
  const pages = PAGE_NAMES.filter(page => !STEPS.includes(page) && (!(page in offers) || offers[page] === true));
  return [
    ...actionResults(client, [general, _('connect; reconnect; disconnect; turn on; turn off')].join('; '), tr),
    ...pages.map(
      (page): ShellResult => ({
        id: `page:${page}`,
        title: pageTitle(page, tr),
        description: 'Culvert',
        icon: '',
        act: { kind: 'page', page },
        keywords: page === 'connection' ? general : '',
      }),
    ),
    ...apps.map(
      ({ id, name, icon }): ShellResult => ({
        id: `app:${id}`,
        title: name,
        description: _('Start in the Tunnel'),
        icon: icon ?? 'application-x-executable',
        act: { kind: 'launch', appId: id, name },
        keywords: general,
      }),
    ),
  ];
}

/** The toggle, the pauses and the other modes, as far as they can be asked for. */
function actionResults(client: ClientState, keywords: string, tr: Translator): ShellResult[] {
  const snapshot = current(client);
  const tunnel = describeTunnel(client, tr);
  const { action, label, sensitive } = tunnel.toggle;
  if (!snapshot || !sensitive || action === null) return [];
  const description = tunnel.stateText;
  const toggle: ShellResult = {
    id: `action:${action}`,
    title: label,
    description,
    icon: stateIcon(action === 'connect' ? 'connected' : 'disconnected'),
    act: { kind: 'action', request: { action } },
    keywords,
  };
  const pauses = action === 'disconnect' ? offCommands(tunnel.pauses, tr) : [];
  return [
    toggle,
    ...pauses.flatMap(({ minutes, title, command: { ask } }): ShellResult[] =>
      ask.kind === 'action'
        ? [
            {
              id: `pause:${minutes}`,
              title,
              description,
              icon: stateIcon('paused'),
              act: { kind: 'action', request: ask.request },
              keywords,
            },
          ]
        : [],
    ),
    ...modeResults(client, tunnel, tr),
  ];
}

function modeResults(client: ClientState, { settable, lock, mode: now }: TunnelView, tr: Translator): ShellResult[] {
  if (!settable || lock !== null || now === null) return [];
  return MAIN_MODES.filter(mode => mode !== now).map((mode): ShellResult => {
    const { title, subtitle } = modeName(mode, tr);
    const limit = toBeConfirmed(client.snapshot);
    return {
      id: `mode:${mode}`,
      // Translators: %s is a mode such as All traffic
      title: fill(tr._('Mode: %s'), title),
      description: subtitle,
      icon: '',
      act: { kind: 'action', request: { action: 'setMode', value: mode, ...limit } },
      keywords: '',
    };
  });
}

/** The results whose words begin with every word of the query, the best first. @param terms as a person types them */
export function findResults(results: readonly ShellResult[], terms: readonly string[]): ShellResult[] {
  const query = foldText(terms.join(' ').slice(0, QUERY));
  // a single letter begins a word of nearly everything
  if (query.length < 2 && /^[\x20-\x7f]*$/.test(query)) return [];
  const ranks = rankRows(
    results.map(({ title, keywords }) => [title, keywords]),
    query,
  );
  const words = query.split(' ');
  return results
    .map((result, i) => ({ result, rank: ranks[i] ?? Infinity }))
    .filter(({ result, rank }) => rank <= WORST && (result.act.kind !== 'launch' || isNamed(result.title, words)))
    .sort((a, b) => a.rank - b.rank)
    .slice(0, MOST)
    .map(({ result }) => result);
}

/** An app is found by its name, with or without words such as VPN. */
function isNamed(name: string, words: readonly string[]): boolean {
  const own = ` ${foldText(name)}`;
  return words.some(word => own.includes(` ${word}`));
}
