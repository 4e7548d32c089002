// Defines the apps page: the local proxy, and a searched list that starts apps through it.
import type { App } from '../../api/schema.ts';
import {
  type Command,
  type ItemControls,
  type ListItem,
  noteRow,
  type Row,
  type Status,
  workCommand,
} from '../form.ts';
import { formatCount } from '../format.ts';
import { searchedText } from '../forms/search-rows.ts';
import type { Host } from '../host.ts';
import { pageTitle } from '../page-list.ts';
import {
  appBadge,
  appDetails,
  appMatches,
  commonApps,
  furtherWays,
  isFarFetched,
  launchable,
  launchedText,
  shortcutText,
  sortApps,
} from '../states/apps.ts';
import type { ProxyView } from '../states/proxy.ts';
import { stateIcon } from '../states/state-table.ts';
import { fill, type Translator } from '../translator.ts';
import type { View } from '../view.ts';
import { type Page, reading } from './page.ts';

/** The choices above the list. */
interface Chosen {
  query: string;
  /** True to include apps that few people look for here. */
  all: boolean;
  /** True to test the tunnel before an app is started. */
  verify: boolean;
}

export const appsPage: Page = (host, changed) => {
  let by: Chosen = { query: '', all: false, verify: false };
  let listed: { keys: readonly unknown[]; items: readonly ListItem[] } = { keys: [], items: [] };
  const apps = createApps(host, changed);
  const controls = ({ id }: ListItem) => controlsOf(apps.find(id)!, apps, by.verify, host);
  const choose = (change: Partial<Chosen>) => {
    by = { ...by, ...change };
    changed();
  };
  const passes = (app: App) =>
    // a search covers all apps
    appMatches(app, by.query) && (by.query.trim() !== '' || by.all || !isFarFetched(app));
  /** Returns the items, in the same array until they or their controls change. */
  const itemsOf = ({ client, proxy }: View): readonly ListItem[] => {
    const tr = host.tr();
    const keys = [apps.all(), by, apps.busy(), client.offline !== null, proxy.look, proxy.sensitive, tr];
    if (keys.some((key, i) => key !== listed.keys[i])) {
      const items = apps.all().filter(passes);
      listed = { keys, items: items.map(app => itemOf(app, apps.busy().has(app.id), tr)) };
    }
    return listed.items;
  };
  return {
    form(view) {
      const tr = host.tr();
      const { _ } = tr;
      const { proxy } = view;
      const isOnline = view.client.offline === null;
      const failed = apps.follow(view);
      const items = itemsOf(view);
      const wasRead = apps.all().length > 0;
      return {
        groups: [
          { id: 'proxy', live: true, rows: proxyRows(proxy, host, tr) },
          // why a list that was read before can't be read again
          {
            id: 'failed',
            live: true,
            rows: wasRead && failed !== null ? [noteRow('failed', failed, null, 'error')] : [],
          },
        ],
        search: {
          label: _('Search apps'),
          text: by.query,
          type: query => choose({ query }),
          enter() {
            const [first] = by.query.trim() ? items : [];
            const start = first && controls(first).start;
            if (start?.sensitive) void host.run(start.command);
          },
          options: [
            { label: _('Show all'), on: by.all, set: all => choose({ all }) },
            { label: _('Check the tunnel first'), on: by.verify, set: verify => choose({ verify }) },
          ],
        },
        list: {
          title: pageTitle('apps', tr),
          items,
          sensitive: isOnline,
          reason: proxy.look === 'on' || proxy.sensitive ? null : proxy.warning,
          controls,
          refresh: { label: _('Look for apps again'), command: workCommand(async () => apps.shown()) },
          empty: wasRead
            ? nothingFound(() => choose({ query: '', all: true }), tr)
            : emptyStatus(apps, failed, isOnline, tr),
        },
      };
    },
    reveal(row) {
      const query = searchedText(row);
      // the app may be one that the short list leaves out
      if (query) choose({ query, all: true });
    },
    shown: apps.shown,
    close: apps.close,
  };
};

/** Reads the apps, and sends the requests about one of them. */
function createApps(host: Host, changed: () => void) {
  const { model } = host;
  let apps: readonly App[] = [];
  /** The answer from which `apps` was set. */
  let taken: readonly App[] | null = null;
  let busy: ReadonlySet<string> = new Set();
  const list = reading(host, changed, {
    read: async () => sortApps((await model.call('GET /api/apps')).apps, host.tr().locale),
  });
  const find = (id: string) => apps.find(app => app.id === id);
  const setBusy = (ids: Iterable<string>) => {
    busy = new Set(ids);
    changed();
  };
  /** Sends one request about an app at a time, and marks the app as busy. */
  const during = async (id: string, work: (app: App) => Promise<void>) => {
    const app = find(id);
    if (!app || busy.has(id)) return;
    setBusy([...busy, id]);
    try {
      await work(app);
    } finally {
      setBusy([...busy].filter(each => each !== id));
    }
  };
  return {
    all: () => apps,
    find,
    busy: () => busy,
    wasRead: () => taken !== null,
    /** Takes a new answer, and reads if a read is due. Returns why there is no new list, or null. */
    follow(view: View): string | null {
      const { value, failed, running } = list.now(view);
      if (value && value !== taken) apps = taken = value;
      if (failed !== null && !running) return failed;
      return view.client.offline && !value ? view.tunnel.sentence : null;
    },
    /** Starts an app through the proxy; if the proxy is off, asks to turn it on first. @param verify tests the tunnel */
    launch: (id: string, verify: boolean) =>
      during(id, async app => {
        const { look, enable } = host.view().proxy;
        if (look !== 'on' && !(await host.run(enable.command))) return;
        await model.call('POST /api/apps/proxy-launcher', { body: { appId: id, ...(verify ? { verify } : {}) } });
        host.desktop?.rememberApp(app);
        host.toast(launchedText(app.name, host.tr()));
      }),
    /** Adds an app to the menu, or removes it; keeps the order of the list, which a new read would change. */
    toggleShortcut: (id: string) =>
      during(id, async ({ name, shortcut: before }) => {
        const present = before === null;
        const { shortcut } = await model.call('POST /api/apps/shortcut', { body: { appId: id, present } });
        apps = apps.map(app => (app.id === id ? { ...app, shortcut } : app));
        host.toast(shortcutText(name, present, host.tr()));
      }),
    /** Runs another command about an app, and reads the list again. */
    run: (id: string, command: Command) =>
      during(id, async () => {
        if ((await host.run(command)) && !host.view().client.offline) await list.again();
      }),
    again: list.again,
    shown: list.shown,
    close: list.close,
  };
}

