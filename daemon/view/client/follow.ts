// Follows the daemon's event stream until closed: connects again after a pause, and resumes where the stream ended.
import { ApiError, type Client, type Event } from '../../api/client.ts';
import type { EventName } from '../../api/contract.ts';
import type { OfflineReason } from './client-state.ts';
import { StreamTimeout } from './idle-timeout.ts';

interface FollowOptions {
  client: Client;
  /** The events to be sent, `snapshot` among them; absent: all. */
  only: readonly EventName[] | undefined;
  /** The stream stays silent while nothing happens. */
  quiet: boolean;
  /** First and longest pause between attempts, in milliseconds. */
  backOffMs: readonly [first: number, longest: number];
  /** @param resumed the stream sends only what was missed, which may be nothing */
  connected(resumed: boolean): void;
  received(event: Event): void;
  lost(reason: OfflineReason): void;
}

export interface Follower {
  /** Connects now instead of at the end of the pause. */
  retry(): void;
  close(): void;
}

export function follow(options: FollowOptions): Follower {
  const { client, only, quiet, backOffMs, connected, received, lost } = options;
  let closed = false;
  let lastEventId: string | undefined;
  let attempts = 0;
  let closeStream = () => {};
  let wake = () => {};

  async function readStream(): Promise<void> {
    const stream = await client.events(lastEventId, only, quiet);
    closeStream = stream.close;
    if (closed) return stream.close();
    connected(lastEventId !== undefined);
    for await (const event of stream.events) {
      attempts = 0;
      if (event.id) lastEventId = event.id;
      received(event);
    }
    if (!closed) lost({ code: 'not-running', detail: '' });
  }

  function pause(): Promise<void> {
    return new Promise(resolve => {
      const timer = setTimeout(resolve, Math.min(backOffMs[1], backOffMs[0] * 2 ** attempts++));
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  async function followUntilClosed(): Promise<void> {
    while (!closed) {
      try {
        await readStream();
      } catch (error) {
        if (!closed) lost(offlineReason(error));
      }
      if (!closed) await pause();
    }
  }

  void followUntilClosed();
  return {
    retry() {
      attempts = 0;
      wake();
    },
    close() {
      closed = true;
      closeStream();
      wake();
    },
  };
}

function offlineReason(error: unknown): OfflineReason {
  if (error instanceof ApiError) return { code: 'refused', detail: error.message };
  if (error instanceof StreamTimeout) return { code: 'not-responding', detail: error.message };
  return { code: 'not-running', detail: error instanceof Error ? error.message : String(error) };
}
