// Provides a typed client of the contract over any transport (Node’s sockets, Gio’s in GJS, fetch in a browser), with
// request deadlines.
import type { BodyOf, Endpoints, EventData, EventName, QueryOf, RequestLine, ResponseOf } from './contract.ts';
import { splitRequestLine, TOOL_CHANGE_MS, TOOL_CHANGES_WAITING } from './requests.ts';
import type { Problem } from './schema.ts';

/** The connection for requests. Both methods reject with `Unreachable` when no daemon answers. */
export interface Transport {
  request(method: string, path: string, headers: Record<string, string>, body?: string): Promise<Reply>;
  /** Opens an event stream, which delivers decoded text in pieces of any size. */
  stream(path: string, headers: Record<string, string>): Promise<Stream>;
}
interface Reply {
  /** HTTP status. */
  status: number;
  etag: string | null;
  body: string;
}
export interface Stream {
  /** HTTP status; if it is not 200, the chunks are a problem document. */
  status: number;
  chunks: AsyncIterable<string>;
  close(): void;
}

/** Reports that the daemon refused or failed; `problem` says why and what to do. */
export class ApiError extends Error {
  readonly problem: Problem;
  constructor(problem: Problem) {
    super(problem.hint ? `${problem.detail} ${problem.hint}` : problem.detail);
    this.name = 'ApiError';
    this.problem = problem;
  }
}

/**
 * Reports a missing answer: no daemon runs (`absent`), it did not answer or ended the connection (`silent`), or its event
 * stream has lost its heartbeats (`hung`).
 */
export class Unreachable extends Error {
  readonly daemon: 'absent' | 'silent' | 'hung';

  constructor(message: string, cause?: unknown, daemon: Unreachable['daemon'] = 'absent') {
    super(message, { cause });
    this.name = 'Unreachable';
    this.daemon = daemon;
  }
}

export type Event = { [N in EventName]: { event: N; id: string; data: EventData<N> } }[EventName];

type Arguments<L extends RequestLine> = (BodyOf<L> extends undefined ? object : { body: BodyOf<L> }) &
  (QueryOf<L> extends undefined ? object : { query?: QueryOf<L> });
type Optional<A> = object extends A ? [args?: A] : [args: A];

/** Endpoints that answer plain text. */
type TextLine = { [L in RequestLine]: Endpoints[L] extends { kind: 'metrics' } ? L : never }[RequestLine];

export interface Client {
  /**
   * Calls an endpoint by its request line: `call('POST /api/action', {body: {action: 'connect'}})`.
   * @throws ApiError for a problem document, Unreachable when no daemon answers.
   */
  call<L extends RequestLine>(line: L, ...args: Optional<Arguments<L>>): Promise<ResponseOf<L>>;
  /** Calls an endpoint that answers text, and returns the text unchanged. @throws as `call` */
  text(line: TextLine): Promise<string>;
  /**
   * Opens the event stream. It ends when the server ends, and throws Unreachable when the connection breaks.
   * @param only the wanted events; the stream then starts with their present values instead of a snapshot
   * @param lastEventId id of the last event seen; the daemon then replays later events instead of a snapshot
   * @param quiet leaves out the comments of an idle stream, so the client does not notice a daemon that hangs
   */
  events(
    lastEventId?: string,
    only?: readonly EventName[],
    quiet?: boolean,
  ): Promise<{ events: AsyncIterable<Event>; close(): void }>;
}

/** Creates a client over `transport`. The client is stateless. */
export function createClient(transport: Transport): Client {
  return {
    async call(line, ...args) {
      const { body, query } = (args[0] ?? {}) as { body?: unknown; query?: Record<string, string> };
      const { method, path } = splitRequestLine(line);
      const headers: Record<string, string> = { accept: 'application/json' };
      if (body !== undefined) headers['content-type'] = 'application/json';
      const reply = await transport.request(
        method,
        path + queryString(query),
        headers,
        body === undefined ? undefined : JSON.stringify(body),
      );
      if (reply.status >= 400) throw failure(reply.status, reply.body);
      return answerOf(reply);
    },
    async text(line) {
      const { method, path } = splitRequestLine(line);
      const reply = await transport.request(method, path, {});
      if (reply.status >= 400) throw failure(reply.status, reply.body);
      return reply.body;
    },
    async events(lastEventId, only, quiet) {
      const query: Record<string, string> = {};
      if (only) query.only = only.join(',');
      if (quiet) query.quiet = '1';
      const stream = await transport.stream(`/api/events${queryString(query)}`, {
        accept: 'text/event-stream',
        ...(lastEventId ? { 'last-event-id': lastEventId } : {}),
      });
      if (stream.status !== 200) {
        let body = '';
        for await (const chunk of stream.chunks) body += chunk;
        throw failure(stream.status, body);
      }
      return { events: decodeEvents(stream.chunks) as AsyncIterable<Event>, close: () => stream.close() };
    },
  };
}

/**
 * Decodes a server-sent event stream (HTML Living Standard, 9.2.6) from text pieces of any size.
 * Yields events with JSON data and skips comments and `retry`.
 */
