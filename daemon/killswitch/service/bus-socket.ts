// Opens the sockets between the system bus, the gate and GDBus.
import Gio from 'gi://Gio?version=2.0';
import GLib from 'gi://GLib?version=2.0';

/** A connection to the system bus, authenticated by the credentials of the socket. */
export function connect(): Gio.IOStream {
  const address = Gio.dbus_address_get_for_bus_sync(Gio.BusType.SYSTEM, null);
  const [stream] = Gio.dbus_address_get_stream_sync(address, null);
  const uid = String(new Gio.Credentials().get_unix_user());
  const hex = [...uid].map(digit => digit.charCodeAt(0).toString(16)).join('');
  const write = (text: string) => stream.get_output_stream().write_all(new TextEncoder().encode(text), null);
  write(`\0AUTH EXTERNAL ${hex}\r\n`);
  let answer = '';
  while (!answer.endsWith('\r\n')) {
    const byte = stream.get_input_stream().read_bytes(1, null).toArray();
    if (!byte.length || answer.length > 1024) throw new Error(`the system bus ended the connection: ${answer}`);
    answer += String.fromCharCode(...byte);
  }
  if (!answer.startsWith('OK ')) throw new Error(`the system bus refused the connection: ${answer.trim()}`);
  write('BEGIN\r\n');
  return stream;
}

/**
 * GLib does not expose socketpair() to GJS, so this connects to a socket with an unguessable name. @throws GLib.Error
 */
export function socketPair(): [Gio.IOStream, Gio.IOStream] {
  const [listener, client] = [1, 2].map(() =>
    Gio.Socket.new(Gio.SocketFamily.UNIX, Gio.SocketType.STREAM, Gio.SocketProtocol.DEFAULT),
  ) as [Gio.Socket, Gio.Socket];
  const name = [...`culvert-killswitch-${GLib.uuid_string_random()}`].map(letter => letter.charCodeAt(0));
  const address = Gio.UnixSocketAddress.new_with_type(name, Gio.UnixSocketAddressType.ABSTRACT);
  listener.bind(address, false);
  listener.listen();
  client.connect(address, null);
  const server = listener.accept(null);
  listener.close();
  if (server.get_credentials().get_unix_pid() !== new Gio.Credentials().get_unix_pid())
    throw new Error('another process connected to the inner socket');
  return [server.connection_factory_create_connection(), client.connection_factory_create_connection()];
}

/** Says hello on the bus. In a thread of GLib's, so that the relay can go on. */
export function greet(stream: Gio.IOStream): Promise<Gio.DBusConnection> {
  return new Promise((resolve, reject) =>
    Gio.DBusConnection.new(stream, null, Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION, null, null, (_, result) => {
      try {
        resolve(Gio.DBusConnection.new_finish(result));
      } catch (error) {
        reject(error);
      }
    }),
  );
}
