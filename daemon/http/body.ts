// Reads request bodies: bounded in size, UTF-8, JSON without keys that reach prototypes.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { bodyLimit } from '../api/limits.ts';
import { Problem } from '../problem.ts';
import { tooLarge } from './guard.ts';

/**
 * Reads the whole body of a request that the guard has admitted.
 * @throws Problem payload-too-large
 */
export async function readBody(request: IncomingMessage, response: ServerResponse): Promise<Uint8Array> {
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
  return Buffer.concat(chunks);
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
