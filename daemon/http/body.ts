// Reads request bodies: bounded in size, UTF-8, JSON without keys that reach prototypes.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { bodyLimit } from '../api/limits.ts';
import { Problem } from '../problem.ts';
import { tooLarge } from './guard.ts';

/** Bytes of a body that is read without waiting for a turn. */
const SHORT_BYTES = 16_384;
/** Long requests in work at a time, over all connections. Some documents take a tenth of a second to check. */
const LONG_AT_A_TIME = 2;
const waiting: (() => void)[] = [];
let inWork = 0;

/**
 * Reads the whole body of a request that the guard has admitted. Long ones take turns, and nothing of them is read before,
 * so that a program that sends many keeps no other program waiting.
 * @throws Problem payload-too-large
 */
export async function readBody(request: IncomingMessage, response: ServerResponse): Promise<Uint8Array> {
  const endTurn = isLong(request) ? await takeTurn(response) : undefined;
  sendContinue(request, response);
  const target = request.url ?? '';
  const chunks: Uint8Array[] = [];
  let size = 0;
  // destroyOnReturn would take the connection down when reading stops early, and with it the refusal
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    if (size > bodyLimit(target)) throw tooLarge(target);
    chunks.push(chunk);
  }
  if (size <= SHORT_BYTES) endTurn?.();
  return Buffer.concat(chunks);
}

/** True if the body is long, or may become so: one in chunks has no length, and each of its chunks costs time. */
function isLong({ headers }: IncomingMessage): boolean {
  return !(Number(headers['content-length']) <= SHORT_BYTES);
}

/**
 * Waits until few enough long requests are in work; this one is until it is answered or its connection ends.
 * @returns ends the turn before that
 */
async function takeTurn(response: ServerResponse): Promise<() => void> {
  if (inWork >= LONG_AT_A_TIME) await new Promise<void>(resolve => waiting.push(resolve));
  else inWork += 1;
  let isOver = false;
  const end = () => {
    if (isOver) return;
    isOver = true;
    const next = waiting.shift();
    if (next) setImmediate(next);
    else inWork -= 1;
  };
  if (response.destroyed) end();
  else for (const event of ['prefinish', 'close']) response.once(event, end);
  return end;
}

/**
 * Answers "100 Continue" where the client waits for it. After a final response without it Node closes the connection,
 * because the body may still come (RFC 9110, 10.1.1).
 */
function sendContinue(request: IncomingMessage, response: ServerResponse): void {
  if (request.headers.expect?.toLowerCase() !== '100-continue' || request.httpVersionMinor === 0) return;
  response.writeContinue();
}

/**
 * Parses a JSON body.
 * @throws Problem malformed-json for other text, invalid-body for keys that reach prototypes.
 */
export function parseBody(bytes: Uint8Array): unknown {
  let forbidden: string | undefined;
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes), (key, inner) => {
      if (key === '__proto__' || key === 'constructor' || key === 'prototype') forbidden ??= key;
      return inner;
    });
  } catch (error) {
    throw new Problem('malformed-json', 'The request body is not valid JSON in UTF-8.', {}, error);
  }
  if (forbidden !== undefined)
    throw new Problem('invalid-body', `The key "${forbidden}" is not allowed.`, {
      errors: [{ path: forbidden, message: 'not allowed' }],
    });
  return value;
}
