// GET /api/metrics: off by default, access, content, grammar, and the cost of a hundred scrapes.
import assert from 'node:assert/strict';
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { METRICS_TYPE } from '../../../daemon/api/requests.ts';
import { CLI_DURATION, FAMILIES } from '../../../daemon/metrics/families.ts';
import { NO_KILL_SWITCH, NO_TUNNEL } from '../../../daemon/state/store.ts';
import { OUTPUT, open, type Running, raw, request, startListeners } from '../../support/daemon/listeners.ts';
import { type Read, readMetrics, valueIn } from '../../support/metrics/openmetrics.ts';
import { until } from '../../support/until.ts';

const CONFIG = `
[[accounts]]
cli = "tvly"
name = "alice"
[[accounts]]
cli = "tvly"
name = "bob"
enabled = false
[pool]
url = "valkey://127.0.0.1:6379/0"
machine = "m"
`;

/** The daemon's answer, by the socket. */
const ask = ({ socket }: Running, line = 'GET /api/metrics') => raw({ path: socket }, request(line, 'localhost'));

async function scrape(running: Running): Promise<Read[]> {
  const answer = await ask(running);
  assert.equal(answer.status, 200, answer.body);
  return readMetrics(Buffer.from(answer.body, 'latin1').toString());
}

async function setUp(t: Parameters<typeof startListeners>[0], options?: Parameters<typeof startListeners>[1]) {
  const running = await startListeners(t, options);
  t.after(async () => running.metrics.stop());
  const { settings } = running.daemon;
  const turn = (enabled: boolean, hashAccounts = false) => {
    settings.setSession({ metrics: { enabled, hashAccounts } });
    running.daemon.state.publish('config', settings.response());
  };
  turn(true);
  return { running, turn, ...running };
}

/** The wrapper's files in the daemon's home. */
function wrapperFiles({ directory }: Running) {
  const [config, state] = [join(directory, '.config/culvert-wrap'), join(directory, '.local/state/culvert-wrap')];
  for (const each of [config, join(state, 'accounts')]) mkdirSync(each, { recursive: true });
  writeFileSync(join(config, 'config.toml'), CONFIG);
  return {
    state: (cli: string, value: object) => writeFileSync(join(state, 'accounts', `${cli}.json`), JSON.stringify(value)),
    audit: (entry: object) =>
      appendFileSync(
        join(state, 'audit.jsonl'),
        `${JSON.stringify({ at: 1, cli: 'tvly', command: 'search', account: 'alice', outcome: 'ok', ...entry })}\n`,
      ),
    gateway(cli: string, token: object) {
      mkdirSync(join(state, 'gateways'));
      writeFileSync(join(state, 'gateways', `${cli}.json`), JSON.stringify({ tokens: [token] }));
    },
    damage: () => writeFileSync(join(config, 'config.toml'), '[[accounts'),
  };
}

test('the metrics are off until they are turned on, and off again', async t => {
  const { running, turn } = await setUp(t);
  turn(false);
  const off = await ask(running);
  assert.deepEqual([off.status, off.json().code], [404, 'not-found']);
  assert.match(String((off.json() as Record<string, unknown>).hint), /culvert config set metrics\.enabled true/);
  turn(true);
  const on = await ask(running);
  assert.deepEqual(
    [on.status, on.headers['content-type'], on.headers['cache-control']],
    [200, METRICS_TYPE, 'no-store'],
  );
  const again = await ask(running);
  assert.deepEqual([again.headers['content-type'], again.headers['cache-control']], [METRICS_TYPE, 'no-store']);
  turn(false);
  assert.equal((await ask(running)).status, 404, 'the text that was just written is not answered anymore');
  turn(true);
  assert.equal(valueIn(await scrape(running), 'culvert_warp_tunnel_connection_attempts_total'), 0);
});

test('the metrics have the access rules of the API', async t => {
  const { socket } = await setUp(t);
  const refused = async (headers: Record<string, string>, code: string) => {
    const answer = await raw({ path: socket }, request('GET /api/metrics', 'localhost', headers));
    assert.equal(answer.json().code, code);
    assert.ok(!answer.body.includes('culvert_'));
  };
  await refused({ host: 'rebound.example' }, 'host-not-allowed');
  await refused({ 'sec-fetch-site': 'cross-site' }, 'fetch-site-not-allowed');
  await refused({ origin: 'https://example.org' }, 'origin-not-allowed');
  const posted = await raw({ path: socket }, request('POST /api/metrics', 'localhost', {}, '{}'));
  assert.deepEqual([posted.status, posted.headers.allow], [405, 'GET, HEAD']);
  const queried = await raw({ path: socket }, request('GET /api/metrics?name[]=x', 'localhost'));
  assert.equal(queried.json().code, 'invalid-query');
});

