// Every problem that a route answers is listed for it in the OpenAPI document, whatever the tunnel CLI does.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import type { endpoints } from '../../../daemon/api/contract.ts';
import { openapi } from '../../../daemon/api/openapi.ts';
import { splitRequestLine } from '../../../daemon/api/requests.ts';
import { createLog, createState } from '../../../daemon/state/store.ts';
import { createTunnel } from '../../../daemon/warp/tunnel.ts';
import { emulator } from '../../support/daemon/emulator.ts';
import { raw, request, startListeners } from '../../support/daemon/listeners.ts';
import { missing } from '../../support/temporary.ts';
import { sample } from '../../support/thoroughness.ts';

const { paths } = openapi('1') as unknown as {
  paths: Record<string, Record<string, { 'x-problem-codes': string[] }>>;
};

/** Requests that reach the tunnel CLI. `raw` checks the codes of all requests in all tests; these go through its failures. */
const REQUESTS: [line: keyof typeof endpoints, body?: object][] = [
  ['GET /api/snapshot'],
  ['GET /api/account'],
  ['POST /api/action', { action: 'connect' }],
  ['POST /api/action', { action: 'setMode', value: 'doh' }],
  ['POST /api/action', { action: 'setProtocol', value: 'MASQUE' }],
  ['POST /api/action', { action: 'setMode', value: 'bogus' }],
  ['POST /api/action', { action: 'register' }],
];

const FAULTS = [
  'service-down',
  'connection-refused',
  'terms',
  'cut',
  'cut=10',
  'listener-exits',
  'not-registered',
  'not-authorized',
  'policy-lock',
  'unknown-output',
  'json-exit-0,service-down',
  'text-errors,not-registered',
];

for (const faults of [...sample(FAULTS, 6), 'missing'])
  test(`with the fault ${faults}, every code is documented for its route`, async t => {
    const cli = await emulator({ connectMs: 10 });
    if (faults !== 'missing') await cli.control('reset', `fault=${faults}`);
    const state = createState({ available: false, path: null, version: null, emulated: true });
    const tunnel = createTunnel({
      cli: faults === 'missing' ? join(missing(t), 'warp-cli') : cli.bin,
      emulated: true,
      env: cli.env,
      acceptedTerms: `${cli.env.HOME}/accepted-terms`,
      state,
      log: createLog({ capacity: 10 }),
    });
    t.after(async () => {
      await tunnel.stop();
      await cli.remove();
    });
    const { port } = await startListeners(t, { tunnel });
    tunnel.start();
    for (const [line, body] of REQUESTS) {
      const { method, path } = splitRequestLine(line);
      const answer = await raw({ port }, request(line, `localhost:${port}`, {}, body && JSON.stringify(body)));
      if (answer.status < 400) continue;
      const { code = '' } = answer.json();
      assert.ok(paths[path]![method.toLowerCase()]!['x-problem-codes'].includes(code), `${line}: ${code}`);
    }
  });
