// Limits how long an event stream may stay silent, which is the only sign of a daemon that hangs.
import { type Stream, type Transport, Unreachable } from '../../api/client.ts';

/** The stream was given up because nothing came for too long. */
export class StreamTimeout extends Unreachable {}

/**
 * `transport` whose streams fail with `StreamTimeout` after `ms` without a word, heartbeats included.
 * A stream over a Unix socket never breaks while a hung or stopped daemon holds it.
 */
export function withIdleTimeout(transport: Transport, ms: number): Transport {
  return {
    request: (...request) => transport.request(...request),
    async stream(path, headers) {
      const stream = await transport.stream(path, headers);
      return { ...stream, chunks: limited(stream, ms), close: () => stream.close() };
    },
  };
}

async function* limited(stream: Stream, ms: number): AsyncGenerator<string> {
  let silent = false;
  const arm = () =>
    setTimeout(() => {
      silent = true;
      stream.close();
    }, ms);
  let timer = arm();
  try {
    for await (const chunk of stream.chunks) {
      clearTimeout(timer);
      timer = arm();
      yield chunk;
    }
  } catch (error) {
    if (!silent) throw error;
  } finally {
    clearTimeout(timer);
    stream.close();
  }
  if (silent) throw new StreamTimeout(`Not a word for ${Math.round(ms / 1000)} s.`);
}
