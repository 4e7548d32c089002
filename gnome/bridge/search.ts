// The search provider of GNOME Shell, org.gnome.Shell.SearchProvider2: answers searches from the state that the bridge follows.
import Gio from 'gi://Gio?version=2.0';
import GLib from 'gi://GLib?version=2.0';
import type { Model } from '../../daemon/view/client/model.ts';
import {
  findResults,
  type SearchedApp,
  type ShellResult,
  shellResults,
} from '../../daemon/view/forms/search/shell-results.ts';
import { tr } from '../i18n.ts';
import { BRAND } from '../install-paths.ts';
import { recentApps, rememberApp } from '../recent-apps.ts';
import type { Callers } from './callers.ts';
import type { OpenWindow } from './methods.ts';
import { exportCalls } from './object.ts';

/** As data/org.culvert.Culvert.search-provider.ini names it. */
const PATH = '/org/culvert/SearchProvider';
const XML = `<node><interface name="org.gnome.Shell.SearchProvider2">
<method name="GetInitialResultSet"><arg type="as" direction="in"/><arg type="as" direction="out"/></method>
<method name="GetSubsearchResultSet"><arg type="as" direction="in"/><arg type="as" direction="in"/><arg type="as" direction="out"/></method>
<method name="GetResultMetas"><arg type="as" direction="in"/><arg type="aa{sv}" direction="out"/></method>
<method name="ActivateResult"><arg type="s" direction="in"/><arg type="as" direction="in"/><arg type="u" direction="in"/></method>
<method name="LaunchSearch"><arg type="as" direction="in"/><arg type="u" direction="in"/></method>
</interface></node>`;

interface Options {
  model: Model;
  callers: Callers;
  openWindow: OpenWindow;
}

/** A Shell never leaves the bus, so each search uses the bridge for its own time only. */
export function exportSearch(bus: Gio.DBusConnection, { model, callers, openWindow }: Options): void {
  /** As the last new search had them: a tile keeps the bridge for the whole session, in which apps come and go. */
  let apps: Promise<SearchedApp[]> | null = null;
  const readApps = () => {
    apps ??= model.call('GET /api/apps').then(
      ({ apps }) => apps,
      () => {
        apps = null;
        return [];
      },
    );
    return apps;
  };
  /** @param every app, and not only the recent ones, which need no question to the daemon */
  const resultsOf = async (every: boolean): Promise<ShellResult[]> => {
    const recent: SearchedApp[] = recentApps();
    const others = every && !model.state().offline ? await readApps() : [];
    const all = new Map([...recent, ...others].map(app => [app.id, app]));
    return shellResults(model.state(), [...all.values()], tr);
  };
  const search = async (terms: string[]) => {
    model.retry();
    // a query such as “firefox vpn” is about any app
    return findResults(await resultsOf(terms.length > 1), terms).map(({ id }) => id);
  };
  const find = async (ids: readonly string[]) => {
    const results = await resultsOf(ids.some(id => id.startsWith('app:')));
    return ids.flatMap(id => results.find(result => result.id === id) ?? []);
  };

  async function act({ act }: ShellResult, platformData: Record<string, unknown>): Promise<void> {
    if (act.kind === 'page') return openWindow(act.page, platformData);
    if (act.kind === 'launch') {
      // turning the local proxy on takes everything else off the tunnel, about which the window asks
      if (model.state().snapshot?.settings.Mode !== 'proxy') return openWindow('apps', platformData);
      await model.call('POST /api/apps/proxy-launcher', { body: { appId: act.appId } });
      return rememberApp({ id: act.appId, name: act.name });
    }
    await model.requestAction(act.request);
    // the window has the countdown, and the button that keeps the change
    if (act.request.confirmWithin !== undefined) await openWindow('connection', platformData);
  }
  const activate = async (id: string, platformData: Record<string, unknown>) => {
    const [result] = await find([id]);
    try {
      if (!result) await openWindow(null, platformData);
      else await act(result, platformData);
    } catch {
      // the window shows why
      await openWindow('connection', platformData);
    }
  };
  const answer = async (_iface: string, method: string, parameters: GLib.Variant): Promise<GLib.Variant | null> => {
    const args = parameters.recursiveUnpack<unknown[]>();
    switch (method) {
      case 'GetInitialResultSet':
        apps = null;
        return new GLib.Variant('(as)', [await search(args[0] as string[])]);
      case 'GetSubsearchResultSet':
        return new GLib.Variant('(as)', [await search(args[1] as string[])]);
      case 'GetResultMetas':
        return new GLib.Variant('(aa{sv})', [(await find(args[0] as string[])).map(metaOf)]);
      case 'ActivateResult':
        await activate(args[0] as string, startedAt(args[2]));
        return null;
      default:
        await openWindow('settings', startedAt(args[1]));
        return null;
    }
  };
  const description = Gio.DBusNodeInfo.new_for_xml(XML).lookup_interface('org.gnome.Shell.SearchProvider2')!;
  exportCalls(bus, { path: PATH, description, answer, began: sender => callers.began(sender, false) });
}

/** Lets the window take the focus: the Shell hands over a time, and no token. */
function startedAt(time: unknown): Record<string, unknown> {
  return { 'desktop-startup-id': `_TIME${time}` };
}

function metaOf({ id, title, description, icon }: ShellResult): Record<string, GLib.Variant> {
  const text = (value: string) => new GLib.Variant('s', value);
  return { id: text(id), name: text(title), description: text(description), gicon: text(icon || BRAND) };
}