type Apps = ReturnType<typeof createApps>;

function itemOf(app: App, busy: boolean, tr: Translator): ListItem {
  const [note, details] = [appBadge(app, tr), appDetails(app, tr)];
  return { id: app.id, title: app.name, badge: '', note, details, picture: app.icon, faded: !launchable(app), busy };
}

/** @param verify true to test the tunnel before the app is started */
function controlsOf(app: App, apps: Apps, verify: boolean, host: Host): ItemControls {
  const tr = host.tr();
  const { _ } = tr;
  const { id, name } = app;
  const { proxy, killSwitch } = host.view();
  const on = app.shortcut !== null;
  return {
    start: {
      label: _('Start'),
      // Translators: %s is the name of an app
      name: fill(_('Start %s'), name),
      command: workCommand(() => apps.launch(id, verify)),
      sensitive: launchable(app) && (proxy.look === 'on' || proxy.sensitive),
    },
    toggle: {
      on,
      label: on ? _('Remove from Menu') : _('Add to Menu'),
      // Translators: %s is the name of an app
      name: fill(on ? _('Remove %s from the app menu') : _('Add %s to the app menu'), name),
      command: workCommand(() => apps.toggleShortcut(id)),
      sensitive: launchable(app) || on,
    },
    menu: () =>
      furtherWays(app, { call: host.model.call, helper: killSwitch.look }, tr).map(({ label, command }) => ({
        label,
        command: workCommand(() => apps.run(id, command)),
      })),
  };
}

const NONE = { icon: 'culvert-apps-symbolic', tone: 'neutral', sentence: null } as const;

function nothingFound(showAll: () => void, { _ }: Translator): Status {
  const all = { label: _('Show all'), command: workCommand(async () => showAll()) };
  return { ...NONE, title: _('Nothing found'), sentence: _('No app matches the search.'), buttons: [all] };
}

/** Returns the status in place of apps. @param failed why they can't be read, or null */
function emptyStatus(apps: Apps, failed: string | null, sensitive: boolean, { _ }: Translator): Status {
  const buttons = [{ label: _('Try Again'), command: workCommand(apps.again), sensitive }];
  if (failed !== null)
    return { ...NONE, icon: stateIcon('unknown'), title: _('Can’t list apps'), sentence: failed, buttons };
  if (!apps.wasRead()) return { ...NONE, title: _('Looking for apps'), buttons: [], waiting: _('Reading…') };
  return { ...NONE, title: _('No apps'), sentence: _('This desktop has no apps with a menu entry.'), buttons };
}

/** Says which traffic uses WARP, with a button that turns the proxy on or copies its address, and what went wrong. */
function proxyRows(proxy: ProxyView, host: Host, tr: Translator): Row[] {
  const { look, sensitive, failure } = proxy;
  const warning = failure?.text ?? proxy.warning;
  const main = proxyRow({ ...proxy, warning }, host, tr);
  // otherwise the warning is the reason why the proxy can't be turned on
  const isApart = look === 'on' || sensitive || failure !== null;
  if (warning === null || !isApart) return [main];
  const row = { id: 'warning', title: warning, tone: 'warning' } as const;
  return [main, failure?.remedy ? { kind: 'button', ...row, ...failure.remedy } : { kind: 'note', ...row }];
}

function proxyRow({ look, sentence, address, enable, ...proxy }: ProxyView, host: Host, { _ }: Translator): Row {
  const row = { kind: 'button', id: 'proxy', title: sentence } as const;
  if (look !== 'on') {
    const { sensitive, waiting: busy, warning: reason } = proxy;
    const { label } = enable;
    const command = workCommand(() => turnOn(host));
    return { ...row, label, name: label, style: 'suggested', command, sensitive, busy, reason };
  }
  if (address === null) return noteRow('proxy', sentence);
  const ask = { kind: 'copy', text: address } as const;
  // the browser page says so itself
  const command = host.desktop ? { ask, done: _('Copied') } : { ask };
  return { ...row, label: _('Copy'), name: _('Copy the proxy’s address'), command };
}

/** Turns the proxy on; a desktop app then offers entries in the app menu for common apps. @returns a message */
async function turnOn({ model, desktop, run, view, tr }: Host): Promise<string | null> {
  if (!(await run(view().proxy.enable.command)) || !desktop) return null;
  const { _, ngettext } = tr();
  const common = commonApps((await model.call('GET /api/apps')).apps);
  if (!common.length) return _('Only chosen apps are tunneled');
  const chosen = await desktop.offerApps(common);
  for (const { id: appId } of chosen) await model.call('POST /api/apps/shortcut', { body: { appId, present: true } });
  return chosen.length
    ? fill(ngettext('%d app added', '%d apps added', chosen.length), formatCount(chosen.length, tr()))
    : null;
}
