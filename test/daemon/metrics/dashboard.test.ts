// The dashboard, the alert rules and the files around them: they name what is exported, and a real Prometheus agrees.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, appendFileSync, constants, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { CLI_DURATION, FAMILIES } from '../../../daemon/metrics/families.ts';
import { NO_KILL_SWITCH, NO_TUNNEL } from '../../../daemon/state/store.ts';
import { exposition, type Samples } from '../../../wrapper/store/metrics/exposition.ts';
import { OUTPUT, type Running, startListeners } from '../../support/daemon/listeners.ts';
import { namedIn } from '../../support/metrics/expressions.ts';
import { freePort } from '../../support/ports.ts';
import { temporary } from '../../support/temporary.ts';
import { until } from '../../support/until.ts';

const directory = resolve(import.meta.dirname, '../../../data/metrics');
const read = (name: string) => readFileSync(join(directory, name), 'utf8');

interface Panel {
  title: string;
  type: string;
  targets?: { expr: string; legendFormat: string }[];
}
interface Dashboard {
  panels: Panel[];
  templating: { list: { name: string; query: string | { query: string } }[] };
}
interface Rule {
  alert: string;
  expr: string;
  annotations: Record<string, string>;
}

const dashboard = JSON.parse(read('dashboard.json')) as Dashboard;
const { groups } = parse(read('alerts.yml')) as { groups: { rules: Rule[] }[] };
const rules = groups.flatMap(group => group.rules);
const targets = dashboard.panels.flatMap(({ targets = [], title }) => targets.map(target => ({ ...target, title })));

/** Labels that a scrape adds. */
const TARGET_LABELS = ['job', 'instance'];
const exported = new Map<string, readonly string[]>([
  ...Object.entries(FAMILIES).map(([name, { labels }]) => [name, labels] as const),
  [`${CLI_DURATION.name}_bucket`, ['le']],
  ['up', []],
]);

function check(expression: string, mentioned: readonly string[], where: string): void {
  const { metrics, matched, grouped } = namedIn(expression);
  assert.ok(metrics.length > 0, where);
  const labelsOf = (metric: string) => {
    const labels = exported.get(metric);
    assert.ok(labels, `${where}: ${metric} is not exported`);
    return [...labels, ...TARGET_LABELS];
  };
  for (const { metric, label } of matched)
    assert.ok(labelsOf(metric).includes(label), `${where}: ${metric} has no label ${label}`);
  const all = metrics.flatMap(labelsOf);
  for (const label of [...grouped, ...mentioned]) assert.ok(all.includes(label), `${where}: no label ${label}`);
}

const mentions = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, label]) => label!);

test('the dashboard and the alerts name exported metrics and labels only', () => {
  assert.ok(targets.length > 20);
  for (const { expr, legendFormat, title } of targets) {
    check(expr, mentions(legendFormat, /\{\{(\w+)\}\}/g), title);
    for (const variable of mentions(expr, /\$(\w+)/g))
      assert.ok(['instance', '__rate_interval', '__range'].includes(variable), `${title}: $${variable}`);
  }
  for (const { alert, expr, annotations } of rules)
    check(expr, mentions(JSON.stringify(annotations), /\$labels\.(\w+)/g), alert);
  const [, names, label] = /^label_values\(\{__name__=~"(.*)"\}, (\w+)\)$/.exec(
    (dashboard.templating.list.find(({ name }) => name === 'instance')!.query as { query: string }).query,
  )!;
  assert.equal(label, 'instance');
  for (const name of names!.split('|')) assert.ok(exported.has(name), name);
});

test('a name that is not exported is noticed', () => {
  for (const [expression, labels] of [
    ['culvert_tunnel_stat == 1', []],
    ['rate(culvert_tunnel_receive_bytes[5m])', []],
    ['culvert_tunnel_state{status="connected"}', []],
    ['sum by (acount) (culvert_wrap_account_usable)', []],
    ['culvert_event_streams', ['route']],
    ['node_load1 > 1', []],
  ] as const)
    assert.throws(() => check(expression, labels, 'x'), expression);
});

