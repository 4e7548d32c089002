// Defines the apps page, which filters the list of apps and sends the requests about an app.
import type { App } from '../../api/schema.ts';
import { type Command, type Status, workCommand } from '../form.ts';
import type { Host } from '../host.ts';
import { appMatches, furtherWays, isFarFetched, launchedText, shortcutText, sortApps } from '../states/apps.ts';
import { stateIcon } from '../states/state-table.ts';
import type { View } from '../view.ts';
import { reading } from './page.ts';

/** Filters of the list: the text of the search, and true to include apps that few people look for here. */
interface Narrowed {
  query: string;
  all: boolean;
}

/** Opens the page. @param changed called when the view has changed */
export function openApps(host: Host, changed: () => void, first: Partial<Narrowed> = {}) {
  const { model } = host;
  let apps: readonly App[] = [];
  /** The answer from which `apps` was set. */
  let taken: readonly App[] | null = null;
  let by: Narrowed = { query: '', all: false, ...first };
  let listed: ReadonlyMap<string, App> | null = null;
  let busy: ReadonlySet<string> = new Set();
  const setApps = (next: readonly App[]) => {
    apps = next;
    listed = null;
  };
  const list = reading(host, changed, {
    read: async () => sortApps((await model.call('GET /api/apps')).apps, host.tr().locale),
  });
  const find = (id: string) => apps.find(app => app.id === id);
  const passes = (app: App) =>
    // a search covers all apps
    appMatches(app, by.query) && (by.query.trim() !== '' || by.all || !isFarFetched(app));
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
    } catch (error) {
      host.showError(error);
    } finally {
      setBusy([...busy].filter(each => each !== id));
    }
  };
  const narrow = (change: Partial<Narrowed>) => {
    const next = { ...by, ...change };
    if (next.query === by.query && next.all === by.all) return;
    by = next;
    listed = null;
    changed();
  };
  /** Returns the status in place of a list without apps. @param failed why there is no list, or null */
  const emptyStatus = (failed: string | null, sensitive: boolean): Status => {
    const { _ } = host.tr();
    const again = { label: _('Try Again'), command: workCommand(list.again), sensitive };
    const none = { icon: 'culvert-apps-symbolic', tone: 'neutral' } as const;
    if (failed !== null)
      return { ...none, icon: stateIcon('unknown'), title: _('Can’t list apps'), sentence: failed, buttons: [again] };
    if (apps.length === 0)
      return {
        ...none,
        title: _('No apps'),
        sentence: _('This desktop has no apps with a menu entry.'),
        buttons: [again],
      };
    const all = { label: _('Show all'), command: workCommand(async () => narrow({ query: '', all: true })) };
    return { ...none, title: _('Nothing found'), sentence: _('No app matches the search.'), buttons: [all] };
  };
  return {
    /**
     * Returns the listed apps by id (the same map until something changes), the ids of apps with a request under way, the status
     * in place of a list, and why a list that was read before can't be read again. Without apps and a status, the list is being
     * read.
     */
    view(view: View) {
      const { value, failed, running } = list.now(view);
      if (value && value !== taken) {
        taken = value;
        setApps(value);
      }
      listed ??= new Map(apps.filter(passes).map(app => [app.id, app]));
      const isOffline = view.client.offline !== null;
      const why = failed !== null && !running ? failed : isOffline && !value ? view.tunnel.sentence : null;
      const wasRead = apps.length > 0;
      const isEmpty = value !== null && listed.size === 0;
      const status = isEmpty || (why !== null && !wasRead) ? emptyStatus(wasRead ? null : why, !isOffline) : null;
      return { by, listed, busy, status, failed: wasRead ? why : null };
    },
    narrow,
    /**
     * Starts an app through the proxy; if the proxy is off, asks to turn it on first. Resolves with the started app or null.
     * @param verify true to test the tunnel first
     */
    async launch(id: string, verify = false): Promise<App | null> {
      let launched: App | null = null;
      await during(id, async app => {
        const { look, enable } = host.view().proxy;
        if (look !== 'on' && !(await host.run(enable.command))) return;
        await model.call('POST /api/apps/proxy-launcher', { body: { appId: id, ...(verify ? { verify } : {}) } });
        launched = app;
        host.toast(launchedText(app.name, host.tr()));
      });
      return launched;
    },
    /** Adds an app to the menu, or removes it; keeps the order of the list, which a new read would change. */
    toggleShortcut: (id: string) =>
      during(id, async ({ name, shortcut: before }) => {
        const present = before === null;
        const { shortcut } = await model.call('POST /api/apps/shortcut', { body: { appId: id, present } });
        setApps(apps.map(app => (app.id === id ? { ...app, shortcut } : app)));
        host.toast(shortcutText(name, present, host.tr()));
      }),
    /** Returns further ways to start an app. */
    entries(id: string) {
      const app = find(id);
      return app ? furtherWays(app, { call: model.call, helper: host.view().killSwitch.look }, host.tr()) : [];
    },
    /** Runs the command of an entry, and reads the list again. */
    run: (id: string, command: Command) =>
      during(id, async () => {
        if ((await host.run(command)) && !host.view().client.offline) await list.again();
      }),
    shown: list.shown,
    close: list.close,
  };
}
