// Connects a program's websocket with the provider, and replaces the placeholder with an account's key.
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { noteText } from '../run/rules/refusal-causes.ts';
import type { Using } from '../run/turn.ts';
import { say } from '../system/errors.ts';
import { parseDuration } from '../system/notation.ts';
import { headersOf, refusedBy, refusedByPool } from './answer.ts';
import { turnFor } from './asked.ts';
import { type Answered, askInTurn, readFailure, type Work } from './forward.ts';
import { withKeyInProtocols } from './key-places.ts';
import { Mask } from './mask.ts';
import { type Refused, withLength, without } from './messages.ts';
import { ask, checkEncoding, keyOf, NoAnswer, type Passing, type Route } from './upstream.ts';

/** Headers of the handshake. `sec-websocket-extensions` is left out, because compressed data could hide a key. */
const OF_HANDSHAKE = ['sec-websocket-key', 'sec-websocket-version'];

/** Maximum size of data before the answer. Programs send little then, if anything. */
const EARLY_BYTES = 65_536;

interface Connection extends Answered {
  /** The provider's socket, or `undefined` if the provider refused the websocket. */
  socket?: Duplex;
  head?: Buffer;
}

/** Reports whether a request asks for a websocket (RFC 6455, 4.1), and not for another protocol such as `h2c`. */
export function isForWebsocket({ method, headers }: IncomingMessage): boolean {
  return method === 'GET' && /^websocket$/i.test(headers.upgrade ?? '') && headers['sec-websocket-key'] !== undefined;
}

/** Returns a request's bytes without its wish for another protocol, which a server may ignore (RFC 9110, 7.8). */
export function withoutUpgrade({ method, url, httpVersion, rawHeaders }: IncomingMessage, head: Buffer): Buffer {
  const lines = [`${method} ${url} HTTP/${httpVersion}`, ...linesOf(without(rawHeaders, /^upgrade$/i))];
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), head]);
}

/** Forwards an admitted request for a websocket, and returns when the websocket has ended. */
export async function forwardUpgrade(req: IncomingMessage, client: Duplex, head: Buffer, route: Route): Promise<void> {
  const { ledger, plan, consumer, consumers } = route;
  client.on('error', () => client.destroy());
  // read during the request to the provider, because only a read shows that the program has left
  const early = [head];
  const keep = (chunk: Buffer) => {
    early.push(chunk);
    if (early.reduce((sum, each) => sum + each.length, 0) > EARLY_BYTES) client.destroy();
  };
  client.on('data', keep);
  const turn = await turnFor(route, req);
  const since = ledger.context.now();
  const work: Work = { req, route, turn, program: client, since, started: 0, used: { spent: 0, account: undefined } };
  const hasBudget = consumers.begin(consumer, turn.parts.cost);
  try {
    if (!hasBudget) {
      turn.denied('budget');
      return end(client, { status: 402 });
    }
    const tried = await askInTurn(work, using => connectWith(using, work, client));
    if (!tried) return end(client, refusedByPool(route, turn));
    const { using, result: connection, refusal } = tried;
    if (!connection) return;
    const { answer, error, verdict, socket } = connection;
    if (!error) {
      work.used.spent = turn.parts.cost;
      turn.answered(using.name, true, work.started);
      if (!socket) return await passPlain(answer, client, { using, route });
      client.write(handshake(answer, { using, route }));
      client.off('data', keep);
      return await join(client, Buffer.concat(early), connection, { using, route });
    }
    if (!refusal) {
      if (verdict?.kind === 'final' && verdict.note) say(noteText(plan.cli, verdict.note));
      turn.answered(using.name, false, work.started);
    }
    end(client, refusedBy(answer, error, { using, route, pause: refusal && { ...refusal, isBilled: false } }));
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error;
    const { account } = work.used;
    if (account !== undefined) turn.answered(account, false, work.started);
    end(client, { status: 502 });
  } finally {
    if (hasBudget) consumers.end(consumer, turn.parts.cost, work.used);
    await turn.finish();
  }
}

