// A machine in a directory: a tunnel whose values are a file, and the daemon's parts that change and revert.
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openChanges } from '../../../daemon/changes/index.ts';
import { DEFAULTS } from '../../../daemon/config/keys.ts';
import type { FeatureContext } from '../../../daemon/controls.ts';
import { replaceFile } from '../../../daemon/core/files.ts';
import { createRoutes } from '../../../daemon/routes/routes-service.ts';
import { paths as pathsOf } from '../../../daemon/system/paths.ts';
import { memoryTunnel } from '../daemon/memory-tunnel.ts';
import { noKillSwitch } from '../daemon/no-killswitch.ts';

/** Settings of the tunnel before a change. */
export const OLD = ['10.0.0.0/8', '198.18.7.0/24', 'example.com'];
/** The document that changes everything. */
export const DOCUMENT = '198.51.100.0/24\nnew.example\n';

/** Boots a daemon; changes that an earlier one left are reverted. */
export function boot(home: string) {
  const paths = pathsOf({ HOME: home });
  const file = join(home, 'tunnel.json');
  mkdirSync(paths.state, { recursive: true });
  const stored = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};
  const memory = memoryTunnel(stored, values => replaceFile(file, JSON.stringify(values), { durable: false }));
  const { state, tunnel } = memory;
  const said: string[] = [];
  const settings = { config: DEFAULTS };
  const context = { paths, state, tunnel, settings, say: (line: string) => void said.push(line) };
  const changes = openChanges(context as unknown as FeatureContext, {
    routes: async () => routes,
    killSwitch: noKillSwitch,
  });
  const routes = createRoutes(context, changes);
  changes.start();
  const list = () => {
    const { ips, hosts } = memory.values.split;
    return [...ips, ...hosts].map(({ value }) => value).sort();
  };
  return { paths, memory, changes, routes, said, list };
}

/** Changes that a program makes before it is killed. */
export const ACTS = {
  apply: async ({ routes }: ReturnType<typeof boot>) => void (await routes.apply({ document: DOCUMENT })),
  limited: async ({ routes }: ReturnType<typeof boot>) =>
    void (await routes.apply({ document: DOCUMENT, confirmWithin: 600 })),
  timed: async ({ changes }: ReturnType<typeof boot>) =>
    void (await changes.runWithLimit({ action: 'setMode', value: 'doh', forSeconds: 600 })),
  /** Only waits until what is due has returned. */
  settle: async ({ paths }: ReturnType<typeof boot>) => {
    while (existsSync(paths.changes)) await new Promise(done => setTimeout(done, 5));
  },
} as const;
export type Act = keyof typeof ACTS;
