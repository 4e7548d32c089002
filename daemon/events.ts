// The event streams: each event is framed once and the same bytes are written to every client.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { EventName } from './api/contract.ts';
import { Problem } from './problem.ts';
import type { State } from './state.ts';

const RING = 1_000;
const HEARTBEAT_MS = 15_000;

export interface EventStreams {
  /** Turns a request into a stream. @throws Problem busy when as many as allowed are open. */
  open(request: IncomingMessage, response: ServerResponse): void;
  /** Streams open now. */
  count(): number;
  /** Whether this connection carries a stream. */
  has(socket: Socket): boolean;
  /** Says goodbye and ends every stream. */
  close(reason: string): void;
}

/**
 * Streams of everything that `state` publishes.
 * A chunk is written to the socket itself, already framed: a tenth of the work and half the memory of a response
 * stream each (10,000 clients: 11.5 KB against 18–33 KB).
 */
export function createEventStreams(
  state: State,
  limits: { streams: number; streamBacklogBytes: number },
): EventStreams {
  const clients = new Map<Socket, { chunked: boolean }>();
  const ring: { revision: number; chunk: Chunk }[] = [];
  let heartbeat: NodeJS.Timeout | undefined;

  state.subscribe(published => {
    const chunk = frame(published);
    ring.push({ revision: published.revision, chunk });
    if (ring.length > RING) ring.shift();
    broadcast(chunk);
  });
  const start = state.snapshot().revision;

  function broadcast(chunk: Chunk) {
    for (const [socket, { chunked }] of clients) send(socket, chunk, chunked);
  }
  function send(socket: Socket, chunk: Chunk, chunked: boolean) {
    if (socket.writableLength > limits.streamBacklogBytes) {
      remove(socket);
      socket.destroy(); // it does not read; what it missed is in the ring when it comes back
      return;
    }
    socket.write(chunked ? chunk.framed : chunk.payload);
  }
  function remove(socket: Socket) {
    clients.delete(socket);
    if (clients.size === 0) {
      clearInterval(heartbeat);
      heartbeat = undefined;
    }
  }
  /** What a client gets first: what it missed, or the whole snapshot (after a gap where its place is not known). */
  function opening(lastEventId: string | undefined): Chunk[] {
    const { revision } = state.snapshot();
    const snapshot = () => frame({ revision, event: 'snapshot', data: state.snapshot() });
    if (lastEventId === undefined) return [snapshot()];
    const last = /^\d{1,16}$/.test(lastEventId) ? Number(lastEventId) : Number.NaN;
    // the last revision that was told before the ring begins
    const reach = ring.length === RING ? ring[0]!.revision - 1 : start;
    if (last >= reach && last <= revision) return ring.filter(e => e.revision > last).map(e => e.chunk);
    return [frame({ revision, event: 'gap', data: { revision } }), snapshot()];
  }

  return {
    open(request, response) {
      if (clients.size >= limits.streams)
        throw new Problem('busy', `${limits.streams} event streams are open, and no more are allowed.`, {
          hint: 'Close a client, or try again later.',
        });
      const { socket } = request;
      const chunked = request.httpVersionMinor > 0;
      response.writeHead(200, {
        'content-type': 'text/event-stream; charset=utf-8',
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
        ...(chunked ? { 'transfer-encoding': 'chunked' } : { connection: 'close' }),
      });
      response.flushHeaders();
      socket.setNoDelay(true);
      socket.setTimeout(0);
      clients.set(socket, { chunked });
      socket.once('close', () => remove(socket));
      socket.on('error', () => {}); // a client that leaves in the middle: 'close' follows
      // who closes a direction has almost always closed both, and would hold a place until the next write fails
      if (socket.readableEnded) return void socket.destroy();
      socket.once('end', () => socket.destroy());
      heartbeat ??= setInterval(() => broadcast(HEARTBEAT), HEARTBEAT_MS);
      send(socket, RETRY, chunked);
      for (const chunk of opening(request.headers['last-event-id'] as string | undefined)) {
        socket.write(chunked ? chunk.framed : chunk.payload);
      }
    },
    count: () => clients.size,
    has: socket => clients.has(socket),
    close(reason) {
      const bye = frame({ revision: state.snapshot().revision, event: 'bye', data: { reason } });
      for (const [socket, { chunked }] of clients) {
        send(socket, bye, chunked);
        socket.end(chunked ? '0\r\n\r\n' : '');
      }
      clearInterval(heartbeat);
      clients.clear();
    },
  };
}

interface Chunk {
  /** As a chunk of HTTP/1.1 chunked encoding. */
  framed: Buffer;
  /** The bare text, for HTTP/1.0. */
  payload: Buffer;
}

function chunk(text: string): Chunk {
  const size = Buffer.byteLength(text);
  const head = `${size.toString(16)}\r\n`;
  const framed = Buffer.from(`${head}${text}\r\n`);
  return { framed, payload: framed.subarray(head.length, head.length + size) };
}

function frame({ revision, event, data }: { revision: number; event: EventName; data: unknown }): Chunk {
  return chunk(`id: ${revision}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
}
const RETRY = chunk('retry: 2000\n\n');
const HEARTBEAT = chunk(': still here\n\n');