test('every file is YAML, and each names files that are there', () => {
  const compose = parse(read('compose.yaml')) as { services: Record<string, { image: string; volumes?: string[] }> };
  assert.deepEqual(Object.keys(compose.services), ['valkey', 'prometheus-volume', 'prometheus', 'grafana']);
  for (const [name, { image, volumes = [] }] of Object.entries(compose.services)) {
    assert.match(image, /:v?\d/, `${name} is pinned`);
    for (const file of volumes.filter(volume => volume.startsWith('./'))) read(file.split(':')[0]!);
  }
  const prometheus = parse(read('prometheus.yml')) as {
    rule_files: string[];
    scrape_configs: { job_name: string; metrics_path: string }[];
  };
  for (const file of prometheus.rule_files) read(file);
  assert.deepEqual(
    prometheus.scrape_configs.map(({ job_name, metrics_path }) => [job_name, metrics_path]),
    [['culvert', '/api/metrics']],
  );
  for (const { alert } of rules) assert.match(read('README.md'), new RegExp(`\`${alert}\``), `${alert} is described`);
  for (const name of [...Object.keys(FAMILIES), CLI_DURATION.name])
    assert.match(read('README.md'), new RegExp(`\`${name}[\`{]`), `${name} is described`);
});

/** A program of Debian's package prometheus; null if it is not installed. */
function programOf(name: string): string | null {
  for (const place of (process.env.PATH ?? '').split(':')) {
    try {
      accessSync(join(place, name), constants.X_OK);
      return join(place, name);
    } catch {
      // the next one
    }
  }
  return null;
}
const NOT_INSTALLED = "Debian's package prometheus is not installed";

test('promtool accepts configuration, rules and metrics, and each alert fires when it should', async t => {
  const promtool = programOf('promtool');
  if (!promtool) return t.skip(NOT_INSTALLED);
  const run = (words: string[], input = '') => {
    const { status, stdout, stderr } = spawnSync(promtool, words, { encoding: 'utf8', input });
    assert.equal(status, 0, `${words.join(' ')}\n${stdout}${stderr}`);
  };
  run(['check', 'config', join(directory, 'prometheus.yml')]);
  run(['check', 'rules', join(directory, 'alerts.yml')]);
  run(['test', 'rules', resolve(import.meta.dirname, '../../fixtures/metrics/alerts.test.yml')]);
  const one: Samples = Object.fromEntries(
    Object.entries(FAMILIES).map(([name, { labels }]) => [
      name,
      [{ labels: Object.fromEntries(labels.map(label => [label, 'a"\\\n'])), value: 1 }],
    ]),
  );
  run(['check', 'metrics'], await exposition(FAMILIES, one, 'prometheus'));
});

