// Pure: apps of the desktop -> how the Apps page lists them, and which it offers shortcuts for.
import type { App, LaunchResponse, ProxyMethod } from '../daemon/api/schema.ts';
import type { Facts } from './model.ts';
import { fill, type Words } from './words.ts';

/** What the page shows: the list only while there is a proxy to start apps through. */
export interface ProxyView {
  look: 'unavailable' | 'off' | 'on';
  /** `127.0.0.1:40000`, or null while it is not known. */
  address: string | null;
  /** What is to be known before an app is started, or null. */
  warning: string | null;
  /** The proxy can be turned on. */
  sensitive: boolean;
  /** It is being turned on. */
  waiting: boolean;
}

/** The local proxy, in the language of `words`. */
export function describeProxy({ snapshot, loss, pending }: Facts, { _ }: Words): ProxyView {
  const known = loss ? null : snapshot;
  const on = known?.settings.Mode === 'proxy';
  return {
    look: !known ? 'unavailable' : on ? 'on' : 'off',
    address: on ? addressOf(known.tunnel.proxyPort) : null,
    warning:
      on && known.status.state !== 'connected'
        ? _('The tunnel is not connected: apps started now can’t reach anything.')
        : null,
    sensitive: known !== null && !known.status.blocked && pending === null,
    waiting: pending === 'enableLocalProxy',
  };
}

/** Where the local proxy listens; only ever on this machine. */
export function addressOf(port: number | null): string | null {
  return port === null ? null : `127.0.0.1:${port}`;
}

/** How an app is made to use the proxy, and what is to be known about that. */
export function appSubtitle({ method, note, packaging }: App, { _ }: Words): string {
  const says: Record<ProxyMethod, string> = {
    arguments: _('Gets the proxy as an argument'),
    profile: _('Gets a profile of its own with the proxy set'),
    environment: _('Follows the proxy variables of its environment'),
    proxychains: _('Goes through proxychains'),
    none: _('No way is known to send it through the proxy'),
  };
  const from = { native: null, flatpak: 'Flatpak', snap: 'Snap' }[packaging];
  return [[from, says[method]].filter(Boolean).join(' · '), note].filter(Boolean).join('. ');
}

export function launchable({ method }: App): boolean {
  return method !== 'none';
}

/** Whether an app's name, id or kind holds every word of `query`. */
export function appMatches({ name, id, categories }: App, query: string): boolean {
  const text = `${name} ${id} ${categories.join(' ')}`.toLowerCase();
  return query
    .toLowerCase()
    .split(/\s+/)
    .every(word => text.includes(word));
}

/** By name, as this language sorts them. */
export function sortApps(apps: App[]): App[] {
  const order = new Intl.Collator(undefined, { sensitivity: 'base', numeric: true });
  return [...apps].sort((a, b) => order.compare(a.name, b.name) || (a.id < b.id ? -1 : 1));
}

/** Categories of the desktop menu specification whose apps people send through a proxy, the likeliest first. */
const COMMON = ['WebBrowser', 'Email', 'InstantMessaging', 'Chat', 'News', 'P2P', 'FileTransfer', 'Feed'];
const OFFERED = 6;

/** Apps that a shortcut is offered for once the proxy runs: browsers first, none that has one or can't use it. */
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

/** What a launch came to. */
export function launchedWord(name: string, { pid, proxy }: LaunchResponse, { _ }: Words): string {
  const address = `${proxy.host}:${proxy.port}`;
  return pid === null
    ? // Translators: the name of an app, and an address such as 127.0.0.1:40000
      fill(_('%s started through %s'), name, address)
    : // Translators: the name of an app, an address such as 127.0.0.1:40000, and a process's number
      fill(_('%s started through %s, process %d'), name, address, pid);
}

/** What making or removing a shortcut came to. */
export function shortcutWord(name: string, present: boolean, { _ }: Words): string {
  // Translators: %s is the name of an app
  return fill(present ? _('%s with the proxy is in the menu of apps') : _('Shortcut of %s removed'), name);
}
