// Connects to hosts outside this machine.
import Gio from 'gi://Gio?version=2.0';
import { connect } from './streams.ts';

/** @param seconds for each address @returns null if none answers, or all are this machine's own */
export async function connectToAny(
  addresses: readonly string[],
  port: number,
  seconds: number,
): Promise<Gio.SocketConnection | null> {
  for (const address of addresses) {
    if (isLocal(address)) continue;
    const to = Gio.InetSocketAddress.new_from_string(address, port);
    const connection = to && (await connect(to, seconds).catch(() => null));
    if (connection) return connection;
  }
  return null;
}

/** This machine's own servers are not for another user to be reached as. */
export function isLocal(address: string): boolean {
  const parsed = Gio.InetAddress.new_from_string(address);
  return !parsed || parsed.get_is_loopback() || parsed.get_is_any() || parsed.get_is_multicast();
}

export function close(connection: Gio.SocketConnection): void {
  try {
    connection.close(null);
  } catch {
    // it has ended
  }
}
