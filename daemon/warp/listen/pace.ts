// Limits how much of a child's output is processed per second, so that no child can starve the event loop.
import type { Readable } from 'node:stream';

export interface Pace {
  /** Length of the slices in which output is counted. */
  sliceMs: number;
  /** Limits of one slice. A long status has tens of KiB, a busy DNS log some thousand messages per second. */
  bytes: number;
  messages: number;
  /** So many full slices in a row are a flood. */
  fullSlices: number;
}

const PACE: Pace = { sliceMs: 100, bytes: 128 * 1024, messages: 500, fullSlices: 30 };

/**
 * Passes on the messages of a stream. Beyond the pace it stops reading, which makes the writer wait.
 * @param split takes a chunk apart into the messages that it completes.
 * @param onMessages gets at most one slice's messages at a time.
 * @param onFlood is called when the writer keeps exceeding the pace; nothing is passed on after that.
 * @returns ends it: passes on what is left, within the pace of one slice.
 */
export function paceMessages(
  stream: Readable,
  split: (chunk: Buffer) => string[],
  handlers: { onMessages: (messages: string[]) => void; onFlood: () => void },
  pace: Pace = PACE,
): () => void {
  let waiting: string[] = [];
  let [bytes, messages, fullSlices] = [0, 0, 0];
  let slice: NodeJS.Timeout | undefined;
  let over = false;

  stream.on('data', (chunk: Buffer) => {
    if (over) return;
    bytes += chunk.length;
    messages += 1; // a chunk costs as much as a message, even if it completes none
    waiting = waiting.concat(split(chunk));
    slice ??= setTimeout(nextSlice, pace.sliceMs).unref();
    passOn();
  });

  function passOn() {
    const room = Math.max(0, pace.messages - messages);
    const now = waiting.length <= room ? waiting : waiting.slice(0, room);
    waiting = waiting.slice(now.length);
    messages += now.length;
    if (now.length > 0) handlers.onMessages(now);
    if (isFull()) stream.pause();
    else stream.resume();
  }

  function isFull() {
    return bytes >= pace.bytes || messages >= pace.messages || waiting.length > 0;
  }

  function nextSlice() {
    slice = undefined;
    if (over) return;
    fullSlices = isFull() ? fullSlices + 1 : 0;
    if (fullSlices >= pace.fullSlices) {
      end();
      handlers.onFlood();
      return;
    }
    [bytes, messages] = [0, 0];
    if (fullSlices > 0) slice = setTimeout(nextSlice, pace.sliceMs).unref();
    passOn();
  }

  function end() {
    over = true;
    clearTimeout(slice);
  }

  return () => {
    if (over) return;
    [bytes, messages] = [0, 0];
    end();
    const left = waiting.slice(0, pace.messages);
    if (left.length > 0) handlers.onMessages(left);
  };
}
