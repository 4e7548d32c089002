// Reads the events that came with the HTML: they show the state before anything else is asked for.
import type { Transport } from '../api/client.ts';

/** `transport` whose first stream starts with the events of the HTML, where it has some, and goes on behind them. */
export function startWithPage(transport: Transport): Transport {
  let given = document.getElementById('events')?.textContent ?? '';
  return {
    request: (...request) => transport.request(...request),
    async stream(path, headers) {
      const first = given;
      given = '';
      const last = /^id: (\d+)$/m.exec(first)?.[1];
      if (last === undefined) return transport.stream(path, headers);
      let closed = false;
      let close = () => {
        closed = true;
      };
      async function* chunks(): AsyncGenerator<string> {
        yield first;
        if (closed) return;
        const rest = await transport.stream(path, { ...headers, 'last-event-id': last! });
        close = rest.close;
        if (closed) rest.close();
        // what else it answers, the next attempt hears again
        if (rest.status === 200) yield* rest.chunks;
      }
      return { status: 200, chunks: chunks(), close: () => close() };
    },
  };
}
