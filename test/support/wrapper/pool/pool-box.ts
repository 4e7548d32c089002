// A machine of a pool as a user has it: a home with the wrapper, a wrapped tool that uses the counting provider, and two
// accounts.
import { randomBytes } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { CountingApi } from '../counting-api.ts';
import { type Sandbox, sandbox } from '../sandbox.ts';

export interface PoolBox extends Sandbox {
  /** Runs the tool. */
  tool(env?: Record<string, string>): ReturnType<Sandbox['run']>;
}

interface Options {
  /** Further lines of `[pool]`. */
  pool?: string;
  /** Lines of `[capacity.tool]`. */
  capacity?: string;
  /** Credentials by the names of accounts. */
  keys?: Record<string, string>;
  /** Shell commands that the tool runs before it asks the provider. */
  before?: string;
  /** The provider has a usage endpoint, whose answer is good for `cache`. */
  usage?: boolean;
  cache?: string;
}

/** A busy machine takes its time to connect; the usual 2 s are for people. */
const PATIENT = 'timeout = "20s"';

/** A sandbox that has joined the pool at `url`. */
export function poolBox(
  t: Pick<TestContext, 'after'>,
  { url, api }: { url: string; api: CountingApi },
  { pool = '', capacity = '', keys = { a: 'ka', b: 'kb' }, before = '', usage = true, cache = '60s' }: Options = {},
): PoolBox {
  const box = sandbox(t);
  box.script(
    'tool',
    `#!/bin/sh
${before}
code=$(curl -s -o /dev/null -w '%{http_code}' -X POST "${api.url}/use?key=$FAKE_KEY")
[ "$code" = 402 ] && { echo 'Error: quota' >&2; exit 1; }
echo "used $FAKE_KEY"
`,
  );
  const endpoint = `[providers.tool.usage]\nurl = "${api.url}/usage"\nremaining = "remaining"\nlimit = "limit"\ncache = "${cache}"\n`;
  box.provider(
    'tool',
    `inject = ["FAKE_KEY"]\n[[providers.tool.rules]]\nclass = "quota"\nstderr = "^Error: quota"\n${usage ? endpoint : ''}`,
  );
  box.accounts('tool', keys);
  const joined = `[pool]\nurl = "${url}"\nmachine = "machine-${randomBytes(4).toString('hex')}"\n`; // as `pool join` writes it
  const limits = capacity && `[capacity.tool]\n${capacity}`;
  const settings = /^timeout\b/m.test(pool) ? pool : `${PATIENT}\n${pool}`;
  appendFileSync(join(box.config, 'config.toml'), `${joined}${settings}\n${limits}\n`);
  return { ...box, tool: env => box.shim('tool', ['go'], env && { env }) };
}