export async function* decodeEvents(
  chunks: AsyncIterable<string>,
): AsyncGenerator<{ event: string; id: string; data: unknown }> {
  let rest = '';
  let [event, id, data] = ['message', '', [] as string[]];
  for await (const chunk of chunks) {
    const lines = (rest + chunk).split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop()!;
    for (const line of lines) {
      if (line === '') {
        if (data.length) yield { event, id, data: JSON.parse(data.join('\n')) };
        [event, data] = ['message', []];
        continue;
      }
      const [, field, value = ''] = /^([^:]*):? ?(.*)$/s.exec(line)!;
      if (field === 'event') event = value;
      else if (field === 'id') id = value;
      else if (field === 'data') data.push(value);
    }
  }
}

function queryString(query: Record<string, string> | undefined): string {
  const pairs = Object.entries(query ?? {}).filter(([, v]) => v !== undefined);
  return pairs.length ? `?${pairs.map(([k, v]) => `${k}=${encodeURIComponent(v)}`).join('&')}` : '';
}

/**
 * Parses an answer. Its schema is not checked: the answer comes from the user's own daemon, whose tests check every answer
 * against its schema, and panel, tray and page do without zod.
 */
function answerOf<T>({ status, body }: Reply): T {
  try {
    const answer: T = JSON.parse(body);
    return answer;
  } catch {
    throw unexpected(status, 'with something other than JSON');
  }
}

/** Returns the error for a failed request. @param body the answer's body: a problem document or anything else */
export function failure(status: number, body: string): ApiError {
  try {
    const document: unknown = JSON.parse(body);
    if (isProblem(document)) return new ApiError(document);
  } catch {
    // not JSON, so not from the daemon
  }
  return unexpected(status, 'without a problem document');
}

/** Checks the two members that clients use (see `answerOf`). */
function isProblem(document: unknown): document is Problem {
  if (typeof document !== 'object' || document === null || !('code' in document) || !('detail' in document))
    return false;
  return typeof document.code === 'string' && typeof document.detail === 'string';
}

function unexpected(status: number, how: string): ApiError {
  return new ApiError({
    type: 'about:blank',
    title: 'Unexpected answer',
    status,
    detail: `The daemon answered ${status} ${how}; is something else listening there?`,
    code: 'internal-error',
  });
}

/** Deadline of most requests, in ms. */
const USUAL_MS = 60_000;
/** Deadline, in ms, of requests that may ask for a password or start a dozen programs. */
const MINUTES_MS = 300_000;
/** Deadline, in ms, of a download, or of a run of the tunnel CLI for each entry of a list. */
const HOUR_MS = 3_600_000;

/** Requests that need a row in `DEADLINES`, so that none is forgotten. */
type Timed = Extract<RequestLine, `POST ${string}`>;

/** Deadlines in ms; null for `USUAL_MS`. */
const DEADLINES: Record<Timed, number | null> = {
  'POST /api/restart': null,
  'POST /api/session': null,
  'POST /api/account/sign-in': null,
  'POST /api/action': null,
  'POST /api/killswitch': MINUTES_MS,
  'POST /api/killswitch/pause': MINUTES_MS,
  'POST /api/config/session': null,
  'POST /api/config/user': null,
  'POST /api/apps/proxy-launcher': null,
  // the root service may ask for a password, and other requests may come first
  'POST /api/apps/tunnel-launcher': MINUTES_MS,
  'POST /api/apps/outside-launcher': MINUTES_MS,
  'POST /api/apps/shortcut': null,
  'POST /api/update/apply': HOUR_MS,
  'POST /api/update/rollback': MINUTES_MS,
  'POST /api/why': null,
  'POST /api/proof': null,
  'POST /api/routes/preview': null,
  'POST /api/routes': HOUR_MS,
  'POST /api/routes/undo': HOUR_MS,
  'POST /api/networks': null,
  'POST /api/networks/what-if': null,
  'POST /api/networks/answer': null,
  'POST /api/networks/revert': null,
  'POST /api/settings/diff': null,
  'POST /api/settings/apply': HOUR_MS,
  'POST /api/settings/undo': HOUR_MS,
  // waits for the queued changes: the daemon's answer says more than a client that gave up
  'POST /api/accounts': (TOOL_CHANGES_WAITING + 1) * TOOL_CHANGE_MS + USUAL_MS,
  'POST /api/trust': MINUTES_MS,
  'POST /api/trust/apply': MINUTES_MS,
  'POST /api/trust/undo': null,
  'POST /api/history/clear': null,
  'POST /api/changes/confirm': null,
  'POST /api/changes/revert': HOUR_MS,
  'POST /api/changes/extend': null,
  'POST /api/doctor': null,
  'POST /api/doctor/bundle': null,
  'POST /api/doctor/fix': null,
  'POST /api/doctor/undo': null,
};

/**
 * Returns the deadline of a request, in ms.
 * @param path with or without its query
 * @param usual replaces the 60 s of requests without a longer deadline
 */
export function deadlineOf(method: string, path: string, usual = USUAL_MS): number {
  const line = `${method} ${path.replace(/\?.*/, '')}`;
  return (DEADLINES as Record<string, number | null>)[line] ?? usual;
}
