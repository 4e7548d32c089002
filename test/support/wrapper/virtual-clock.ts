// The pool's real script with a clock that a test or a simulation sets. A released script has no such clock: the text of
// one function is replaced before the script is loaded.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Redis } from 'iovalkey';
import type { Script } from '../../../wrapper/pool/connection.ts';

const FILE = new URL('../../../wrapper/pool/pool.lua', import.meta.url);
const CLOCK = /local function micros\(\)\n[\s\S]*?\nend\n/;
const KEY = 'test:clock';

/** @throws Error when the script has no such function anymore */
export function scriptWithClock(): Script {
  const real = readFileSync(FILE, 'utf8');
  const text = real.replace(CLOCK, `local function micros() return redis.call('GET', '${KEY}') .. '000' end\n`);
  if (text === real) throw new Error('pool.lua has no function micros() to replace');
  return { text, sha: createHash('sha1').update(text).digest('hex') };
}

/** @param ms milliseconds since the epoch */
export async function setClock(client: Redis, ms: number): Promise<void> {
  await client.set(KEY, ms);
}
