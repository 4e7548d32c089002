// Writes refusals for parsed requests, and for connections without one.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Problem } from '../problem.ts';
import { LIMITS } from './guard.ts';

/** Bytes of a refused body that are read and dropped, so that the client can read the answer. */
const DRAINED_BYTES = 1 << 20;

/** Time limit for a refused connection to send its request, and again to read the answer, in ms. */
const LINGER_MS = 2_000;

export const INTERNAL_ERROR = new Problem('internal-error', 'Something went wrong inside the daemon.', {
  hint: 'If Culvert was upgraded or removed since it started, restart it: culvert restart',
});
export const MALFORMED = new Problem('malformed-request', 'The daemon does not understand this request.');

/** Refuses a request before its body is read. */
export function refuse(request: IncomingMessage, response: ServerResponse, problem: Problem): void {
  const body = JSON.stringify(problem);
  response.writeHead(problem.status, { ...problem.headers(), 'content-length': Buffer.byteLength(body) });
  response.end(request.method === 'HEAD' ? undefined : body);
  let drained = 0;
  request.on('data', (chunk: Buffer) => {
    drained += chunk.length;
    if (drained > DRAINED_BYTES) request.destroy();
  });
}

/**
 * Answers a connection without a Node response, and closes it. Further input is read and dropped for a moment: closing with
 * unread bytes makes the kernel send a reset, which can cost the client the answer.
 */
export function refuseRaw(socket: Socket, problem: Problem, isHead = false): void {
  const body = JSON.stringify(problem);
  const headers = { ...problem.headers(), 'content-length': Buffer.byteLength(body), connection: 'close' };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${problem.status} ${problem.title}\r\n${lines.join('')}\r\n${isHead ? '' : body}`);
  let drained = 0;
  socket.on('data', (chunk: Buffer) => {
    drained += chunk.length;
    if (drained > DRAINED_BYTES) socket.destroy();
  });
  closeWithin(socket, LINGER_MS);
  socket.resume();
}

/** Refuses a connection when its first bytes arrive, without parsing them. */
export function refuseUnparsed(socket: Socket, problem: Problem): void {
  closeWithin(socket, LINGER_MS);
  socket.once('data', (first: Buffer) => refuseRaw(socket, problem, first.toString('latin1', 0, 5) === 'HEAD '));
  socket.resume();
}

function closeWithin(socket: Socket, limitMs: number): void {
  const limit = setTimeout(() => socket.destroy(), limitMs);
  socket.once('close', () => clearTimeout(limit));
}

export type ClientError = Error & { code?: string };

/**
 * Returns the problem for a request that Node's HTTP parser or its time limits refused.
 * @param lineBytes length of the part of the request's first line that was read
 */
export function clientProblem({ code }: ClientError, lineBytes: number): Problem {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return new Problem('request-timeout', 'The request did not arrive completely in time.');
  if (code !== 'HPE_HEADER_OVERFLOW') return MALFORMED;
  return lineBytes > LIMITS.targetBytes
    ? new Problem('uri-too-long', `The address is longer than ${LIMITS.targetBytes} bytes.`)
    : new Problem('headers-too-large', `At most ${LIMITS.headers} headers of ${LIMITS.headerBytes} bytes are read.`);
}
