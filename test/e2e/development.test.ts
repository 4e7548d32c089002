// A development build runs next to an installed Culvert of the same user without touching it.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { bundleGjs, bundlePanel, bundleProgram } from '../../data/build/bundle.mjs';
import { profiles } from '../../data/build/profiles.mjs';
import { bundleWebui } from '../../data/build/webui.mjs';
import { createHome, getJson, type Home, prefix, startDemo } from '../support/e2e/culvert.ts';
import { freePort } from '../support/ports.ts';
import { temporary } from '../support/temporary.ts';
import { until } from '../support/until.ts';

const define = { __VERSION__: '"9.9.9"', ...profiles.development };

/** Starts a daemon of the development profile in a home, with the emulator of the ordinary build. */
async function startDevelopment(t: TestContext, home: Home) {
  const tree = temporary(t, 'development');
  mkdirSync(join(tree, 'bin'));
  cpSync(join(prefix, 'bin/culvert-emulator'), join(tree, 'bin/culvert-emulator'));
  cpSync(join(prefix, 'share/culvert/emulator'), join(tree, 'share/culvert/emulator'), { recursive: true });
  // in place of the profile's port, on which the developer's own copy may run
  const port = freePort();
  bundleProgram('daemon', join(tree, 'share/culvert/daemon'), { ...define, __PORT__: String(port) }, true);
  const main = join(tree, 'share/culvert/daemon/main.cjs');
  const flags = ['--demo', '--no-tray', '--no-panel', '--no-open'];
  const child = spawn(process.execPath, ['--enable-source-maps', main, ...flags], {
    env: { ...home.env, CULVERT_EMULATOR_STATE: join(home.directory, 'emulator.json') },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  home.defer(async () => {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
  });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
  await until(
    () => said.includes(`answers on http://127.0.0.1:${port}/`),
    () => `it answers on port ${port}: ${said}`,
  );
  return { child, port };
}

test('a development build and an installed one run side by side, each with its own files and port', async t => {
  const home = createHome(t);
  const installed = await startDemo(home);
  const development = await startDevelopment(t, home);
  assert.ok(Number(profiles.development.__PORT__) >= 4173 + 30, 'no port that an installed one may take');
  const healths = [await getJson(installed.port, '/api/health'), await getJson(development.port, '/api/health')];
  assert.deepEqual(
    healths.map(({ pid }) => pid),
    [installed.child.pid, development.child.pid],
  );
  const session = join(home.directory, 'session');
  for (const name of ['culvert', 'culvert-devel'])
    for (const file of ['api.sock', 'daemon.json', 'lock'])
      assert.ok(existsSync(join(session, name, file)), `${name}/${file}`);

  development.child.kill('SIGTERM');
  await once(development.child, 'exit');
  assert.equal(existsSync(join(session, 'culvert-devel/api.sock')), false);
  assert.equal((await getJson(installed.port, '/api/health')).pid, installed.child.pid);
});

test('a development build has source maps that name the files of the tree, and its own names for the desktop', async t => {
  const tree = temporary(t, 'development');
  bundleProgram('cli', join(tree, 'cli'), define, true);
  const map = JSON.parse(readFileSync(join(tree, 'cli/main.cjs.map'), 'utf8')) as { sources: string[] };
  assert.ok(map.sources.some(source => source.endsWith('daemon/cli/main.ts')));
  bundleGjs(['tray'], tree, define, true);
  bundlePanel(tree, define, true);
  await bundleWebui(join(tree, 'webui'), define, true);
  // in the script itself: the build installs no file next to it
  const sourcesOf = (script: string): string[] => {
    const text = readFileSync(join(tree, script), 'utf8');
    const [, map] = /^\/\/# sourceMappingURL=data:application\/json;base64,(.+)$/m.exec(text)!;
    return (JSON.parse(Buffer.from(map!, 'base64').toString()) as { sources: string[] }).sources;
  };
  const scripts = readdirSync(join(tree, 'webui')).filter(name => name.endsWith('.js'));
  for (const [script, source] of [
    ['panel.js', 'gnome/panel/window/window.ts'],
    ['panel-further-pages.js', 'gnome/panel/pages/log-page.ts'],
    ['tray.js', 'gnome/session/tray.ts'],
  ] as const)
    assert.ok(
      sourcesOf(script).some(each => each.endsWith(source)),
      `${script}: ${sourcesOf(script).join(' ')}`,
    );
  const ofPage = scripts.flatMap(name => sourcesOf(`webui/${name}`));
  for (const source of ['daemon/webui/shell.tsx', 'daemon/webui/pages/log.tsx'])
    assert.ok(
      ofPage.some(each => each.endsWith(source)),
      ofPage.join(' '),
    );
  for (const program of ['panel-chunk', 'tray']) {
    assert.match(readFileSync(join(tree, `${program}.js`), 'utf8'), /org\.culvert\.Culvert\.Devel/);
  }
});

test('a development build of culvert-wrap has its own accounts, originals and state', t => {
  const home = createHome(t);
  const tree = temporary(t, 'development');
  bundleProgram('wrap', join(tree, 'wrap'), define, true);
  const pathsOf = (program: string[]) => {
    const text = execFileSync(process.execPath, [...program, 'config', '--json'], { env: home.env, encoding: 'utf8' });
    return Object.values((JSON.parse(text) as { paths: Record<string, string> }).paths);
  };
  const own = pathsOf([join(tree, 'wrap/main.cjs')]);
  const installed = pathsOf([join(prefix, 'share/culvert/wrap/main.cjs')]);
  assert.ok(installed.every(path => path.includes('/culvert-wrap')));
  assert.ok(own.every(path => path.includes('/culvert-devel-wrap')));
});
