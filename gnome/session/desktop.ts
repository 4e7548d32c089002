// Opens and quits the panel for the tray, and shows notifications.
import Gio from 'gi://Gio?version=2.0';
import GLib from 'gi://GLib?version=2.0';
import { fill } from '../../daemon/view/translator.ts';
import { _ } from '../i18n.ts';
import { APP_ID, APP_PATH, BRAND, gjsProgram, pkgdatadir } from '../install-paths.ts';
import { passOnMemorySettings } from '../programs.ts';
import type { Pixmaps } from './icons.ts';
import type { PanelAction } from './menu.ts';

/** Longest wait for a starting panel, in ms. */
const START_MS = 30_000;

/**
 * Raises the running panel, or starts this prefix's panel. D-Bus activation could start another version, and starts nothing
 * in an AppImage.
 * @param token activation token from the host, which lets the window take the focus.
 * @param action action that the panel performs when it runs.
 * @throws Error if the panel can't be started, or does not appear.
 */
export async function openPanel(bus: Gio.DBusConnection, token: string | null, action?: PanelAction): Promise<void> {
  const platform: Record<string, GLib.Variant> = token ? { 'activation-token': new GLib.Variant('s', token) } : {};
  const open = () =>
    action
      ? callPanel(bus, 'org.gtk.Actions', new GLib.Variant('(sava{sv})', [action, [], platform]))
      : callPanel(bus, 'org.freedesktop.Application', new GLib.Variant('(a{sv})', [platform]));
  if (await open()) return;
  const launcher = new Gio.SubprocessLauncher({ flags: Gio.SubprocessFlags.NONE });
  passOnMemorySettings(launcher);
  if (token) launcher.setenv('XDG_ACTIVATION_TOKEN', token, true);
  const command = [gjsProgram(), '-m', GLib.build_filenamev([pkgdatadir, 'panel.js'])];
  const panel = launcher.spawnv(command);
  if (!(await appears(bus, panel)))
    throw new Error(fill(_('The window did not appear. Run “%s” in a terminal to see why.'), command.join(' ')));
  if (action) await open();
}

/**
 * Resolves with true once the panel owns its name, or exits successfully because another panel is running; with false if it
 * fails, or after `START_MS`.
 */
function appears(bus: Gio.DBusConnection, panel: Gio.Subprocess): Promise<boolean> {
  return new Promise(resolve => {
    let watch = 0;
    const done = (isShown: boolean) => {
      if (watch === 0) return; // the panel has ended later
      clearTimeout(timer);
      Gio.bus_unwatch_name(watch);
      watch = 0;
      resolve(isShown);
    };
    const timer = setTimeout(done, START_MS, false);
    watch = Gio.bus_watch_name_on_connection(
      bus,
      APP_ID,
      Gio.BusNameWatcherFlags.NONE,
      () => done(true),
      () => {},
    );
    panel.wait_async(null, () => done(panel.get_successful()));
  });
}

/** Quits the panel if it is running. */
export async function quitPanel(bus: Gio.DBusConnection): Promise<void> {
  await callPanel(bus, 'org.gtk.Actions', new GLib.Variant('(sava{sv})', ['quit', [], {}]));
}

/** A notification with its buttons. */
export interface Shown {
  summary: string;
  body: string;
  /** Icon of the notification (default: Culvert's icon). */
  picture?: Pixmaps[number];
  /** True if the server need not keep the notification in a list. */
  transient?: boolean;
  actions: readonly { label: string; activate(): void }[];
}

const sameWords = (a: Shown, b: Shown) =>
  a.summary === b.summary &&
  a.body === b.body &&
  a.actions.map(each => each.label).join() === b.actions.map(each => each.label).join();

/** The hint `image-data`: width, height, bytes of a row, alpha, bits, channels, RGBA. Servers lack our icons in an AppImage. */
function imageOf([width, height, argb]: Pixmaps[number]): GLib.Variant {
  const rgba = new Uint8Array(argb.length);
  for (let at = 0; at < argb.length; at += 4) for (let i = 0; i < 4; i++) rgba[at + i] = argb[at + ((i + 1) % 4)]!;
  return new GLib.Variant('(iiibiiay)', [width, height, 4 * width, true, 8, 4, rgba]);
}

/** Returns the key of a button on the bus. */
const keyOf = (at: number) => (at === 0 ? 'act' : `act-${at}`);