/**
 * Connects with an account.
 * @returns `undefined` if the program has left
 * @throws NoAnswer
 */
async function connectWith(using: Using, work: Work, client: Duplex): Promise<Connection | undefined> {
  const { req, route } = work;
  work.started = route.ledger.context.now();
  work.used = { spent: 0, account: using.name };
  const connection = await connect(req, client, { using, route });
  const { answer, socket } = connection;
  if (client.destroyed) return void socket?.destroy();
  if (socket || (answer.statusCode ?? 500) < 400) return connection;
  const failure = await readFailure(answer, route);
  answer.destroy();
  return failure;
}

/** Refuses a websocket. */
export function end(client: Duplex, refused: Pick<Refused, 'status'> & Partial<Refused>): void {
  const { status, headers = [], body = Buffer.alloc(0) } = refused;
  client.end(Buffer.concat([startOf(status, withLength(headers, body.length)), body]));
}

function startOf(status: number, headers: readonly string[]): Buffer {
  const lines = [`HTTP/1.1 ${status} `, 'Connection: close', ...linesOf(headers)];
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
}

function linesOf(headers: readonly string[]): string[] {
  return headers.flatMap((name, index) => (index % 2 === 0 ? [`${name}: ${headers[index + 1]}`] : []));
}

/** @throws NoAnswer */
function connect(req: IncomingMessage, client: Duplex, passing: Passing): Promise<Connection> {
  const { placeholder, http } = passing.route;
  const { 'sec-websocket-protocol': protocols } = req.headers;
  const headers = ['connection', 'Upgrade', 'upgrade', 'websocket'];
  for (const name of OF_HANDSHAKE) headers.push(name, String(req.headers[name] ?? ''));
  if (protocols) headers.push('sec-websocket-protocol', withKeyInProtocols(protocols, placeholder, keyOf(passing)));
  return new Promise((resolve, reject) => {
    const upstream = ask(req, passing, headers, true);
    const stop = () => void upstream.destroy(new Error('it took too long'));
    const limit = setTimeout(stop, parseDuration(http.answer_within));
    client.once('end', stop).once('close', stop);
    const settle = (connection: Connection) => {
      clearTimeout(limit);
      client.off('end', stop).off('close', stop);
      resolve(connection);
    };
    upstream.on('upgrade', (answer, socket, head) => settle({ answer, socket, head }));
    upstream.on('response', answer => {
      answer.on('error', () => {});
      try {
        checkEncoding(answer);
        settle({ answer });
      } catch (error) {
        clearTimeout(limit);
        answer.destroy();
        reject(error);
      }
    });
    upstream.on('error', error => {
      clearTimeout(limit);
      reject(new NoAnswer(error, false));
    });
    upstream.end();
  });
}

/** Passes on the answer of a provider without a websocket at this address. */
async function passPlain(answer: IncomingMessage, client: Duplex, passing: Passing): Promise<void> {
  client.write(startOf(answer.statusCode ?? 200, headersOf(answer, passing)));
  const mask = new Mask(keyOf(passing), passing.route.placeholder);
  await pipeline(answer, mask, client).catch(() => client.destroy());
}

/** Returns the answer to the handshake. If the provider chose the key as subprotocol, the program gets its placeholder. */
function handshake(answer: IncomingMessage, passing: Passing): string {
  const lines = ['HTTP/1.1 101 Switching Protocols', 'Connection: Upgrade', 'Upgrade: websocket'];
  lines.push(...linesOf(headersOf(answer, passing)));
  return `${lines.join('\r\n')}\r\n\r\n`;
}

async function join(
  client: Duplex,
  head: Buffer,
  { socket, head: first }: Connection,
  passing: Passing,
): Promise<void> {
  const provider = socket!;
  const mask = new Mask(keyOf(passing), passing.route.placeholder);
  if (first && first.length > 0) mask.write(first);
  if (head.length > 0) provider.write(head);
  const directions = [pipeline(provider, mask, client), pipeline(client, provider)];
  await Promise.allSettled(directions);
  provider.destroy();
  client.destroy();
}