test('another machine reads the metrics with the token only', async t => {
  const address = Object.values(networkInterfaces())
    .flat()
    .find(each => each && !each.internal && each.family === 'IPv4')?.address;
  if (!address) return t.skip('this machine has no address but loopback');
  const token = 'm'.repeat(43);
  const { port } = await setUp(t, { remote: token });
  const host = `${address}:${port}`;
  const remote = (headers: Record<string, string>) =>
    raw({ port, host: address }, request('GET /api/metrics', host, headers));
  assert.equal((await remote({})).json().code, 'token-required');
  assert.equal((await remote({ authorization: `Bearer ${token}x` })).json().code, 'token-required');
  assert.equal((await remote({ authorization: `Bearer ${token}` })).status, 200);
});

test('exports the state of tunnel, kill switch, checks and tunnel CLI', async t => {
  const { running, daemon } = await setUp(t);
  const { state, log } = daemon;
  await scrape(running); // counts from here on
  const status = state.snapshot().status;
  state.set('status', { ...status, state: 'connecting', reason: { code: 'EstablishingConnection', text: '' } });
  state.set('status', { ...status, state: 'connected', reason: null });
  const at = '2026-11-22T08:00:00.000Z';
  state.set('tunnel', { ...NO_TUNNEL, bytesReceived: 10, bytesSent: 5, latencyMs: 12.5, loss: 0.02, at });
  state.set('tunnel', {
    ...NO_TUNNEL,
    bytesReceived: 3_000,
    bytesSent: 40,
    latencyMs: 12.5,
    loss: 0.02,
    handshakeAgeSeconds: 7,
    at: '2026-11-22T08:00:05.000Z',
  });
  const guarding = { ...NO_KILL_SWITCH, enabled: true, active: true, pausedUntil: at };
  const [first, second] = ['2026-11-22T10:00:00.000Z', '2026-11-22T10:00:01.000Z'];
  for (const repairedAt of [first, null, first, second, second]) state.set('killSwitch', { ...guarding, repairedAt });
  const finding = {
    id: 'dns-port-53',
    title: '',
    group: 'dns' as const,
    evidence: [],
    explanation: null,
    fix: null,
    fixId: null,
    source: null,
    appliesTo: null,
    durationMs: 1,
  };
  for (const verdict of ['ok', 'problem'] as const)
    state.publish('doctor', {
      running: true,
      completed: 1,
      total: 2,
      result: { ...finding, verdict },
      undo: null,
    });
  log.append({
    ...OUTPUT,
    source: 'action',
    argv: ['warp-cli', '--accept-tos', 'add-trusted-ssid', 'Home'],
    durationMs: 300,
  });
  log.append({ ...OUTPUT, source: 'read', ok: false, exitCode: null });
  const found = await scrape(running);
  const value = (name: string, labels = {}) => valueIn(found, name, labels);
  for (const [name, labels, expected] of [
    ['culvert_warp_tunnel_state', { state: 'connected' }, 1],
    ['culvert_warp_tunnel_state', { state: 'connecting' }, 0],
    ['culvert_warp_tunnel_state_changes_total', { reason: 'EstablishingConnection' }, 1],
    ['culvert_warp_tunnel_connection_attempts_total', {}, 1],
    ['culvert_warp_tunnel_receive_bytes_total', {}, 2_990],
    ['culvert_warp_tunnel_transmit_bytes_total', {}, 35],
    ['culvert_warp_tunnel_latency_seconds', {}, 0.0125],
    ['culvert_warp_tunnel_loss_ratio', {}, 0.02],
    ['culvert_warp_tunnel_handshake_age_seconds', {}, 7],
    ['culvert_warp_tunnel_figures_timestamp_seconds', {}, Date.parse('2026-11-22T08:00:05Z') / 1000],
    ['culvert_warp_killswitch_wanted', {}, 1],
    ['culvert_warp_killswitch_engaged', {}, 1],
    ['culvert_warp_killswitch_paused', {}, 1],
    ['culvert_warp_killswitch_mended_total', {}, 2],
    ['culvert_warp_health_findings', { id: 'dns-port-53' }, 1],
    ['culvert_warp_cli_calls_total', { command: 'add-trusted-ssid', outcome: 'ok' }, 1],
    ['culvert_warp_cli_calls_total', { command: 'connect', outcome: 'killed' }, 1],
    ['culvert_warp_cli_duration_seconds_count', {}, 2],
    ['culvert_warp_cli_duration_seconds_bucket', { le: '0.25' }, 1],
    ['culvert_warp_info', { version: '2026.7.1377.0', emulated: 'false' }, 1],
    ['culvert_wrap_store_readable', {}, 1],
  ] as const)
    assert.equal(value(name, labels), expected, `${name} ${JSON.stringify(labels)}`);
  assert.deepEqual(found.find(({ name }) => name === 'culvert_warp_health_findings')!.labels.verdict, 'problem');
  assert.ok(!JSON.stringify(found).includes('Home'), 'the name of a network');
  state.set('killSwitch', NO_KILL_SWITCH);
  state.set('tunnel', NO_TUNNEL);
  state.set('status', { ...state.snapshot().status, lastKnown: { at, said: null } });
  const unknown = await scrape(running);
  for (const present of ['connected', 'unknown'])
    assert.equal(
      valueIn(unknown, 'culvert_warp_tunnel_state', { state: present }),
      Number(present === 'unknown'),
      'a state that could not be read again is not connected',
    );
  for (const name of [
    'culvert_warp_killswitch_engaged',
    'culvert_warp_tunnel_latency_seconds',
    'culvert_warp_tunnel_loss_ratio',
  ])
    assert.equal(valueIn(unknown, name), undefined, `${name} is not known`);
  assert.equal(valueIn(unknown, 'culvert_warp_tunnel_receive_bytes_total'), 2_990);
});

