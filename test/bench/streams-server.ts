// The real front with the limits on streams and connections raised, for the benchmark of ten thousand streams.
// Arguments: socket path. A line on stdin publishes one event of that many bytes; answers go to stdout.
import { createInterface } from 'node:readline';
import { loadConfig } from '../../daemon/config.ts';
import type { Features } from '../../daemon/features.ts';
import { createFront } from '../../daemon/front.ts';
import { LIMITS } from '../../daemon/guard.ts';
import { createLog } from '../../daemon/log.ts';
import { createState } from '../../daemon/state.ts';
import type { Tunnel } from '../../daemon/warp/tunnel.ts';

const state = createState({ available: true, path: '/usr/bin/warp-cli', version: '1', emulated: false });
const tunnel = { start() {}, async stop() {}, async refresh() {}, isFresh: () => true } as unknown as Tunnel;
const settings = await loadConfig({ system: '/nonexistent', user: '/nonexistent' }, {});
const log = createLog({ capacity: 10, onEntry() {} });
const features = {} as Features; // no request here asks for one
const daemon = { state, tunnel, settings, log, features, startedAt: new Date().toISOString(), port: () => null };
const front = createFront(daemon, { ...LIMITS, streams: 100_000, connections: 100_000 });
await front.listenUnix(process.argv[2]!);
console.log('ready');

let count = 0;
for await (const line of createInterface({ input: process.stdin })) {
  if (line === 'stat') {
    const { rss } = process.memoryUsage();
    console.log(JSON.stringify({ streams: front.streams.count(), rssMb: rss / 1e6 }));
    continue;
  }
  const text = `${++count} `.padEnd(Number(line), 'x');
  state.set('status', { ...state.snapshot().status, reason: { code: null, text } });
  console.log('sent');
}
