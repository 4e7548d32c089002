// Fetches files from a source that may be hostile: named hosts only, no encodings, and limits on bytes and time.
import type { IncomingMessage } from 'node:http';
import { UpdateRefused } from '../errors.ts';
import { type Client, isNetwork, isNotHttp, open, shown, unreachable } from './request.ts';

export interface Limits {
  /** Gives up after so long without a byte, in milliseconds. */
  stallMs: number;
  /** For the whole of a small file; for an artifact the window in which its speed is measured. In milliseconds. */
  metadataMs: number;
  /** The slowest speed of an artifact in each window, in bytes per second. */
  bytesPerSecond: number;
}
/** An AppImage of 80 MB takes at most 85 minutes. */
export const LIMITS: Limits = { stallMs: 15_000, metadataMs: 20_000, bytesPerSecond: 16_384 };

/** Options of a fetch. */
export interface Fetching extends Client {
  limits: Limits;
  signal: AbortSignal;
}

/**
 * Fetches a small file whole.
 * @param most the size in bytes beyond which it is refused
 * @returns undefined when the source has no such file (404, 410)
 * @throws UpdateRefused
 */
export async function fetchSmall(url: URL, most: number, by: Fetching): Promise<Buffer | undefined> {
  const pieces: Buffer[] = [];
  const exists = await receive({ url, most, take: piece => void pieces.push(piece) }, by);
  return exists ? Buffer.concat(pieces) : undefined;
}

/**
 * Fetches a file of a known size, piece by piece.
 * @param take called with each piece; what it throws ends the fetch
 * @throws UpdateRefused, also when the source has no such file, or one of another size
 */
export async function fetchArtifact(
  url: URL,
  size: number,
  take: (piece: Buffer) => void,
  by: Fetching,
): Promise<void> {
  if (!(await receive({ url, most: size, exact: size, take }, by)))
    throw new UpdateRefused('release-missing', `${url.href} is in the manifest, but the source does not have it.`);
}

interface Wanted {
  url: URL;
  most: number;
  /** The exact size, when it is known. */
  exact?: number;
  take(piece: Buffer): void;
}

/** @returns whether there was such a file; false leaves `take` uncalled. */
async function receive(wanted: Wanted, by: Fetching): Promise<boolean> {
  const watch = startWatch(wanted, by);
  const taker = { failed: false };
  let response: IncomingMessage | undefined;
  try {
    response = await open(wanted.url, watch.signal, by);
    if (!checkHead(wanted, response)) return false;
    await readBody(wanted, response, watch, taker);
    return true;
  } catch (error) {
    if (watch.signal.aborted) throw watch.signal.reason;
    if (error instanceof UpdateRefused || taker.failed) throw error; // a failing taker is not the source's fault
    if (response && isNetwork(error) && !isNotHttp(error)) throw truncated(wanted, watch.received(), error);
    throw isNetwork(error) ? unreachable(wanted.url, error as NodeJS.ErrnoException) : error;
  } finally {
    watch.end();
    response?.destroy();
  }
}

async function readBody(wanted: Wanted, response: IncomingMessage, watch: Watch, taker: { failed: boolean }) {
  for await (const piece of response as AsyncIterable<Buffer>) {
    watch.arrived(piece.length);
    if (watch.received() > wanted.most) throw tooLarge(wanted);
    taker.failed = true;
    wanted.take(piece);
    taker.failed = false;
  }
  // a body that ends with the connection shows no truncation, so its size has to
  if (!response.complete || (wanted.exact !== undefined && watch.received() < wanted.exact))
    throw truncated(wanted, watch.received());
}

interface Watch {
  /** Aborted with the reason to give up, an UpdateRefused. */
  signal: AbortSignal;
  arrived(bytes: number): void;
  received(): number;
  end(): void;
}

/** Gives up when the daemon stops, when nothing arrives, and when too little arrives in a window of time. */
function startWatch({ url, exact }: Wanted, { limits, signal }: Fetching): Watch {
  const ending = new AbortController();
  const { stallMs, metadataMs, bytesPerSecond } = limits;
  const seconds = (ms: number) => `${Math.round(ms / 100) / 10} s`;
  const stopped = () => ending.abort(new UpdateRefused('stopped', 'The daemon is stopping.'));
  if (signal.aborted) stopped();
  signal.addEventListener('abort', stopped, { once: true });
  let received = 0;
  let before = 0;
  const perWindow = exact === undefined ? Number.POSITIVE_INFINITY : (bytesPerSecond * metadataMs) / 1_000;
  const window = setInterval(() => {
    if (received - before < perWindow) {
      const why =
        exact === undefined
          ? `did not arrive within ${seconds(metadataMs)}`
          : `arrives with less than ${bytesPerSecond} bytes per second`;
      ending.abort(new UpdateRefused('timeout', `${url.href} ${why}.`));
    }
    before = received;
  }, metadataMs);
  const stall = setTimeout(
    () => ending.abort(new UpdateRefused('stalled', `${url.origin} sent nothing for ${seconds(stallMs)}.`)),
    stallMs,
  );
  return {
    signal: ending.signal,
    arrived(bytes) {
      received += bytes;
      stall.refresh();
    },
    received: () => received,
    end() {
      clearInterval(window);
      clearTimeout(stall);
      signal.removeEventListener('abort', stopped);
    },
  };
}

/** @returns whether the body is what was asked for; false when there is no such file. */
function checkHead(wanted: Wanted, { statusCode, headers }: IncomingMessage): boolean {
  const { url, most, exact } = wanted;
  if (statusCode === 404 || statusCode === 410) return false;
  if (statusCode !== 200) throw new UpdateRefused('http-status', `${url.href} was answered with status ${statusCode}.`);
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity')
    throw new UpdateRefused(
      'encoded',
      `${url.origin} responded with an unsupported Content-Encoding (${shown(encoding)}).`,
    );
  if (headers['content-length'] === undefined) return true;
  const length = Number(headers['content-length']);
  if (length > most) throw tooLarge(wanted);
  if (exact !== undefined && length < exact) throw truncated(wanted, length);
  return true;
}

function tooLarge({ url, most }: Wanted): UpdateRefused {
  return new UpdateRefused('too-large', `${url.href} is larger than ${most} bytes.`);
}

function truncated({ url, exact }: Wanted, received: number, cause?: unknown): UpdateRefused {
  const of = exact === undefined ? '' : ` of ${exact}`;
  return new UpdateRefused('truncated', `${url.href} ended after ${received}${of} bytes.`, cause);
}
