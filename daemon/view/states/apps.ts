// Describes the apps of the desktop for the Apps page, and chooses apps to offer shortcuts for.
import { MODES, PROTOCOLS } from '../../api/actions.ts';
import type { Client } from '../../api/client.ts';
import type { App, LaunchRequest, PlacedWay, ProxyMethod, Snapshot } from '../../api/schema.ts';
import { type Button, type Command, clientCommand, workCommand } from '../form.ts';
import { quoted, wordMessage, wordMessages } from '../message.ts';
import { holdsWords, searchable } from '../text-search.ts';
import { fill, type Translator } from '../translator.ts';
import { demoSentence, type KillSwitchLook } from './killswitch.ts';

/** Returns the request that starts an app. If the start had to turn the proxy on, a failure restores `before`. */
export function launchRequest(appId: string, before: Snapshot | null | undefined): LaunchRequest {
  const mode = MODES.find(each => each === before?.settings.Mode);
  if (!before || mode === undefined || mode === 'proxy') return { appId };
  const protocol = PROTOCOLS.find(each => each === before.settings['WARP tunnel protocol']) ?? null;
  const connected = before.status.state !== 'disconnected' && before.status.state !== 'disconnecting';
  return { appId, restore: { mode, protocol, connected } };
}

/** Says in a word or two how well an app supports the proxy. */
export function appBadge({ method }: App, { _ }: Translator): string {
  const says: Record<ProxyMethod, string> = {
    arguments: _('Supported'),
    profile: _('Own profile'),
    environment: _('Usually works'),
    proxychains: _('May leak'),
    none: _('Not supported'),
  };
  return says[method];
}

/** Explains how well an app supports the proxy, for the details. */
export function appDetails({ method, note, wording, packaging }: App, tr: Translator): string {
  const { _ } = tr;
  const says: Record<ProxyMethod, string> = {
    arguments: _('The app is told to use the proxy when it starts.'),
    profile: _('The app starts with its own profile, without your bookmarks.'),
    environment: _('The app is asked to use the proxy; most apps follow.'),
    proxychains: _('Some of its traffic may bypass WARP.'),
    none: _('No way is known to send it through the tunnel.'),
  };
  const from = { native: null, flatpak: 'Flatpak', snap: 'Snap' }[packaging];
  const about = wording ? wordMessage(wording, tr) : note && _(note);
  return [says[method], from, about].filter(Boolean).join(' ');
}

/** True for apps that few people want to tunnel: offline and terminal programs, and apps that no method tunnels reliably. */
export function isFarFetched({ categories, method }: App): boolean {
  const offline = [
    'TextEditor',
    'Graphics',
    'Calculator',
    'ConsoleOnly',
    'TerminalEmulator',
    'FileManager',
    'Archiving',
  ];
  return (
    method === 'none' ||
    method === 'proxychains' ||
    categories.some(category => offline.includes(category) || category === 'Settings')
  );
}

export function launchable({ method }: App): boolean {
  return method !== 'none';
}

/** True if an app's name, ID and categories contain every word of `query`. */
export function appMatches(app: App, query: string): boolean {
  return holdsWords(appText(app), query);
}

const appText = searchable<App>(({ name, id, categories }) => `${name} ${id} ${categories.join(' ')}`);

/** True if the menu has any entry of Culvert's for the app. */
export function hasShortcut({ shortcut, tunnelShortcut, outsideShortcut }: App): boolean {
  return (shortcut ?? tunnelShortcut ?? outsideShortcut) !== null;
}

/** Sorts apps by name in the order of the locale; apps with a shortcut, the favorites, come first. */
export function sortApps(apps: App[], locale?: string): App[] {
  const order = new Intl.Collator(locale, { sensitivity: 'base', numeric: true });
  const favorite = (app: App) => (hasShortcut(app) ? 0 : 1);
  return [...apps].sort((a, b) => favorite(a) - favorite(b) || order.compare(a.name, b.name) || (a.id < b.id ? -1 : 1));
}

