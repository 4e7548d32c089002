// TLS for connections from other machines: reads certificate and key, follows their renewal, and puts TLS before HTTP.
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import type { Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { createSecureContext, type SecureContext, TLSSocket } from 'node:tls';
import type { Message } from '../../api/schema/values.ts';
import { errno, reason } from '../../system/errno.ts';
import { versionAt } from '../../system/files.ts';
import { quote } from '../../view/fix.ts';
import { message, quoted, wordMessages } from '../../view/message.ts';
import { english } from '../../view/translator.ts';

/** Paths of PEM files. */
export interface TlsFiles {
  certificate: string;
  key: string;
}

/** Certificate and key can't be used; the sentences say what to do about it. */
class TlsError extends Error {
  readonly code = 'tls-unusable';
  readonly wording: Message[];
  constructor(wording: Message[], cause?: unknown) {
    super(wordMessages(wording, english), { cause });
    this.name = 'TlsError';
    this.wording = wording;
  }
}

/** Why certificate and key can't be used, to be translated. */
export function wordingOf(error: unknown): Message[] {
  return error instanceof TlsError ? error.wording : [quoted(reason(error))];
}

export interface Tls {
  /** Context from the newest usable files. */
  context(): SecureContext;
  /** End of the certificate's validity, ISO 8601. */
  expiresAt(): string;
}

/** Time until the files are checked again, in ms. */
const LOOK_MS = 10_000;

/**
 * Reads the files now, and again when a connection comes after they changed. Files that can't be used then leave the
 * earlier ones in use.
 * @param changed called after a renewal, with what is wrong with the new files, or null
 * @throws TlsError at the first reading
 */
export function loadTls(
  files: TlsFiles,
  changed: (problem: Message[] | null) => void,
  now: () => number = Date.now,
): Tls {
  let stamp = stampOf(files);
  let loaded = read(files);
  let looked = now();

  function look(): void {
    if (now() - looked < LOOK_MS) return;
    looked = now();
    const seen = stampOf(files);
    if (seen === stamp) return;
    stamp = seen;
    try {
      loaded = read(files);
      changed(null);
    } catch (error) {
      changed(wordingOf(error));
    }
  }
  return {
    context() {
      look();
      return loaded.context;
    },
    expiresAt: () => loaded.expiresAt,
  };
}

/** Changes with either file. */
function stampOf({ certificate, key }: TlsFiles): string {
  return [certificate, key].map(path => versionAt(path) ?? '-').join(', ');
}

function read(files: TlsFiles): { context: SecureContext; expiresAt: string } {
  const [cert, pem] = [readPem(files.certificate, 'webui.tlsCertificate'), readPem(files.key, 'webui.tlsKey')];
  if ((statSync(files.key).mode & 0o007) !== 0)
    throw new TlsError([
      message(
        '%s can be read by everyone, so its key is not safe. Run: %s',
        files.key,
        `chmod o= ${quote([files.key])}`,
      ),
    ]);
  const certificate = parsed(
    () => new X509Certificate(cert),
    message(
      '%s holds no certificate in PEM form. Name the file with the whole chain in %s.',
      files.certificate,
      'webui.tlsCertificate',
    ),
  );
  const key = privateKey(pem, files.key);
  if (!certificate.checkPrivateKey(key))
    throw new TlsError([
      message('The key in %s does not belong to the certificate in %s.', files.key, files.certificate),
    ]);
  const context = parsed(
    () => createSecureContext({ cert, key: pem, minVersion: 'TLSv1.2' }),
    message("%s and %s can't be used.", files.certificate, files.key),
  );
  return { context, expiresAt: new Date(certificate.validTo).toISOString() };
}

function readPem(path: string, name: string): string {
  if (path === '')
    throw new TlsError([message('%s is not set; webui.tlsCertificate and webui.tlsKey go together.', name)]);
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const next =
      errno(error) === 'EACCES'
        ? message('Give the user who runs Culvert the right to read it.')
        : message('Correct %s.', name);
    throw new TlsError([message("%s can't be read: %s.", path, reason(error)), next], error);
  }
}

function privateKey(pem: string, path: string): KeyObject {
  if (pem.includes('ENCRYPTED'))
    throw new TlsError([
      message(
        'The key in %s is protected by a passphrase. Store it without: %s',
        path,
        `openssl pkey -in ${path} -out NEW`,
      ),
    ]);
  return parsed(() => createPrivateKey(pem), message('%s holds no private key in PEM form.', path));
}

function parsed<T>(parse: () => T, otherwise: Message): T {
  try {
    return parse();
  } catch (error) {
    throw new TlsError([otherwise], error);
  }
}

/** Handshakes that may be under way. */
const HANDSHAKES = 64;
/** First byte of a TLS connection (RFC 8446, 5.1). */
const HANDSHAKE = 0x16;

/**
 * Has connections from other machines begin with TLS. Those without it are sent to the https address.
 * @param isLocal whether both ends are this machine
 * @param limitMs how long a handshake may take
 */
export function encryptRemote(server: Server, tls: Tls, isLocal: (socket: Socket) => boolean, limitMs: number): void {
  const listeners = server.listeners('connection') as ((socket: Socket) => void)[];
  const serve = (socket: Socket) => listeners.forEach(listener => void listener.call(server, socket));
  let handshakes = 0;
  server.removeAllListeners('connection');
  server.on('connection', (socket: Socket) => {
    if (isLocal(socket)) return serve(socket);
    if (handshakes >= HANDSHAKES) return void socket.destroy();
    handshakes += 1;
    const limit = setTimeout(() => socket.destroy(), limitMs);
    let under = true;
    const ended = () => {
      if (!under) return;
      under = false;
      handshakes -= 1;
      clearTimeout(limit);
    };
    socket.once('close', ended);
    socket.on('error', () => {}); // 'close' follows
    socket.once('readable', () => {
      const first = socket.read(1) as Buffer | null;
      if (!first) return void socket.destroy();
      if (first[0] !== HANDSHAKE) return redirect(socket);
      socket.unshift(first);
      const secure = new TLSSocket(socket, { isServer: true, secureContext: tls.context() });
      secure.on('error', () => secure.destroy());
      secure.once('secure', () => {
        ended();
        serve(secure);
      });
    });
  });
}

/** To the same address over https. The request is not read: what it says of the host could be anything. */
function redirect(socket: Socket): void {
  const { address, port } = socket.address() as AddressInfo;
  const host = address.replace(/^::ffff:/, '');
  const location = `https://${host.includes(':') ? `[${host}]` : host}:${port}/`;
  socket.resume();
  socket.end(
    `HTTP/1.1 307 Temporary Redirect\r\nlocation: ${location}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`,
  );
}
