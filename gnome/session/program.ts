// Runs the tray and the bridge, programs of the user's session that each own a name on the bus and follow the daemon.
import Gio from 'gi://Gio?version=2.0';
import GLib from 'gi://GLib?version=2.0';
import { exit } from 'system';
import type { EventName } from '../../daemon/api/contract.ts';
import { type ClientState, current } from '../../daemon/view/client/client-state.ts';
import type { Model } from '../../daemon/view/client/model.ts';
import { type Notification, notificationOf, toCompare } from '../../daemon/view/states/notification.ts';
import { followLocale, tr } from '../i18n.ts';

Gio._promisify(Gio.DBusConnection.prototype, 'call', 'call_finish');

/** Events with the daemon's state, without the connection's statistics. */
export const STATE_EVENTS: readonly EventName[] = [
  'snapshot',
  'gap',
  'status',
  'settings',
  'splitTunnel',
  'options',
  'account',
  'tunnelCli',
  'killSwitch',
  'config',
  'update',
  'diagnosis',
  'changes',
  'reminder',
  'lastPause',
];

export interface Program {
  /** Exit status; initially 0. */
  status: number;
  end(): void;
  /** Prints an error and ends with status 1. */
  fail(error: unknown): void;
  /** Prints a line that starts with the name of the program. */
  say(line: string): void;
}

/** Runs `serve`, and exits when it ends the program or rejects. */
export function runProgram(name: 'tray' | 'bridge', serve: (program: Program) => Promise<void>): void {
  const loop = GLib.MainLoop.new(null, false);
  const program: Program = {
    status: 0,
    end: () => loop.quit(),
    fail(error) {
      program.say((error as Error).message);
      program.status = 1;
      loop.quit();
    },
    say: line => printerr(`culvert ${name}: ${line}`),
  };
  serve(program).catch(program.fail);
  loop.run();
  exit(program.status);
}

/**
 * Calls `changed` after each change of the state, in the user's language.
 * @param requested returns the user's last action, whose effect needs no notice
 * @param changed receives the state and the change's notice, or null
 */
export function followState(
  model: Model,
  requested: (state: ClientState) => string | null,
  changed: (state: ClientState, notice: Notification | null) => void,
): void {
  let before: ClientState | null = null;
  model.subscribe(() => {
    const after = model.state();
    followLocale(after.config);
    const notice = notificationOf(before, after, requested(after), tr);
    if (current(after)) before = toCompare(before, after);
    changed(after, notice);
  });
}

/** Flag and answer of RequestName (D-Bus Specification). */
const DO_NOT_QUEUE = 4;
const PRIMARY_OWNER = 1;

/** Takes a name on the bus. @returns false if another process owns the name */
export async function ownName(bus: Gio.DBusConnection, name: string): Promise<boolean> {
  return (await askBus(bus, 'RequestName', new GLib.Variant('(su)', [name, DO_NOT_QUEUE]))) === PRIMARY_OWNER;
}

export async function disownName(bus: Gio.DBusConnection, name: string): Promise<void> {
  await askBus(bus, 'ReleaseName', new GLib.Variant('(s)', [name]));
}

async function askBus(bus: Gio.DBusConnection, method: string, args: GLib.Variant): Promise<number> {
  const name = 'org.freedesktop.DBus';
  const reply = await bus.call(name, '/org/freedesktop/DBus', name, method, args, null, 0, -1, null);
  return reply.recursiveUnpack<[number]>()[0];
}
