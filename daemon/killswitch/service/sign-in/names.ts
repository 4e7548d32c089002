// Asks the name servers of the link for the addresses of a name, and no other resolver.
import Gio from 'gi://Gio?version=2.0';
import { formatQuestion, isName, parseAnswer } from '../../sign-in/dns.ts';
import { read, write } from './streams.ts';

const DNS_PORT = 53;
const TRIES = 2;
const ANSWER_SECONDS = 2;
const MOST_BYTES = 4_096;

/** @returns addresses; an empty list if no server answers or the name does not exist */
export async function addressesOf(name: string, servers: readonly string[]): Promise<string[]> {
  if (!isName(name)) return [];
  for (let attempt = 0; attempt < TRIES; attempt++)
    for (const server of servers) {
      const addresses = await ask(name, server).catch(() => null);
      if (addresses) return addresses;
    }
  return [];
}

/** @returns null if what came is not the answer. @throws GLib.Error where none came in time */
async function ask(name: string, server: string): Promise<string[] | null> {
  const { IPV4 } = Gio.SocketFamily;
  const socket = Gio.Socket.new(IPV4, Gio.SocketType.DATAGRAM, Gio.SocketProtocol.UDP);
  socket.set_timeout(ANSWER_SECONDS);
  try {
    // connected, so that the kernel drops answers of other hosts
    socket.connect(Gio.InetSocketAddress.new_from_string(server, DNS_PORT)!, null);
    const connection = socket.connection_factory_create_connection();
    const question = formatQuestion(Math.floor(Math.random() * 65_536), name);
    await write(connection.get_output_stream(), question);
    const answer = await read(connection.get_input_stream(), MOST_BYTES);
    return answer && parseAnswer(answer, question);
  } finally {
    socket.close();
  }
}
