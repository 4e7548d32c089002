// Reads the start of an HTTP message, and leaves the rest in its stream.
import type { IncomingMessage } from 'node:http';

/** Events after which a message has more to read, or nothing anymore. */
const EVENTS = ['readable', 'end', 'close', 'error'] as const;

/** The start of a message. */
export interface Start {
  bytes: Buffer;
  /** `bytes` is the whole message, which can be sent again. */
  isWhole: boolean;
}

/** Reads the start of a message, up to a limit and for a time, in milliseconds; the rest stays in the stream. */
export async function readStart(message: IncomingMessage, limit: number, ms?: number): Promise<Start> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const end = ms === undefined ? undefined : Date.now() + ms;
  for (;;) {
    const chunk = message.read() as Buffer | null;
    if (chunk) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > limit) break;
    } else if (message.complete)
      return { bytes: chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks), isWhole: true };
    else if (message.destroyed) break;
    else if (!(await isReadable(message, end && end - Date.now()))) break;
  }
  return { bytes: Buffer.concat(chunks), isWhole: false };
}

/** Waits for more or the end, at most this long. */
function isReadable(message: IncomingMessage, ms: number | undefined): Promise<boolean> {
  return new Promise(resolve => {
    const settle = (more: boolean) => () => {
      clearTimeout(timer);
      for (const event of EVENTS) message.off(event, onMore);
      resolve(more);
    };
    const onMore = settle(true);
    const timer = ms === undefined ? undefined : setTimeout(settle(false), Math.max(0, ms));
    for (const event of EVENTS) message.once(event, onMore);
  });
}
