// Implements the contract's transport over fetch, for a page that the daemon itself serves.
import { deadlineOf, type Transport, Unreachable } from '../../api/client.ts';

/** The page shows nothing of what the tunnel CLI printed but in the log, which it reads separately. */
const STREAM = '/api/events?brief=1';

/** An action may wait for a sign-in in another tab, in ms. */
const ACTION_MS = 180_000;

/** Requests and event streams to the page's own origin. Every failure of the connection is an `Unreachable`. */
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

/** Text as it arrives. Ends quietly when closed from this side. */
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
