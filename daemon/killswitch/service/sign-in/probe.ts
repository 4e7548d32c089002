// Asks the fixed pages that show whether a network has a login page, by its own name servers.
import type Gio from 'gi://Gio?version=2.0';
import {
  type Answer,
  answerOf,
  judge,
  MAX_BODY_BYTES,
  parseReply,
  SILENT,
  TARGETS,
  type Target,
  type Verdict,
} from '../../sign-in/verdict.ts';
import { addressesOf } from './names.ts';
import { close, connectToAny } from './remote.ts';
import { read, write } from './streams.ts';

const HTTP_PORT = 80;
const CONNECT_SECONDS = 5;
/** For one page, its name included. */
const LIMIT_MS = 10_000;
/** More than the fields of an expected answer. */
const MAX_HEAD_BYTES = 8_192;

/** Asks all pages at the same time. Never rejects. */
export async function probe(servers: readonly string[]): Promise<Verdict> {
  return judge(await Promise.all(TARGETS.map(target => Promise.race([ask(target, servers), tooLate()]))));
}

function tooLate(): Promise<Answer> {
  return new Promise(resolve => setTimeout(() => resolve(SILENT), LIMIT_MS));
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
