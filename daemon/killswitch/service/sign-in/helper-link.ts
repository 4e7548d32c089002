// Starts the helper of a sign-in as a unit of systemd, and listens to its heartbeat.
import Gio from 'gi://Gio?version=2.0';
import GLib from 'gi://GLib?version=2.0';
import type { Helper, HelperEvents } from '../../sign-in/window-edges.ts';
import { call } from '../authorization.ts';
import { close } from './remote.ts';
import { lines, listenAt, within, write } from './streams.ts';

const UNIT = 'culvert-killswitch-sign-in.service';
const PATH = '/org/freedesktop/systemd1/unit/culvert_2dkillswitch_2dsign_2din_2eservice';
/** In the directory of the root service. */
export const HELPER_SOCKET = 'sign-in';
const START_MS = 10_000;
/** Time for the helper to say what it still has to say. */
const LAST_WORDS_MS = 500;
/** Line of the helper: the command let go of it. */
export const RELEASED = 'released';
/** Users that systemd makes up (DynamicUser=). */
const DYNAMIC_USERS = { first: 61_184, last: 65_519 };

/** @param run the directory of the socket, in which only root can make files */
export function createHelperLink(bus: Gio.DBusConnection, run: string) {
  const systemd = (method: string, body: GLib.Variant, path = '/org/freedesktop/systemd1') =>
    call(bus, { name: 'org.freedesktop.systemd1', path, method, body, reply: null, ms: START_MS });
  const manage = (method: string) =>
    systemd(`org.freedesktop.systemd1.Manager.${method}`, new GLib.Variant('(ss)', [UNIT, 'replace']));

  async function mainProcess(): Promise<unknown> {
    const body = new GLib.Variant('(ss)', ['org.freedesktop.systemd1.Service', 'MainPID']);
    const [pid] = (await systemd('org.freedesktop.DBus.Properties.Get', body, PATH)) as [unknown];
    return pid;
  }

  /** The first connection of the unit's process; those of other processes are refused. @throws Error */
  async function arrival(listener: Gio.SocketListener): Promise<{ connection: Gio.SocketConnection; uid: number }> {
    const patience = new Gio.Cancellable();
    const timer = setTimeout(() => patience.cancel(), START_MS);
    try {
      for (;;) {
        const connection = await accept(listener, patience);
        const credentials = connection.get_socket().get_credentials();
        const uid = credentials.get_unix_user();
        const isMadeUp = uid >= DYNAMIC_USERS.first && uid <= DYNAMIC_USERS.last;
        if (isMadeUp && credentials.get_unix_pid() === (await mainProcess())) return { connection, uid };
        connection.close(null);
      }
    } finally {
      clearTimeout(timer);
    }
  }

  /** @throws Error where systemd does not start it, or it does not answer in time */
  async function startHelper({ beat, reported, released, ended }: HelperEvents): Promise<Helper> {
    const path = GLib.build_filenamev([run, HELPER_SOCKET]);
    const listener = new Gio.SocketListener();
    let arrived: Awaited<ReturnType<typeof arrival>>;
    try {
      listenAt(path, listener);
      await manage('RestartUnit');
      arrived = await arrival(listener);
    } catch (error) {
      await manage('StopUnit').catch(() => {});
      throw error;
    } finally {
      listener.close();
      GLib.unlink(path);
    }
    const { connection, uid } = arrived;
    let isStopped = false;
    const heard = lines(connection.get_input_stream(), line => {
      if (line === 'beat') beat();
      else if (line === RELEASED) released();
      else reported(parsed(line));
    });
    void heard.then(() => !isStopped && ended());
    return {
      uid,
      begin: work => write(connection.get_output_stream(), `${JSON.stringify(work)}\n`),
      async lastWords() {
        isStopped = true;
        try {
          connection.get_socket().shutdown(false, true);
        } catch {
          // it has ended
        }
        await within(LAST_WORDS_MS, heard);
      },
      stop() {
        close(connection);
        void manage('StopUnit').catch(() => {});
      },
    };
  }

  return { startHelper };
}

function accept(listener: Gio.SocketListener, patience: Gio.Cancellable): Promise<Gio.SocketConnection> {
  return new Promise((resolve, reject) =>
    listener.accept_async(patience, (_, result) => {
      try {
        const [connection] = listener.accept_finish(result);
        resolve(connection);
      } catch (error) {
        reject(error);
      }
    }),
  );
}

/** Null for anything but JSON. */
function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}