test('a Prometheus that scrapes the daemon has data for every query and every alert', async t => {
  const program = programOf('prometheus');
  if (!program) return t.skip(NOT_INSTALLED);
  const running = await startListeners(t);
  t.after(async () => running.daemon.features.metrics.stop());
  running.daemon.settings.setSession({ metrics: { enabled: true } });
  accounts(running.directory);
  const [port, closed] = [freePort(), freePort()];
  const home = temporary(t, 'prometheus');
  const job = { job_name: 'culvert', metrics_path: '/api/metrics' };
  const addresses = [`127.0.0.1:${running.port}`, `127.0.0.1:${closed}`];
  const configuration = {
    global: { scrape_interval: '1s', scrape_timeout: '1s' },
    scrape_configs: [{ ...job, static_configs: [{ targets: addresses }] }],
  };
  writeFileSync(join(home, 'prometheus.yml'), JSON.stringify(configuration));
  const words = ['--config.file=prometheus.yml', '--storage.tsdb.path=data', `--web.listen-address=127.0.0.1:${port}`];
  const child = spawn(program, words, { cwd: home, stdio: 'ignore' });
  const ended = once(child, 'exit');
  t.after(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  const ask = async (expression: string): Promise<unknown[]> => {
    const query = expression.replaceAll('$instance', '.*').replace(/\$__(rate_interval|range)/g, '5m');
    try {
      const response = await fetch(`http://127.0.0.1:${port}/api/v1/query?query=${encodeURIComponent(query)}`);
      const { status, error, data } = (await response.json()) as {
        status: string;
        error?: string;
        data: { result: unknown[] };
      };
      assert.equal(status, 'success', `${expression}: ${error}`);
      return data.result;
    } catch (error) {
      if (error instanceof TypeError || error instanceof SyntaxError) return []; // it does not answer yet
      throw error;
    }
  };
  const healthy = (): Promise<boolean> => ask('up == 1').then(found => found.length > 0);
  await until(healthy, 'the first scrape');
  know(running);
  const [last, ...others] = [...rules].reverse();
  for (const { expr } of [...targets, ...others]) {
    await until(async () => {
      assert.equal(child.exitCode, null);
      return (await ask(expr)).length > 0;
    }, expr);
  }
  writeFileSync(join(running.directory, '.config/culvert-wrap/config.toml'), '[[accounts');
  await until(async () => (await ask(last!.expr)).length > 0, last!.expr);
});

/** Two accounts of a tool, both resting, and a pool whose store is away. */
function accounts(home: string): void {
  const [config, state] = [join(home, '.config/culvert-wrap'), join(home, '.local/state/culvert-wrap/accounts')];
  for (const each of [config, state]) mkdirSync(each, { recursive: true });
  const names = ['a', 'b'];
  writeFileSync(
    join(config, 'config.toml'),
    names.map(name => `[[accounts]]\ncli = "tvly"\nname = "${name}"\n`).join(''),
  );
  appendFileSync(join(config, 'config.toml'), '[pool]\nurl = "valkey://127.0.0.1:6379/0"\nmachine = "m"\n');
  writeFileSync(join(state, '../pool.json'), JSON.stringify({ degradedSince: 1, degradedRuns: 2, waits: 3 }));
  const resting = { class: 'quota', until: Date.now() + 3_600_000, since: 1 };
  const remaining = { remaining: 0, limit: 100, used: 100, resets: null, at: 1_000 };
  const table = (value: object) => Object.fromEntries(names.map(name => [name, value]));
  writeFileSync(join(state, 'tvly.json'), JSON.stringify({ resting: table(resting), remaining: table(remaining) }));
}

/** A tunnel that has failed, with figures, a finding, and a kill switch that does not block. */
function know({ daemon: { state, log } }: Running): void {
  const reason = { code: 'NoNetwork', text: '' };
  state.set('status', { ...state.snapshot().status, state: 'connecting', reason: null });
  state.set('status', { ...state.snapshot().status, state: 'unable', reason });
  const at = new Date().toISOString();
  state.set('tunnel', {
    ...NO_TUNNEL,
    bytesReceived: 1,
    bytesSent: 1,
    latencyMs: 1,
    loss: 0,
    handshakeAgeSeconds: 1,
    at,
  });
  state.set('killSwitch', { ...NO_KILL_SWITCH, enabled: true, active: false });
  const finding = { id: 'dns-port-53', title: '', group: 'dns', evidence: [], explanation: null, fix: null } as const;
  const result = {
    ...finding,
    evidence: [],
    verdict: 'problem',
    fixId: null,
    source: null,
    appliesTo: null,
    durationMs: 1,
  } as const;
  state.publish('doctor', { running: true, completed: 1, total: 1, result: { ...result, evidence: [] }, undo: null });
  log.append({ ...OUTPUT, source: 'read', ok: false, exitCode: 1 });
}
