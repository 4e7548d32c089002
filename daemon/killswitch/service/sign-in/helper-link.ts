// Starts the helper of a sign-in as a systemd unit, and listens for its heartbeat.
import Gio from 'gi://Gio?version=2.0';
import GLib from 'gi://GLib?version=2.0';
import type { SignInEnd } from '../../report.ts';
import type { Helper, HelperEvents } from '../../sign-in/window.ts';
import { processOf } from '../programs.ts';
import { systemd } from '../system-bus.ts';
import { close, lines, listenAt, readExactly, within, write } from './streams.ts';

const UNIT = 'culvert-killswitch-sign-in.service';
/**
 * Socket in the directory of the root service. systemd connects the helper's input and output to it (StandardInput=file:), as
 * root and in the process that becomes the helper, so no other user can connect to it or keep the helper from it.
 */
const SOCKET = { name: 'sign-in', mode: 0o600 };
const START_MS = 10_000;
/** Time limit for the helper to say why the sign-in ended. */
const LAST_WORDS_MS = 500;
/** First line of the helper. */
export const READY = 'ready';
/** Line of the helper after the command has released it. */
export const RELEASED = 'released';
/** Range of users that systemd allocates dynamically (DynamicUser=). */
const DYNAMIC_USERS = { first: 61_184, last: 65_519 };

/** @param run directory of the socket, in which only root can make files */
export function createHelperLink(bus: Gio.DBusConnection, run: string) {
  const manage = (method: string) => systemd(bus, method, new GLib.Variant('(ss)', [UNIT, 'replace']));

  /** @throws Error if systemd does not start the helper, or if the helper does not answer in time */
  async function startHelper({ beat, released, ended }: HelperEvents): Promise<Helper> {
    const path = GLib.build_filenamev([run, SOCKET.name]);
    const listener = new Gio.SocketListener();
    let arrived: Awaited<ReturnType<typeof arrival>>;
    try {
      listenAt(path, listener, SOCKET.mode);
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
    let hasBegun = false;
    let isStopped = false;
    const heard = lines(connection.get_input_stream(), line => {
      if (line === 'beat') beat();
      else if (line === RELEASED) released();
    });
    void heard.then(() => !isStopped && ended());
    return {
      uid,
      begin(work) {
        hasBegun = true;
        return write(connection.get_output_stream(), `${JSON.stringify(work)}\n`);
      },
      async stop(why: SignInEnd) {
        isStopped = true;
        try {
          // a helper without work would read the reason as its work
          if (hasBegun) await write(connection.get_output_stream(), `${why}\n`);
          connection.get_socket().shutdown(false, true);
        } catch {
          // the helper has ended
        }
        await within(LAST_WORDS_MS, heard);
        close(connection);
        void manage('StopUnit').catch(() => {});
      },
    };
  }

  return { startHelper };
}

/** Accepts the helper's connection, and finds the user that systemd allocated for it. @throws Error */
async function arrival(listener: Gio.SocketListener): Promise<{ connection: Gio.SocketConnection; uid: number }> {
  const patience = new Gio.Cancellable();
  let connection: Gio.SocketConnection | null = null;
  const timer = setTimeout(() => {
    patience.cancel();
    if (connection) close(connection);
  }, START_MS);
  try {
    connection = await accept(listener, patience);
    // the process still belonged to systemd when it connected
    await readExactly(connection.get_input_stream(), READY.length + 1);
    const uid = processOf(connection.get_socket().get_credentials().get_unix_pid())?.uid ?? 0;
    if (uid < DYNAMIC_USERS.first || uid > DYNAMIC_USERS.last)
      throw new Error(`the helper has no user of its own: ${uid}`);
    return { connection, uid };
  } catch (error) {
    if (connection) close(connection);
    throw error;
  } finally {
    clearTimeout(timer);
  }
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
