// The bridge: offers the daemon's state as org.culvert.Client1 on the session bus, for the shells of all desktops, and ends
// when no program uses it anymore. It has no GTK, and no timer while it is in use.
import Gio from 'gi://Gio?version=2.0';
import GLib from 'gi://GLib?version=2.0';
import { exit } from 'system';
import { type ClientState, current } from '../../daemon/view/client/client-state.ts';
import { createModel } from '../../daemon/view/client/model.ts';
import { notificationOf, toCompare } from '../../daemon/view/states/notification.ts';
import { disownName, ownName } from '../bus-name.ts';
import { collectWhenQuiet } from '../gc.ts';
import { followLocale, tr } from '../i18n.ts';
import { CLIENT_NAME, pkgdatadir, socketPath } from '../install-paths.ts';
import { STATE_EVENTS } from '../state-events.ts';
import { createTransport } from '../transport.ts';
import { type Callers, watchCallers } from './callers.ts';
import { watchForRemoval, watchForSocket } from './file-watch.ts';
import { createMethods } from './methods.ts';
import { exportObject } from './object.ts';
import { windowOpener } from './open-window.ts';
import { changesBetween, propertiesOf } from './properties.ts';

Gio._promisify(Gio.DBusConnection.prototype, 'call', 'call_finish');

declare const __VERSION__: string;

/** A caller gives up after 25 s, unless it says otherwise. */
const DEADLINE_MS = 20_000;
/** Attempts to reach a daemon get rarer without end: its socket is watched, and calls try immediately. */
const PACE = { backOffMs: [250, 86_400_000] as [number, number], idleTimeoutMs: Infinity };

/** Exit status on which the user unit starts the bridge again (data/culvert-bridge.service.in). */
const RESTART = 75;

const program = GLib.build_filenamev([pkgdatadir, 'bridge.js']);
const loop = GLib.MainLoop.new(null, false);
let exitCode = 0;

async function serve(): Promise<void> {
  const bus = Gio.bus_get_sync(Gio.BusType.SESSION, null);
  const model = createModel(createTransport(socketPath(), DEADLINE_MS), PACE, [...STATE_EVENTS, 'tunnel', 'networks']);
  const properties = () => propertiesOf(model.state(), __VERSION__, tr);
  let shown = properties();

  const callers = watchCallers(bus, () => void name.leave().catch(fail));
  const name = nameOn(bus, callers);
  const methods = createMethods(model, windowOpener(bus));
  const object = exportObject(bus, { properties, methods, callers, retry: model.retry });

  // Culvert is removed after its daemon was stopped
  const watchAbsence = absenceWatch(model.retry, () => void name.giveWay(0).catch(fail));
  /** A daemon of another version comes back after an update. */
  const followUpdate = async () => {
    if (!before) return;
    const { version } = await model.call('GET /api/version');
    if (version !== __VERSION__) await name.giveWay(RESTART);
  };
  let before: ClientState | null = null;
  let online = false;
  let ready = () => {};
  const isKnown = new Promise<void>(resolve => {
    ready = resolve;
  });
  model.subscribe(() => {
    const after = model.state();
    followLocale(after.config);
    const next = properties();
    const changes = changesBetween(shown, next);
    shown = next;
    if (changes) object.changed(changes);
    // the caller that asks for a change needs no notice of it
    const news = notificationOf(before, after, after.pending, tr);
    if (news) object.notice(news.code, news.summary, { body: news.body });
    // figures of the connection are read only for a program that shows them
    if (changes?.State === 'connected') void model.refresh('stale');
    const isOnline = current(after) !== null;
    if (isOnline && !online) followUpdate().catch(() => {});
    online = isOnline;
    if (isOnline) before = toCompare(before, after);
    watchAbsence(after);
    if (after.offline ? after.offline.code !== 'starting' : after.config) ready();
    collectWhenQuiet();
  });
  await isKnown;
  // the caller that had it started finds the state, not "unknown"
  await name.own();
}

/** The bridge's name on the bus, which goes before the bridge does. */
function nameOn(bus: Gio.DBusConnection, callers: Callers) {
  const own = async () => {
    if (await ownName(bus, CLIENT_NAME)) return;
    printerr(`culvert bridge: another process owns ${CLIENT_NAME}.`);
    loop.quit();
  };
  const disown = () => disownName(bus, CLIENT_NAME);
  return {
    own,
    /** Gives the name up first: from then on, a call starts the next bridge. */
    async leave() {
      const calls = callers.calls();
      await disown();
      if (callers.calls() === calls) loop.quit();
      else await own();
    },
    /** Ends with this exit status, once the calls that are under way are answered. */
    async giveWay(code: number) {
      exitCode = code;
      await disown();
      await callers.answered();
      loop.quit();
    },
  };
}

/** Watches the daemon's socket, and this program's file, while there is no daemon. */
function absenceWatch(appeared: () => void, removed: () => void): (client: ClientState) => void {
  let ends: readonly (() => void)[] | null = null;
  return ({ offline }) => {
    if (offline && offline.code !== 'starting')
      ends ??= [watchForSocket(socketPath(), appeared), watchForRemoval(program, removed)];
    else if (!offline) {
      for (const end of ends ?? []) end();
      ends = null;
    }
  };
}

function fail(error: unknown): void {
  printerr(`culvert bridge: ${error instanceof Error ? error.message : error}`);
  exitCode = 1;
  loop.quit();
}

serve().catch(fail);
loop.run();
exit(exitCode);