test('requests are counted by route of the contract, and streams while they are open', async t => {
  const { running, port } = await setUp(t);
  await scrape(running);
  await ask(running, 'GET /api/health?since=home-router');
  for (const line of [
    'GET /api/health',
    'HEAD /api/health',
    'GET /api/none-of-ours',
    'GET /a-page',
    'DELETE /api/config',
  ])
    await raw({ path: running.socket }, request(line, 'localhost', { connection: 'close' }));
  await raw({ port }, request('GET /api/health', 'elsewhere.example'));
  const stream = open({ path: running.socket });
  t.after(async () => void stream.destroy());
  stream.write(request('GET /api/events', 'localhost'));
  await until(() => running.listeners.streams.count() === 1);
  let found: Read[] = [];
  const requests = (route: string, code: string) => valueIn(found, 'culvert_warp_api_requests_total', { route, code });
  await until(async () => {
    found = await scrape(running);
    return requests('GET /api/health', '421') === 1;
  });
  assert.equal(requests('GET /api/health', '200'), 2);
  assert.equal(requests('GET /api/health', '422'), 1, 'a query that the route does not take');
  assert.equal(requests('other', '404'), 1);
  assert.equal(requests('other', '405'), 1);
  assert.equal(requests('page', '404'), 1);
  assert.equal(valueIn(found, 'culvert_warp_event_streams'), 1);
  assert.equal(requests('GET /api/events', '200'), undefined);
});

test('accounts of tools are shown by name or as hashes, and their runs are counted', async t => {
  const { running, turn } = await setUp(t);
  const files = wrapperFiles(running);
  files.audit({ outcome: 'left', class: 'quota' });
  const until = Date.now() + 3_600_000;
  files.state('tvly', {
    paused: { alice: { class: 'quota', until, since: 1 } },
    remaining: { alice: { remaining: 12, limit: 100, used: 88, resets: null, at: 1_000 } },
  });
  const first = await scrape(running);
  const alice = { cli: 'tvly', account: 'alice' };
  for (const [name, expected] of [
    ['culvert_wrap_account_remaining', 12],
    ['culvert_wrap_account_limit', 100],
    ['culvert_wrap_account_known_timestamp_seconds', 1],
    ['culvert_wrap_account_paused', 1],
    ['culvert_wrap_account_paused_until_timestamp_seconds', until / 1000],
    ['culvert_wrap_account_usable', 0],
    ['culvert_wrap_account_enabled', 1],
  ] as const)
    assert.equal(valueIn(first, name, alice), expected, name);
  assert.equal(valueIn(first, 'culvert_wrap_account_enabled', { ...alice, account: 'bob' }), 0);
  assert.equal(valueIn(first, 'culvert_wrap_switches_total', { cli: 'tvly', class: 'quota' }), 0, 'it was before');
  files.audit({ outcome: 'left', class: 'quota' });
  files.audit({ outcome: 'ok', account: 'bob' });
  turn(true, true); // publishes as well
  const hashed = await scrape(running);
  assert.equal(valueIn(hashed, 'culvert_wrap_switches_total', { cli: 'tvly', class: 'quota' }), 1);
  assert.equal(valueIn(hashed, 'culvert_wrap_runs_total', { cli: 'tvly', outcome: 'ok' }), 1);
  assert.ok(!/alice|bob/.test(JSON.stringify(hashed)));
  const names = hashed
    .filter(({ name }) => name === 'culvert_wrap_account_enabled')
    .map(({ labels }) => labels.account!);
  assert.equal(new Set(names).size, 2);
  for (const name of names) assert.match(name, /^[0-9a-f]{12}$/);
  turn(true, true);
  const again = await scrape(running);
  assert.ok(
    names.every(name => again.some(({ labels }) => labels.account === name)),
    'a hash stays the same',
  );
  files.damage();
  turn(true, false);
  const damaged = await scrape(running);
  assert.equal(valueIn(damaged, 'culvert_wrap_store_readable'), 0);
  assert.equal(valueIn(damaged, 'culvert_wrap_account_enabled', alice), undefined);
});

