// Implements the contract's transport over fetch for the daemon's own page; all tabs share one event stream.
import { createClient, deadlineOf, type Stream, type Transport, Unreachable } from '../api/client.ts';
import type { EventData, EventName } from '../api/contract.ts';

/** Event stream without the tunnel CLI's output: only the log shows the output, and it reads it separately. */
const STREAM = '/api/events?brief=1';

/** Time limit for an action, which may wait for a sign-in in another tab, in ms. */
const ACTION_MS = 180_000;

/** Creates a transport to the page's own origin. It throws `Unreachable` for every connection failure. */
export function createTransport(): Transport {
  return {
    async request(method, path, headers, body) {
      const limit = path === '/api/action' ? ACTION_MS : deadlineOf(method, path);
      try {
        const response = await send(path, { method, headers, signal: AbortSignal.timeout(limit), body: body ?? null });
        return { status: response.status, etag: response.headers.get('etag'), body: await response.text() };
      } catch (error) {
        throw unreachable(error);
      }
    },
    async stream(_path, headers) {
      const abort = new AbortController();
      try {
        const response = await send(STREAM, { headers, signal: abort.signal });
        return { status: response.status, chunks: decode(response, abort.signal), close: () => abort.abort() };
      } catch (error) {
        throw unreachable(error);
      }
    },
  };
}

function send(path: string, init: RequestInit): Promise<Response> {
  return fetch(path, { ...init, cache: 'no-store', credentials: 'same-origin', redirect: 'error' });
}

/** Yields the response's text as it arrives. Ends without an error when the page closes the stream. */
async function* decode({ body }: Response, closed: AbortSignal): AsyncGenerator<string> {
  const reader = body!.getReader();
  const decoder = new TextDecoder();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield decoder.decode(value, { stream: true });
    }
  } catch (error) {
    if (!closed.aborted) throw unreachable(error);
  } finally {
    reader.cancel().catch(() => {}); // the stream has failed already
  }
}

function unreachable(error: unknown): Unreachable {
  return new Unreachable(error instanceof Error ? error.message : String(error), error);
}

/** Name of the lock and of the broadcast channel. */
const NAME = 'culvert-events';

/** Whole events as text; null when the stream ended. */
type Message = string | null;

/**
 * Returns `transport` with one event stream for all of the browser's tabs: a browser opens six connections to a host, and a
 * stream occupies one of them permanently. The tab that holds a lock opens the stream and passes its events on; when that tab
 * is gone, the next tab continues the stream. Another machine's page without TLS has no locks, so each tab opens a stream.
 */
export function shareStream(transport: Transport): Transport {
  const { locks } = navigator as { locks?: LockManager };
  if (!locks) return transport;
  const channel = new BroadcastChannel(NAME);
  const tab = createTab(locks);

  /** Opens the real stream, and passes each event on to the other tabs. */
  async function lead(path: string, headers: Record<string, string>): Promise<Stream> {
    const stream = await transport.stream(path, headers);
    return stream.status === 200 ? { ...stream, chunks: relay(stream, channel) } : stream;
  }

  /** Returns a stream of the current state, followed by the leading tab's messages. */
  async function follow(path: string, headers: Record<string, string>): Promise<Stream> {
    const received = receive(channel, tab.leading);
    const client = createClient(transport);
    const present = Promise.all([client.call('GET /api/snapshot'), client.call('GET /api/config')]);
    const [snapshot, config] = await present.catch(error => {
      received.close();
      throw error;
    });
    let close = received.close;
    async function* chunks(): AsyncGenerator<string> {
      let { revision } = snapshot;
      yield frame(revision, 'snapshot', snapshot) + frame(revision, 'config', config);
      for await (const text of received.messages) {
        const later = laterThan(revision, text);
        revision = later.revision;
        if (later.text) yield later.text;
      }
      if (!tab.leads()) return;
      const stream = await lead(path, { ...headers, 'last-event-id': String(revision) });
      close = stream.close;
      if (stream.status === 200) yield* stream.chunks;
    }
    return { status: 200, chunks: chunks(), close: () => close() };
  }

  return {
    request: (...request) => transport.request(...request),
    async stream(path, headers) {
      await tab.decided;
      return tab.leads() ? lead(path, headers) : follow(path, headers);
    },
  };
}

/** Makes this tab lead immediately if no tab leads, or else when the leading tab is gone. `decided` resolves first. */
function createTab(locks: LockManager) {
  let leads = false;
  let become = () => {};
  const leading = new Promise<void>(resolve => {
    become = resolve;
  });
  const hold = () => {
    leads = true;
    become();
    return new Promise<never>(() => {}); // until this tab is gone
  };
  const decided = new Promise<void>(resolve => {
    void locks.request(NAME, { ifAvailable: true }, lock => {
      resolve();
      if (lock) return hold();
      void locks.request(NAME, hold);
      return undefined;
    });
  });
  return { leads: () => leads, leading, decided };
}

async function* relay({ chunks }: Stream, channel: BroadcastChannel): AsyncGenerator<string> {
  let rest = '';
  try {
    for await (const chunk of chunks) {
      rest += chunk;
      const end = rest.lastIndexOf('\n\n') + 2;
      if (end > 1) channel.postMessage(rest.slice(0, end) satisfies Message);
      if (end > 1) rest = rest.slice(end);
      yield chunk;
    }
  } finally {
    channel.postMessage(null satisfies Message);
  }
}

/** Receives messages until the stream ends, `until` resolves, or the caller closes the receiver. */
function receive(channel: BroadcastChannel, until: Promise<void>) {
  const queue: Message[] = [];
  let wake = () => {};
  const add = (message: Message) => {
    queue.push(message);
    wake();
  };
  const listen = ({ data }: MessageEvent<Message>) => add(data);
  channel.addEventListener('message', listen);
  void until.then(() => add(null));
  async function* messages(): AsyncGenerator<string> {
    try {
      for (;;) {
        while (queue.length) {
          const message = queue.shift()!;
          if (message === null) return;
          yield message;
        }
        await new Promise<void>(resolve => {
          wake = resolve;
        });
      }
    } finally {
      channel.removeEventListener('message', listen);
    }
  }
  return { messages: messages(), close: () => add(null) };
}

/** Returns the text's events after a revision; keeps comments, which show that the stream is alive. */
function laterThan(revision: number, text: string): { text: string; revision: number } {
  let last = revision;
  const later = text.split(/(?<=\n\n)/).filter(event => {
    const id = /^id: (\d+)$/m.exec(event)?.[1];
    if (id === undefined) return true;
    // a restarted daemon starts at its clock's time, so its IDs are higher
    if (Number(id) <= revision) return false;
    last = Math.max(last, Number(id));
    return true;
  });
  return { text: later.join(''), revision: last };
}

function frame<N extends EventName>(id: number, event: N, data: EventData<N>): string {
  return `id: ${id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}
