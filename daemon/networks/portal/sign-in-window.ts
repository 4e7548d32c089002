// Holds open the window for a login page that the root service opens in the kill switch. A browser and the test for a login
// page reach the network through the service's helper.
import { readFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { SERVICE_PATHS, type ServicePaths } from '../../killswitch/client/published-state.ts';
import { askService } from '../../killswitch/client/service-link.ts';
import { SIGN_IN_DIRECTORY, SIGN_IN_ENDS, SIGN_IN_SOCKET, type SignInEnd } from '../../killswitch/report.ts';
import { TUNNEL_INTERFACES } from '../../killswitch/rules/place.ts';
import { Problem } from '../../problem.ts';
import { message } from '../../view/message.ts';

const ALIVE_MS = 500;
/** Time limit for the device of a tunnel that was just disconnected to disappear. */
const TUNNEL = { everyMs: 100, attempts: 50 };
/** Time limit for the helper to listen. */
const RETRY = { everyMs: 50, attempts: 100 };
/** First byte of the connection that holds the helper. */
const HOLD = 'H';

export interface SignInWindow {
  /** Resolves with the reason when either side has closed the window. */
  closed: Promise<SignInEnd>;
  /** Port on 127.0.0.1 of a SOCKS5 proxy for this user. */
  port: number;
  /** Opens a connection through the helper, which looks the name up. */
  connect(host: string, port: number): Promise<Socket>;
  /** Closes the window. @returns the reason, like `closed` */
  close(): Promise<SignInEnd>;
}

/** Waits until the tunnel is gone: right after a disconnect, the service would refuse before it asks for a password. */
async function untilNoTunnel(): Promise<void> {
  for (let attempt = 1; hasTunnel() && attempt < TUNNEL.attempts; attempt++) await delay(TUNNEL.everyMs);
}

/**
 * Opens the window for a person who may be asked for a password.
 * @throws Problem killswitch-not-installed, killswitch-denied, killswitch-failed
 */
export async function openWindow(
  seconds: number,
  { service = SERVICE_PATHS, directory = SIGN_IN_DIRECTORY }: { service?: ServicePaths; directory?: string } = {},
): Promise<SignInWindow> {
  await untilNoTunnel();
  await askService({ method: 'SignIn', seconds }, true, service);
  const path = join(directory, SIGN_IN_SOCKET);
  const hold = await reach(path);
  hold.write(HOLD);
  const alive = setInterval(() => hold.write('.'), ALIVE_MS);
  let isReleased = false;
  const release = () => {
    isReleased = true;
    clearInterval(alive);
    hold.end();
  };
  let said = '';
  let why: SignInEnd | undefined;
  hold.setEncoding('latin1').on('error', () => {});
  hold.on('data', (text: string) => {
    said += text;
    why = SIGN_IN_ENDS.find(end => said.endsWith(`${end}\n`));
    if (why) release();
  });
  const relays = new Set<Socket>();
  const server = await listen(path, relays);
  const closed = new Promise<SignInEnd>(resolve => {
    hold.once('close', () => {
      // a killed helper gives no reason
      why ??= isReleased ? 'closed' : 'helper';
      clearInterval(alive);
      server.close();
      for (const relay of relays) relay.destroy();
      resolve(why);
    });
  });
  return {
    closed,
    port: (server.address() as AddressInfo).port,
    connect: async (host, port) => askProxy(await reach(path), host, port),
    close() {
      release();
      return closed;
    },
  };
}

function hasTunnel(): boolean {
  const names = Object.keys(networkInterfaces());
  return TUNNEL_INTERFACES.some(name => names.includes(name));
}

/** @throws Problem killswitch-failed */
async function reach(path: string): Promise<Socket> {
  for (let attempt = 1; ; attempt++) {
    const socket = await new Promise<Socket | null>(resolve => {
      const started = connect(path, () => resolve(started));
      // needed later as well: the helper may be killed at any time, and a close reports its end
      started.on('error', () => resolve(null));
    });
    if (socket) return socket;
    if (attempt === RETRY.attempts)
      throw new Problem('killswitch-failed', message('The helper of the kill switch for login pages did not start.'), {
        hint: 'See: journalctl -u culvert-killswitch-sign-in',
      });
    await delay(RETRY.everyMs);
  }
}

/** Passes a browser's connections on to the helper: browsers can't use its socket. Refuses connections of other users. */
function listen(path: string, relays: Set<Socket>): Promise<Server> {
  const server = createServer({ allowHalfOpen: true }, browser => {
    if (!isOwn(browser)) return browser.destroy();
    const helper = connect({ path, allowHalfOpen: true });
    for (const [one, other] of [
      [browser, helper],
      [helper, browser],
    ] as const) {
      relays.add(one);
      one.on('error', () => other.destroy()).once('close', () => relays.delete(one) && other.end());
      one.pipe(other);
    }
    return undefined;
  });
  return new Promise((resolve, reject) => {
    server.once('error', reject).listen(0, '127.0.0.1', () => resolve(server));
  });
}

/** True if the other end is a socket of this user. A closed socket has no owner: its row has no inode. */
function isOwn({ localPort, remotePort }: Socket): boolean {
  const ends = [remotePort, localPort].map(
    port => `0100007F:${(port ?? 0).toString(16).toUpperCase().padStart(4, '0')}`,
  );
  const row = readFileSync('/proc/net/tcp', 'latin1')
    .split('\n')
    .find(line => line.includes(` ${ends.join(' ')} `));
  // sl, both ends, state, queues, timer, retransmissions, uid, timeout, inode
  const [, , , , , , , uid, , inode] = row?.trim().split(/\s+/) ?? [];
  return uid === String(process.getuid!()) && inode !== undefined && inode !== '0';
}

const SOCKS = { greeting: Buffer.of(5, 1, 0), accepted: Buffer.of(5, 0), replyBytes: 10 };

/** Performs the handshake of SOCKS5 (RFC 1928) with a name. @throws Error if the helper can't reach the host */
async function askProxy(socket: Socket, host: string, port: number): Promise<Socket> {
  try {
    socket.write(SOCKS.greeting);
    if (!(await take(socket, SOCKS.accepted.length)).equals(SOCKS.accepted)) throw new Error('the helper refused');
    const name = Buffer.from(host, 'latin1');
    socket.write(Buffer.concat([Buffer.of(5, 1, 0, 3, name.length), name, Buffer.of(port >> 8, port & 255)]));
    const [, code] = await take(socket, SOCKS.replyBytes);
    if (code !== 0) throw new Error(`the helper can't reach ${host}`);
    return socket;
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

/** @returns exactly `size` bytes, and leaves the rest. @throws Error if the socket ends early */
function take(socket: Socket, size: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const end = () => {
      socket.off('readable', look).off('close', failed);
    };
    const failed = () => {
      end();
      reject(new Error('the helper ended the connection'));
    };
    const look = () => {
      const bytes = socket.read(size) as Buffer | null;
      if (bytes === null) return socket.readableEnded ? failed() : undefined;
      end();
      return bytes.length === size ? resolve(bytes) : failed();
    };
    socket.on('readable', look).once('close', failed);
    look();
  });
}