/** Categories (desktop menu specification) of apps that people send through a proxy, the likeliest first. */
const COMMON = ['WebBrowser', 'Email', 'InstantMessaging', 'Chat', 'News', 'P2P', 'FileTransfer', 'Feed'];
const OFFERED = 6;

/** Returns apps to offer shortcuts for, browsers first; omits apps that have a shortcut or can't use the proxy. */
export function commonApps(apps: App[]): App[] {
  const rank = ({ kind, categories }: App) => {
    if (kind === 'firefox' || kind === 'chromium') return 0;
    const first = COMMON.findIndex(category => categories.includes(category));
    return first < 0 ? Infinity : first;
  };
  return sortApps(apps)
    .filter(app => launchable(app) && app.shortcut === null && rank(app) < Infinity)
    .sort((a, b) => rank(a) - rank(b))
    .slice(0, OFFERED);
}

/** Dependencies of a menu's entries. `helper` is the state of the kill switch, whose root service starts the apps. */
interface WayTools {
  call: Client['call'];
  helper: KillSwitchLook;
}

/** Returns the entries of an app's menu: the ways to start it that need no proxy. */
export function furtherWays(app: App, tools: WayTools, tr: Translator): Button[] {
  return [...wayEntries(app, 'tunnel-only', tools, tr), ...wayEntries(app, 'outside', tools, tr)];
}

function wayEntries(app: App, way: PlacedWay, { call, helper }: WayTools, tr: Translator): Button[] {
  const { id: appId, name, packaging } = app;
  const words = wayWords(way, tr);
  const present = (way === 'outside' ? app.outsideShortcut : app.tunnelShortcut) === null;
  const shortcut: Button = {
    label: present ? words.add : words.remove,
    command: workCommand(() => call('POST /api/apps/shortcut', { body: { appId, present, way } }), {
      done: shortcutText(name, present, tr),
    }),
  };
  const launcher = way === 'outside' ? 'POST /api/apps/outside-launcher' : 'POST /api/apps/tunnel-launcher';
  const started = fill(words.started, name);
  const start: Button = {
    label: words.start,
    command:
      helper === 'not-installed'
        ? installCommand(words.missing, tr)
        : helper === 'demo'
          ? workCommand(async () => demoSentence(tr))
          : workCommand(
              async () => {
                const { limits } = await call(launcher, { body: { appId } });
                return wordMessages([quoted(started), ...limits], tr);
              },
              { done: started },
            ),
  };
  // an app that is not native gets no new shortcut; its start explains why it can't run that way
  return packaging === 'native' || !present ? [start, shortcut] : [start];
}

function wayWords(way: PlacedWay, { _ }: Translator) {
  return way === 'outside'
    ? {
        start: _('Start Outside the Tunnel'),
        add: _('Add to App Menu, Outside the Tunnel'),
        remove: _('Remove from App Menu, Outside the Tunnel'),
        // Translators: %s is the name of an app
        started: _('%s started. It sends nothing through the tunnel.'),
        missing: _('The root service of the kill switch, which lets programs bypass the tunnel, is not installed.'),
      }
    : {
        start: _('Start Only Through the Tunnel'),
        add: _('Add to App Menu, Only Through the Tunnel'),
        remove: _('Remove from App Menu, Only Through the Tunnel'),
        // Translators: %s is the name of an app
        started: _('%s started. It uses the tunnel only.'),
        missing: _('The root service of the kill switch, which keeps programs in the tunnel, is not installed.'),
      };
}

function installCommand(body: string, { _ }: Translator): Command {
  return clientCommand('install-killswitch', {
    confirm: { heading: _('Kill Switch helper'), body, accept: _('Install…') },
  });
}

/** Words the result of a launch. */
export function launchedText(name: string, { _ }: Translator): string {
  // Translators: %s is the name of an app
  return fill(_('%s started in the tunnel'), name);
}

/** Words the creation or removal of a shortcut. */
export function shortcutText(name: string, present: boolean, { _ }: Translator): string {
  // Translators: %s is the name of an app
  return fill(present ? _('%s is in the app menu') : _('%s removed from the app menu'), name);
}