const NOTIFICATIONS = 'org.freedesktop.Notifications';
const NOTIFICATIONS_PATH = '/org/freedesktop/Notifications';

/**
 * Creates a notifier. A new notification replaces the last notification of the same kind. Without a notification service, the
 * text goes to stderr. Desktop Notifications Specification 1.2.
 * @param open action of a click on the text; only buttons change something
 */
export function createNotifier(bus: Gio.DBusConnection, open: { label: string; activate(): void }) {
  const shown = new Map<string, Shown & { id: number }>();
  /** End of the queue: calls run one by one, since a replacement needs the ID of the earlier notification. */
  let last = Promise.resolve();
  const next = (work: () => Promise<void>) => {
    last = last.then(work);
    return last;
  };
  const call = (method: string, args: GLib.Variant | null) =>
    bus.call(NOTIFICATIONS, NOTIFICATIONS_PATH, NOTIFICATIONS, method, args, null, 0, -1, null);
  bus.signal_subscribe(
    NOTIFICATIONS,
    NOTIFICATIONS,
    'ActionInvoked',
    NOTIFICATIONS_PATH,
    null,
    Gio.DBusSignalFlags.NONE,
    (...[, , , , , parameters]) => {
      const [id, key] = parameters.recursiveUnpack<[number, string]>();
      // the reply with the ID may arrive at the same time
      void last.then(() => {
        const notice = [...shown.values()].find(each => each.id === id);
        if (notice && key === 'default') open.activate();
        else notice?.actions.find((_, at) => key === keyOf(at))?.activate();
      });
    },
  );
  bus.signal_subscribe(
    NOTIFICATIONS,
    NOTIFICATIONS,
    'NotificationClosed',
    NOTIFICATIONS_PATH,
    null,
    Gio.DBusSignalFlags.NONE,
    (...[, , , , , parameters]) => {
      const [id] = parameters.recursiveUnpack<[number]>();
      // the handler of the closing click may still have to run
      void next(async () => {
        for (const [kind, notice] of shown) if (notice.id === id) shown.delete(kind);
      });
    },
  );
  async function send(kind: string, notice: Shown): Promise<void> {
    const { summary, body, picture, transient, actions } = notice;
    const hints: Record<string, GLib.Variant> = { 'desktop-entry': new GLib.Variant('s', APP_ID) };
    if (transient) hints.transient = new GLib.Variant('b', true);
    if (picture) hints['image-data'] = imageOf(picture);
    const buttons = ['default', open.label, ...actions.flatMap(({ label }, at) => [keyOf(at), label])];
    const replaced = shown.get(kind)?.id ?? 0;
    try {
      const [can] = (await call('GetCapabilities', null)).recursiveUnpack<[string[]]>();
      const text = can.includes('body-markup') ? GLib.markup_escape_text(body, -1) : body;
      const args = ['Culvert', replaced, BRAND, summary, text, can.includes('actions') ? buttons : [], hints, -1];
      const reply = await call('Notify', new GLib.Variant('(susssasa{sv}i)', args as never));
      shown.set(kind, { ...notice, id: reply.recursiveUnpack<[number]>()[0] });
    } catch {
      printerr(`culvert tray: ${summary}: ${body}`);
    }
  }
  return {
    show: (kind: string, notice: Shown): Promise<void> => next(() => send(kind, notice)),
    /** Updates a notification that is still shown, or withdraws it if `present` returns null. */
    update: (kind: string, present: () => Shown | null): Promise<void> =>
      next(async () => {
        const before = shown.get(kind);
        if (!before) return;
        const now = present();
        if (now) return sameWords(before, now) ? undefined : send(kind, now);
        shown.delete(kind);
        try {
          await call('CloseNotification', new GLib.Variant('(u)', [before.id]));
        } catch {
          // it is already closed
        }
      }),
  };
}

/** Activates the panel, or one of its actions, without starting it. Resolves with true if the panel is running. */
async function callPanel(bus: Gio.DBusConnection, iface: string, args: GLib.Variant): Promise<boolean> {
  try {
    await bus.call(APP_ID, APP_PATH, iface, 'Activate', args, null, Gio.DBusCallFlags.NO_AUTO_START, -1, null);
    return true;
  } catch {
    return false;
  }
}
