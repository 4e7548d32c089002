// Sets, reverts and restores a document through the tunnel CLI of each generation, including one without ranges.
import assert from 'node:assert/strict';
import { chmodSync, existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { openChanges } from '../../../daemon/changes/index.ts';
import type { FeatureContext } from '../../../daemon/controls.ts';
import type { Problem } from '../../../daemon/problem.ts';
import { createRoutes } from '../../../daemon/routes/routes-service.ts';
import { createLog, createState } from '../../../daemon/state/store.ts';
import { paths as pathsOf } from '../../../daemon/system/paths.ts';
import { createTunnel } from '../../../daemon/warp/tunnel.ts';
import { emulator } from '../../support/daemon/emulator.ts';
import { noKillSwitch } from '../../support/daemon/no-killswitch.ts';
import { temporary } from '../../support/temporary.ts';
import { until } from '../../support/until.ts';

async function setUp(t: TestContext, version: string, wrap?: (bin: string) => string) {
  const cli = await emulator({ version });
  const running: (() => Promise<unknown>)[] = [];
  t.after(async () => {
    for (const stop of running) await stop();
    await cli.remove();
  });
  const home = temporary(t, 'generations');
  const bin = join(home, 'warp-cli');
  writeFileSync(bin, `#!/bin/sh\n${wrap?.(cli.bin) ?? `exec '${cli.bin}' "$@"`}\n`);
  chmodSync(bin, 0o755);
  const paths = pathsOf({ HOME: home });
  const boot = () => {
    const state = createState({ available: false, path: null, version: null, emulated: true });
    const log = createLog({ capacity: 500 });
    const tunnel = createTunnel({
      cli: bin,
      emulated: true,
      env: cli.env,
      acceptedTerms: paths.acceptedTerms,
      state,
      log,
    });
    const said: string[] = [];
    const context = { paths, state, tunnel, say: (line: string) => void said.push(line) };
    const changes = openChanges(context as unknown as FeatureContext, {
      routes: async () => routes,
      killSwitch: noKillSwitch,
    });
    const routes = createRoutes(context, changes);
    tunnel.start();
    changes.start();
    const stop = () => Promise.all([changes.stop(), tunnel.stop()]);
    running.push(stop);
    return { routes, changes, log, state, stop };
  };
  return { boot, cli, home, paths };
}

/** A range that becomes narrower, and one entry of each kind more. */
const changed = (document: string) =>
  `${document.replace('10.0.0.0/8', '10.0.0.0/9')}203.0.113.9\n2001:db8::/32\n*.example.com\n`;
const valuesOf = (found: { entries: { value: string }[] }) => found.entries.map(({ value }) => value).sort();

for (const version of ['2024.9.346', '2024.12.554', '2026.7.1377.0'])
  test(`${version}: sets a document, and undo sets the list before`, async t => {
    const { boot } = await setUp(t, version);
    const { routes, log } = boot();
    const { document, ...read } = await routes.read();
    const before = valuesOf(read);
    const { calls } = await routes.preview({ document: changed(document) });
    const { added, removed } = await routes.apply({ document: changed(document) });
    assert.deepEqual([added, removed, calls], [4, 1, 5]);
    const expected = [...before.filter(value => value !== '10.0.0.0/8'), '10.0.0.0/9', '203.0.113.9'];
    assert.deepEqual(valuesOf(await routes.read()), [...expected, '2001:db8::/32', '*.example.com'].sort());
    const actions = () => log.since(0, 500).filter(({ source }) => source === 'action').length;
    assert.equal(actions(), calls, 'the preview counts the runs');
    await routes.undo({});
    assert.deepEqual(valuesOf(await routes.read()), before);
  });

test('a generation without ranges refuses them, and the list stays as it was', async t => {
  const lacking = (bin: string) =>
    `case "$*" in *-range*) echo "error: unrecognized subcommand 'add-range'" >&2; exit 2;; esac\nexec '${bin}' "$@"`;
  const { boot } = await setUp(t, '2024.9.346', lacking);
  const { routes } = boot();
  const before = await routes.read();
  const document = `${before.document}203.0.113.9\n198.51.100.0/24\n`;
  await assert.rejects(routes.apply({ document }), (error: Problem) => {
    assert.deepEqual(
      [error.code, error.extras.hint?.slice(0, 31)],
      ['unsupported-by-cli', 'The list is as it was before. I'],
    );
    return true;
  });
  assert.deepEqual(valuesOf(await routes.read()), valuesOf(before));
  await routes.apply({ document: `${before.document}203.0.113.9\n` });
  assert.ok(valuesOf(await routes.read()).includes('203.0.113.9'), 'addresses are still set');
});

test('a service that goes away in the middle gets the list before as soon as it is back, from the next daemon', async t => {
  const { boot, cli, home, paths } = await setUp(t, '2026.7.1377.0', bin => {
    const down = '"$HOME/down"';
    // the fourth run that changes something finds no service, and none after it
    return `case "$*" in *"ip add"*|*"ip remove"*|*"host add"*) echo >> "$HOME/runs"; [ "$(wc -l < "$HOME/runs")" -lt 4 ] || : > ${down};; esac
[ ! -e ${down} ] || { echo 'Unable to connect to the CloudflareWARP daemon: No such file or directory (os error 2)' >&2; exit 1; }
exec '${bin}' "$@"`;
  });
  cli.env.HOME = home;
  const first = boot();
  const { document, ...read } = await first.routes.read();
  const before = valuesOf(read);
  await assert.rejects(first.routes.apply({ document: changed(document) }), { code: 'service-stopped' });
  await first.stop();
  assert.ok(existsSync(paths.changes));
  rmSync(join(home, 'down'));
  writeFileSync(join(home, 'runs'), '');
  const second = boot();
  // further runs must not end the service again
  const unlimited = setInterval(() => writeFileSync(join(home, 'runs'), ''), 5);
  t.after(() => clearInterval(unlimited));
  await until(() => !existsSync(paths.changes) || rmSync(join(home, 'down'), { force: true }));
  assert.deepEqual(valuesOf(await second.routes.read()), before);
});
