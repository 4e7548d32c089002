// The real listeners with the limits on streams and connections raised, for the benchmark of ten thousand streams.
// Arguments: socket path. A line on stdin publishes one event of that many bytes; answers go to stdout.

import { createInterface } from 'node:readline';
import { loadConfig } from '../../../daemon/config/layers.ts';
import type { Features } from '../../../daemon/features.ts';
import { LIMITS } from '../../../daemon/http/guard.ts';
import { createListeners } from '../../../daemon/http/listeners.ts';
import { createLog, createState } from '../../../daemon/state/store.ts';
import { createSignIn } from '../../../daemon/warp/consent.ts';
import type { Tunnel } from '../../../daemon/warp/tunnel.ts';

const state = createState({ available: true, path: '/usr/bin/warp-cli', version: '1', emulated: false });
const tunnel = { start() {}, async stop() {}, async refresh() {}, isFresh: () => true } as unknown as Tunnel;
const settings = await loadConfig({ system: '/dev/null/none', user: '/dev/null/none' }, {});
const log = createLog({ capacity: 10, onEntry() {} });
// neither a stream nor its opening asks for another
const features = { metrics: { count() {}, ready: () => null }, toolAccounts: { offer() {} } } as unknown as Features;
const daemon = {
  state,
  tunnel,
  settings,
  log,
  features,
  env: {},
  startedAt: new Date().toISOString(),
  webui: '',
  port: () => null,
  signIn: createSignIn(async () => null),
  restart() {},
};
const listeners = createListeners(daemon, { ...LIMITS, streams: 100_000, unixConnections: 100_000 });
await listeners.listenUnix(process.argv[2]!);
console.log('ready');

let count = 0;
for await (const line of createInterface({ input: process.stdin })) {
  if (line === 'stat') {
    const { rss } = process.memoryUsage();
    console.log(JSON.stringify({ streams: listeners.streams.count(), rssMb: rss / 1e6 }));
    continue;
  }
  const text = `${++count} `.padEnd(Number(line), 'x');
  state.set('status', { ...state.snapshot().status, reason: { code: null, text } });
  console.log('sent');
}
