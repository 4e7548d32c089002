// Relays the byte streams between the system bus and GDBus.
import Gio from 'gi://Gio?version=2.0';
import GLib from 'gi://GLib?version=2.0';
import { countGarbage } from './garbage.ts';

const CHUNK_BYTES = 64 << 10;
/** Bytes that are read and thrown away at a time. */
const SKIP_BYTES = 256 << 10;

/** Reads a stream for as long as it lasts, after everything else that the loop has to do. */
export function relay(
  stream: Gio.InputStream,
  frames: (chunk: Uint8Array) => number,
  ended: (why: string) => void,
): void {
  // a buffer that is used again: of GBytes, GJS would keep hundreds of megabytes until it collects them
  const input = Gio.BufferedInputStream.new_sized(stream, SKIP_BYTES);
  let skip = 0;
  const take = () => {
    const skipped = Math.min(skip, input.get_available());
    if (skipped) input.skip(skipped, null);
    skip -= skipped;
    if (!input.get_available()) return;
    const chunk = input.peek_buffer();
    input.skip(chunk.length, null);
    skip = frames(chunk);
    countGarbage(chunk.length);
  };
  const next = () =>
    input.fill_async(skip ? SKIP_BYTES : CHUNK_BYTES, GLib.PRIORITY_LOW, null, (_, result) => {
      try {
        if (input.fill_finish(result) <= 0) return ended('end of the stream');
        take();
      } catch (error) {
        return ended(String(error));
      }
      next();
    });
  next();
}

/** Writes messages one after the other. */
export function createWriter(output: Gio.OutputStream, failed: (why: string) => void) {
  const queue: Uint8Array[] = [];
  let waiting = 0;
  const next = () =>
    // as GBytes: GJS frees the copy that it makes of an array before an asynchronous call has ended
    output.write_bytes_async(new GLib.Bytes(queue[0]!), GLib.PRIORITY_DEFAULT, null, (_, result) => {
      let written = 0;
      try {
        written = output.write_bytes_finish(result);
      } catch (error) {
        return failed(String(error));
      }
      waiting -= written;
      const left = queue[0]!.subarray(written);
      if (left.length) queue[0] = left;
      else queue.shift();
      if (queue.length) next();
    });
  const send = (bytes: Uint8Array) => {
    queue.push(bytes);
    waiting += bytes.length;
    if (queue.length === 1) next();
  };
  return Object.assign(send, { waiting: () => waiting });
}
