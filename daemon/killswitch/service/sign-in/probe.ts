// Asks the fixed pages that show whether a network has a login page, by its own name servers.
import Gio from 'gi://Gio?version=2.0';
import GLib from 'gi://GLib?version=2.0';
import {
  type Answer,
  answerOf,
  judge,
  judgeCertificate,
  MAX_BODY_BYTES,
  parseReply,
  SECURE,
  SILENT,
  TARGETS,
  type Target,
  UNREACHABLE,
  type Verdict,
} from '../../sign-in/verdict.ts';
import { addressesOf, close, connectToAny, read, write } from './streams.ts';

const HTTP_PORT = 80;
const CONNECT_SECONDS = 5;
/** For a page and for the certificate after it, names included: together less than the root service waits. */
const LIMIT_MS = { page: 10_000, certificate: 8_000 };
/** More than the fields of an expected answer. */
const MAX_HEAD_BYTES = 8_192;

/** Asks all pages at the same time; if none answers, checks a certificate. Never rejects. */
export async function probe(servers: readonly string[]): Promise<Verdict> {
  const verdict = judge(await Promise.all(TARGETS.map(target => within(LIMIT_MS.page, ask(target, servers), SILENT))));
  if (verdict.network !== 'unreachable') return verdict;
  return within(LIMIT_MS.certificate, askSecurely(servers), UNREACHABLE).catch(() => UNREACHABLE);
}

/** @throws GLib.Error where no server speaks TLS */
async function askSecurely(servers: readonly string[]): Promise<Verdict> {
  if (!Gio.TlsBackend.get_default().supports_tls()) return UNREACHABLE; // glib-networking is not installed
  const { host, port } = SECURE;
  const connection = await connectToAny(await addressesOf(host, servers), port, CONNECT_SECONDS);
  if (!connection) return UNREACHABLE;
  try {
    return judgeCertificate(await isTrusted(connection, host, port), host);
  } finally {
    close(connection);
  }
}

/** @throws GLib.Error where the handshake fails, or takes too long */
function isTrusted(connection: Gio.SocketConnection, host: string, port: number): Promise<boolean> {
  const tls = Gio.TlsClientConnection.new(connection, Gio.NetworkAddress.new(host, port));
  let trusted = true;
  tls.connect('accept-certificate', () => {
    trusted = false;
    return true; // the handshake goes on, and nothing is sent after it
  });
  const patience = new Gio.Cancellable();
  const timer = setTimeout(() => patience.cancel(), CONNECT_SECONDS * 1_000);
  return new Promise((resolve, reject) =>
    tls.handshake_async(GLib.PRIORITY_DEFAULT, patience, (_, result) => {
      clearTimeout(timer);
      try {
        tls.handshake_finish(result);
        resolve(trusted);
      } catch (error) {
        reject(error);
      }
    }),
  );
}

/** @param otherwise the result if none comes in time */
function within<T>(ms: number, work: Promise<T>, otherwise: T): Promise<T> {
  return Promise.race([work, new Promise<T>(resolve => setTimeout(() => resolve(otherwise), ms))]);
}

/** Never rejects. */
async function ask(target: Target, servers: readonly string[]): Promise<Answer> {
  const [, host = '', path = ''] = /^http:\/\/([^/]+)(\/.*)$/.exec(target.url) ?? [];
  const connection = await connectToAny(await addressesOf(host, servers), HTTP_PORT, CONNECT_SECONDS);
  if (!connection) return SILENT;
  try {
    await write(connection.get_output_stream(), `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
    const reply = parseReply(await start(connection.get_input_stream()));
    return reply ? answerOf(target, reply) : SILENT;
  } catch {
    return SILENT;
  } finally {
    close(connection);
  }
}

/** The text of a stream, up to what is longer than any expected answer. @throws GLib.Error */
async function start(stream: Gio.InputStream): Promise<string> {
  let text = '';
  while (text.length < MAX_HEAD_BYTES + MAX_BODY_BYTES) {
    const bytes = await read(stream, MAX_HEAD_BYTES);
    if (!bytes) break;
    text += String.fromCharCode(...bytes); // latin1
  }
  return text;
}
