// Shares one event stream among all tabs of a browser, since a stream takes one
// of the six connections that it opens to a host for good.
// The tab that holds a lock has the stream and passes it on; when it is gone, the next tab takes over where it ended.
import { createClient, type Stream, type Transport } from '../../api/client.ts';
import type { EventData, EventName } from '../../api/contract.ts';

/** Name of the lock and of the channel. */
const NAME = 'culvert-events';

/** Whole events as text; null when the stream ended. */
type Message = string | null;

/**
 * `transport` with a stream that the tabs share. Without locks, which a page without TLS from another machine does not
 * have, each tab has its own.
 */
export function shareStream(transport: Transport): Transport {
  const { locks } = navigator as { locks?: LockManager };
  if (!locks) return transport;
  const channel = new BroadcastChannel(NAME);
  const tab = createTab(locks);

  /** The real stream, passed on to the other tabs event by event. */
  async function lead(path: string, headers: Record<string, string>): Promise<Stream> {
    const stream = await transport.stream(path, headers);
    return stream.status === 200 ? { ...stream, chunks: relay(stream, channel) } : stream;
  }

  /** Messages of the leading tab, after the present state. */
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

/** Resolves once this tab leads: immediately where none does, or when the leading one is gone. */
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

/** Messages from now on, until the stream ends, `until` happens, or it is closed. */
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

/** The events of a text that come after a revision; comments, which show that the stream lives, stay. */
function laterThan(revision: number, text: string): { text: string; revision: number } {
  let last = revision;
  const later = text.split(/(?<=\n\n)/).filter(event => {
    const id = /^id: (\d+)$/m.exec(event)?.[1];
    if (id === undefined) return true;
    // a daemon that was started again counts from its clock, which is later
    if (Number(id) <= revision) return false;
    last = Math.max(last, Number(id));
    return true;
  });
  return { text: later.join(''), revision: last };
}

function frame<N extends EventName>(id: number, event: N, data: EventData<N>): string {
  return `id: ${id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}
