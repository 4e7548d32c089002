// Names the program that a request waits for: a daemon that answers about itself waits for WARP.
import { createClient } from '../api/client.ts';
import type { Context } from './context.ts';
import { createTransport } from './transport.ts';

/** Long for an answer that waits for nothing. */
const HEALTH_MS = 2_000;

export const DAEMON = 'The Culvert daemon';

/** `WARP`, `The demo`, or {@link DAEMON}. */
export async function slowProgram({ paths, isDemo }: Pick<Context, 'paths' | 'isDemo'>): Promise<string> {
  const client = createClient(createTransport(paths.socket, { readMs: HEALTH_MS }));
  const isAnswering = await client.call('GET /api/health').then(
    () => true,
    () => false,
  );
  if (!isAnswering) return DAEMON;
  return isDemo() ? 'The demo' : 'WARP';
}
