// The metrics as Prometheus takes them: each one is described, and the programs of a real Prometheus accept them.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { CLI_DURATION, FAMILIES } from '../../../daemon/metrics/families.ts';
import { exposition, type Samples } from '../../../wrapper/store/metrics/families.ts';
import { startListeners } from '../../support/daemon/listeners.ts';
import { freePort } from '../../support/ports.ts';
import { temporary } from '../../support/temporary.ts';
import { until } from '../../support/until.ts';

test('every metric is described', () => {
  const text = readFileSync('data/doc/metrics.md', 'utf8');
  for (const name of [...Object.keys(FAMILIES), CLI_DURATION.name])
    assert.match(text, new RegExp(`\`${name}[\`{]`), `${name} is described`);
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

test('promtool accepts every metric, whatever its labels hold', async t => {
  const promtool = programOf('promtool');
  if (!promtool) return t.skip(NOT_INSTALLED);
  const one: Samples = Object.fromEntries(
    Object.entries(FAMILIES).map(([name, { labels }]) => [
      name,
      [{ labels: Object.fromEntries(labels.map(label => [label, 'a"\\\n'])), value: 1 }],
    ]),
  );
  const input = await exposition(FAMILIES, one, 'prometheus');
  const { status, stdout, stderr } = spawnSync(promtool, ['check', 'metrics'], { encoding: 'utf8', input });
  assert.equal(status, 0, `${stdout}${stderr}`);
});

test('a Prometheus scrapes the daemon', async t => {
  const program = programOf('prometheus');
  if (!program) return t.skip(NOT_INSTALLED);
  const running = await startListeners(t);
  t.after(async () => running.metrics.stop());
  running.daemon.settings.setSession({ metrics: { enabled: true } });
  const port = freePort();
  const home = temporary(t, 'prometheus');
  const job = { job_name: 'culvert', metrics_path: '/api/metrics' };
  const configuration = {
    global: { scrape_interval: '1s', scrape_timeout: '1s' },
    scrape_configs: [{ ...job, static_configs: [{ targets: [`127.0.0.1:${running.port}`] }] }],
  };
  writeFileSync(join(home, 'prometheus.yml'), JSON.stringify(configuration));
  const words = ['--config.file=prometheus.yml', '--storage.tsdb.path=data', `--web.listen-address=127.0.0.1:${port}`];
  const child = spawn(program, words, { cwd: home, stdio: 'ignore' });
  const ended = once(child, 'exit');
  t.after(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  const ask = async (query: string): Promise<unknown[]> => {
    assert.equal(child.exitCode, null);
    try {
      const response = await fetch(`http://127.0.0.1:${port}/api/v1/query?query=${query}`);
      return ((await response.json()) as { data: { result: unknown[] } }).data.result;
    } catch {
      return []; // it does not answer yet
    }
  };
  for (const query of ['up == 1', 'culvert_warp_tunnel_state'])
    await until(async () => (await ask(encodeURIComponent(query))).length > 0, query);
});
