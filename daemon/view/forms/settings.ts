// Describes the three main pages of a client, and the page that links to all settings.
import type { ClientState } from '../client/client-state.ts';
import type { Form, Row } from '../form.ts';
import { formatCount } from '../format.ts';
import { type PageName, pageTitle } from '../page-list.ts';
import { fill, type Translator } from '../translator.ts';
import type { View } from '../view.ts';

/** The main pages, which lead to every other page. */
export const PLACES = ['connection', 'apps', 'settings'] as const satisfies readonly PageName[];

/** Returns the main page that leads to a page. */
export function placeOfPage(page: PageName): (typeof PLACES)[number] {
  return PLACES.find(place => place === page) ?? 'settings';
}

interface SettingsValues {
  mode: string;
  killSwitch: string;
  routes: number | null;
  account: string | null;
  /** True if the page of tool accounts is offered. */
  tools: boolean;
  /** True if the page of the organization's certificate is offered. */
  certificate: boolean;
}

/** Returns the pages below Settings, in groups, for a navigation bar next to the page. */
export function navigationGroups(
  { snapshot }: ClientState,
  tr: Translator,
): { id: string; title: string; pages: PageName[] }[] {
  return settingsForm(offersOf(snapshot), tr).groups.map(({ id, title = '', rows }) => ({
    id,
    title,
    pages: rows.flatMap(row => (row.kind === 'link' ? [row.page] : [])),
  }));
}

function offersOf(snapshot: ClientState['snapshot']): Pick<SettingsValues, 'tools' | 'certificate'> {
  return { tools: snapshot?.toolAccounts.offered ?? false, certificate: snapshot?.trust?.offered ?? false };
}

/** Returns the navigation entry to highlight for a page; the editor opens from the page of routes. */
export function entryOfPage(page: PageName): PageName {
  return page === 'editor' ? 'routes' : page;
}

/** Builds the page of all settings with the values of this state. */
export function overviewForm({ tunnel, killSwitch, client }: View, tr: Translator): Form {
  const { _ } = tr;
  const { splitTunnel, account, killSwitch: switched } = client.snapshot ?? {};
  return settingsForm(
    {
      mode: tunnel.modeTitle,
      killSwitch: !switched ? '' : killSwitch.on ? _('On') : _('Off'),
      routes: splitTunnel ? splitTunnel.ips.length + splitTunnel.hosts.length : null,
      account: account?.organization ?? account?.type ?? null,
      ...offersOf(client.snapshot),
    },
    tr,
  );
}

/** Builds the page that links to all settings, with the values that are known. */
export function settingsForm(values: Partial<SettingsValues>, tr: Translator): Form {
  const { mode, killSwitch, routes = null, account, tools, certificate } = values;
  const { _, ngettext } = tr;
  const link = (page: PageName, subtitle: string, value = ''): Row => ({
    kind: 'link',
    id: `to-${page}`,
    page,
    title: pageTitle(page, tr),
    subtitle,
    value,
  });
  // Translators: %d is a number of entries
  const count = routes === null ? '' : fill(ngettext('%d entry', '%d entries', routes), formatCount(routes, tr));
  return {
    groups: [
      {
        id: 'tunnel',
        title: _('Tunnel'),
        rows: [
          link('mode', _('Which traffic is protected, and how'), mode),
          link('killswitch', _('Block traffic outside the tunnel'), killSwitch),
          link('routes', _('Sites and networks that bypass WARP'), count),
          link('dns', _('Filter, domains for your own DNS')),
          link('networks', _('Where WARP stays off; local network')),
          link('advanced', _('Address of the server, proxy port, reset')),
        ],
      },
      {
        id: 'device',
        title: _('Device'),
        rows: [
          link('account', _('License, organization, devices'), account ?? ''),
          ...(certificate ? [link('certificate', _('Tools that trust the certificate'))] : []),
        ],
      },
      {
        id: 'program',
        title: _('Culvert'),
        rows: [
          link('preferences', _('Start, appearance, notifications')),
          link('updates', _('Version of Culvert')),
          ...(tools ? [link('tools', _('Several accounts for a command-line tool'))] : []),
          link('checks', _('Find out why something does not work')),
          link('history', _('Latency, connections and data use, up to 90 days')),
          link('log', _('Commands run by Culvert')),
        ],
      },
    ],
  };
}
