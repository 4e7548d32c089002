// Streams events to clients, and encodes each event once for all of them.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { PARTS } from '../api/apply-event.ts';
import type { EventName } from '../api/contract.ts';
import type { ConfigResponse } from '../api/schema.ts';
import { Problem } from '../problem.ts';
import { NO_COMMANDS, type Published, type State } from '../state/store.ts';
import { message } from '../view/message.ts';

const RING = 1_000;
const HEARTBEAT_MS = 15_000;

/** Parameters of a stream request. */
interface Wanted {
  /** Events by name; null for all. */
  only: ReadonlySet<string> | null;
  /** Leaves the tunnel CLI's output, which is most of the bytes, out of snapshots and log entries of reads. */
  brief: boolean;
  /** Sends nothing while nothing happens: the client needs no sign that the daemon still runs. */
  quiet: boolean;
}

export interface EventStreams {
  /**
   * Turns a request into a stream of the wanted events. Resolves when the stream has begun.
   * @throws Problem busy when the limit of open streams is reached.
   */
  open(request: IncomingMessage, response: ServerResponse, wanted: Wanted): Promise<void>;
  /** Number of open streams. */
  count(): number;
  /** Reports whether this connection carries a stream. */
  has(socket: Socket): boolean;
  /** Sends each stream a `bye` event with the reason, and ends it. */
  close(reason: string): void;
}

/** Creates streams of everything that `state` publishes. */
export function createEventStreams(
  state: State,
  limits: { streams: number; streamBacklogBytes: number },
  { config, onOpen }: { config(): ConfigResponse; onOpen(): void },
): EventStreams {
  const clients = new Map<Socket, Client>();
  const ring: (Encoded & { revision: number; event: EventName })[] = [];
  let heartbeat: NodeJS.Timeout | undefined;

  state.subscribe(published => {
    const encoded = encodeBoth(published);
    ring.push({ revision: published.revision, event: published.event, ...encoded });
    if (ring.length > RING) ring.shift();
    for (const [socket, client] of clients)
      if (client.wants(published.event)) send(socket, client.brief ? encoded.brief : encoded.whole, client);
  });
  const start = state.snapshot().revision;

  function beat() {
    for (const [socket, client] of clients) if (!client.quiet) send(socket, HEARTBEAT, client);
  }
  function send(socket: Socket, bytes: Buffer, { response }: Client) {
    if (socket.writableLength > limits.streamBacklogBytes) {
      remove(socket);
      socket.destroy(); // the client does not read; when it returns, the ring has what it missed
      return;
    }
    write(response, bytes);
  }
  function remove(socket: Socket) {
    clients.delete(socket);
    if (clients.size === 0) {
      clearInterval(heartbeat);
      heartbeat = undefined;
    }
  }
  /** Returns a client's first events: those that it missed, or the present state (after a gap if its position is unknown). */
  function opening(lastEventId: string | undefined, client: Client): Buffer[] {
    const { revision } = state.snapshot();
    if (lastEventId === undefined) return present(client);
    const last = /^\d{1,16}$/.test(lastEventId) ? Number(lastEventId) : Number.NaN;
    // the last revision before the first entry of the ring
    const reach = ring.length === RING ? ring[0]!.revision - 1 : start;
    if (last >= reach && last <= revision)
      return ring.filter(e => e.revision > last && client.wants(e.event)).map(e => (client.brief ? e.brief : e.whole));
    return [encode({ revision, event: 'gap', data: { revision } }), ...present(client)];
  }
  /** Returns the whole snapshot, or each named part as an event for a restricted stream; then the configuration. */
  function present({ wants, restricted, brief }: Client): Buffer[] {
    const snapshot = state.snapshot();
    const { revision } = snapshot;
    const whole = !restricted || wants('snapshot');
    const events = whole
      ? [encode({ revision, event: 'snapshot', data: brief ? { ...snapshot, commands: NO_COMMANDS } : snapshot })]
      : PARTS.filter(wants).map(part => encode({ revision, event: part, data: snapshot[part] }));
    if (wants('config')) events.push(encode({ revision, event: 'config', data: config() }));
    return events;
  }

  return {
    async open(request, response, { only, brief, quiet }) {
      const { socket } = request;
      if (clients.size >= limits.streams)
        throw new Problem('busy', message('%d event streams are open, and no more are allowed.', limits.streams), {
          hint: 'Close a client, or try again later.',
        });
      const client: Client = {
        response,
        brief,
        quiet,
        restricted: only !== null,
        wants: event => only === null || only.has(event),
      };
      response.writeHead(200, {
        'content-type': 'text/event-stream; charset=utf-8',
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
      });
      response.flushHeaders();
      socket.setNoDelay(true);
      socket.setTimeout(0);
      clients.set(socket, client);
      socket.once('close', () => remove(socket));
      socket.on('error', () => {}); // 'close' follows
      response.on('error', () => {}); // an event may be written before 'close'
      // a half-closed stream client is almost always gone; drop it now, not at the next failed write
      if (socket.readableEnded) return void socket.destroy();
      socket.once('end', () => socket.destroy());
      heartbeat ??= setInterval(beat, HEARTBEAT_MS);
      send(socket, RETRY, client);
      for (const bytes of opening(request.headers['last-event-id'] as string | undefined, client))
        write(response, bytes);
      onOpen();
    },
    count: () => clients.size,
    has: socket => clients.has(socket),
    close(reason) {
      const bye = encode({ revision: state.snapshot().revision, event: 'bye', data: { reason } });
      for (const [socket, client] of clients) {
        send(socket, bye, client);
        // `response.end` would make the connection idle, and a closing server destroys idle connections with their last bytes.
        // Node may hold a write of the response until the next tick
        process.nextTick(() => socket.end(client.response.chunkedEncoding ? '0\r\n\r\n' : ''));
      }
      clearInterval(heartbeat);
      clients.clear();
    },
  };
}

/** Writes immediately: bytes that Node holds until the next tick would count as unread by the client. */
function write(response: ServerResponse, bytes: Buffer): void {
  response.write(bytes);
  response.socket?.uncork();
}

interface Client {
  response: ServerResponse;
  /** See `Wanted`. */
  brief: boolean;
  quiet: boolean;
  /** True if the client asked for some events only. */
  restricted: boolean;
  wants(event: EventName): boolean;
}

/** An event, encoded for each kind of stream. */
interface Encoded {
  whole: Buffer;
  brief: Buffer;
}

function encodeBoth(published: Published): Encoded {
  const { event, data } = published;
  const whole = encode(published);
  const read =
    event === 'log' && typeof data === 'object' && data !== null && 'source' in data && data.source === 'read';
  return { whole, brief: read ? encode({ ...published, data: { ...data, stdout: '', stderr: '' } }) : whole };
}

function encode({ revision, event, data }: Published): Buffer {
  return Buffer.from(`id: ${revision}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
}
const RETRY = Buffer.from('retry: 2000\n\n');
const HEARTBEAT = Buffer.from(': still here\n\n');