test('hostile names stay inside their quotes', async t => {
  const { running } = await setUp(t);
  const files = wrapperFiles(running);
  await scrape(running);
  const hostile = 'a"} 1\nculvert_warp_tunnel_state{state="x\\';
  files.audit({ cli: hostile, outcome: 'left', class: '\u001b[31m\u0000\r\u2028\ud800' });
  files.audit({ cli: '__proto__', outcome: 'left', class: 'constructor' });
  files.audit({ cli: 'x'.repeat(5_000) });
  const { body } = await ask(running);
  const found = readMetrics(Buffer.from(body, 'latin1').toString());
  assert.equal(valueIn(found, 'culvert_wrap_runs_total', { cli: hostile, outcome: 'left' }), 1);
  const replaced = '\ufffd[31m\ufffd\ufffd\u2028\ufffd';
  assert.equal(valueIn(found, 'culvert_wrap_switches_total', { cli: hostile, class: replaced }), 1);
  assert.equal(valueIn(found, 'culvert_wrap_switches_total', { cli: '__proto__', class: 'constructor' }), 1);
  assert.equal(valueIn(found, 'culvert_wrap_runs_total', { cli: 'x'.repeat(128), outcome: 'ok' }), 1);
  assert.ok(!/[\x00-\x09\x0b-\x1f]/.test(body));
});

test('every metric of the table appears, and no other', async t => {
  const { running, daemon } = await setUp(t);
  const files = wrapperFiles(running);
  files.state('tvly', {
    paused: { alice: { class: 'quota', until: Date.now() + 60_000, since: 1 } },
    remaining: { alice: { remaining: 12, limit: 100, used: 88, resets: null, at: 1_000 } },
  });
  files.gateway('tvly', { name: 'app', digest: '00', created: 1, used: 1, requests: 1, refused: 0 });
  await scrape(running);
  const names = new Set((await fill(running, daemon)).map(({ name }) => name.replace(/_(bucket|sum|count)$/, '')));
  assert.deepEqual([...names].sort(), [...Object.keys(FAMILIES), CLI_DURATION.name].sort());
});

/** Makes the daemon know something of everything. */
async function fill(running: Running, { state, log }: Running['daemon']): Promise<Read[]> {
  state.set('status', { ...state.snapshot().status, state: 'connected' });
  state.set('tunnel', {
    ...NO_TUNNEL,
    bytesReceived: 1,
    bytesSent: 1,
    latencyMs: 1,
    loss: 0,
    handshakeAgeSeconds: 1,
    at: new Date().toISOString(),
  });
  state.set('killSwitch', { ...NO_KILL_SWITCH, active: false });
  const cause = { id: 'dns-port-53', title: '', evidence: [], explanation: null, fix: null, fixId: null, source: null };
  state.set('diagnosis', { ...cause, at: new Date().toISOString() });
  const result = { ...cause, group: 'dns', verdict: 'ok', appliesTo: null, durationMs: 1 } as const;
  state.publish('doctor', { running: true, completed: 1, total: 1, result, undo: null });
  await scrape(running); // counts the request before
  log.append({ ...OUTPUT, source: 'read' });
  return scrape(running);
}

test('a hundred scrapes leave nothing behind', async t => {
  const { running } = await setUp(t);
  wrapperFiles(running);
  setFlagsFromString('--expose_gc');
  const gc = runInNewContext('gc') as () => void;
  const scrapes = async (count: number) => {
    for (let i = 0; i < count; i++) await scrape(running);
    gc();
    return process.memoryUsage().heapUsed;
  };
  await scrapes(100); // fills caches and compiles
  // code that the engine compiles later differs from run to run; garbage of a scrape grows in every hundred
  const grown: number[] = [];
  while (grown.length < 6 && !grown.some(bytes => bytes < 100_000))
    grown.push(-(await scrapes(0)) + (await scrapes(100)));
  assert.ok(
    grown.some(bytes => bytes < 100_000),
    `${grown.join(', ')} bytes more after each hundred scrapes`,
  );
});

test('a tunnel CLI that hangs does not delay a scrape, and simultaneous scrapes share one text', async t => {
  let asked = 0;
  const { running } = await setUp(t, {
    tunnel: {
      readFigures: () => {
        asked += 1;
        return new Promise(() => {});
      },
    },
  });
  const answers = await Promise.all(Array.from({ length: 10 }, () => ask(running)));
  assert.ok(answers.every(({ status }) => status === 200));
  assert.equal(asked, 1);
});
