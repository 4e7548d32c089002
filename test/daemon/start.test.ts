// Modules that the start of the daemon, and an idle daemon, must not load.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { bundledOnce } from '../support/built.ts';
import { freePort } from '../support/ports.ts';
import { temporary } from '../support/temporary.ts';
import { until } from '../support/until.ts';

/** Each of them takes longer to load than all of the daemon's own code. */
const COSTLY = ['crypto', 'tls', 'https', 'http2', 'zlib', 'worker_threads'];

/** Packages that take memory of every daemon once they are loaded, and a text that only their code has. */
const HEAVY = { zod: '$ZodType', 'ipaddr.js': 'ipaddr: ', koa: 'koa:application' };

/** A text that only the code of the tool accounts has, the last feature that every start begins. */
const BEGUN = 'providers.toml';

test('the daemon starts without what only some requests need', t => {
  const directory = temporary(t);
  const hook = join(directory, 'hook.cjs');
  writeFileSync(
    hook,
    `const { writeSync } = require('fs');
    process.on('exit', () => writeSync(1, '\\n' + process.moduleLoadList.join('\\n')));`,
  );
  // an option that it does not know ends it right after it is loaded
  const words = ['--require', hook, join(bundledOnce('daemon'), 'main.cjs'), '--no-such-option'];
  const loaded = spawnSync(process.execPath, words, { encoding: 'utf8' }).stdout.split('\n');
  assert.ok(loaded.includes('NativeModule http'), 'it loads what a start loads');
  assert.deepEqual(
    COSTLY.filter(name => loaded.includes(`NativeModule ${name}`)),
    [],
  );
});

test('an idle daemon never loads the packages that only answers need', async t => {
  const directory = temporary(t);
  const bundle = bundledOnce('daemon');
  const hook = join(directory, 'hook.cjs');
  const report = join(directory, 'loaded');
  writeFileSync(
    hook,
    `const { renameSync, writeFileSync } = require('fs');
    const report = ${JSON.stringify(report)};
    setInterval(() => {
      writeFileSync(report + '.new', Object.keys(require.cache).join('\\n'));
      renameSync(report + '.new', report);
    }, 20).unref();`,
  );
  const session = join(directory, 'session');
  mkdirSync(session, { mode: 0o700 });
  // as the first steps and the switches of the settings leave it
  mkdirSync(join(directory, '.config/culvert'), { recursive: true });
  writeFileSync(
    join(directory, '.config/culvert/config.json'),
    JSON.stringify({ ui: { firstSteps: false }, tray: { autostart: true }, webui: { enabled: true } }),
  );
  const flags = ['--no-tray', '--no-panel', '--no-open', '--port', String(freePort())];
  // no program is found, and no setting is one of the environment, which is checked as a file is
  const env = { PATH: directory, HOME: directory, XDG_RUNTIME_DIR: session };
  const daemon = spawn(process.execPath, ['--require', hook, join(bundle, 'main.cjs'), ...flags], {
    env,
    stdio: 'ignore',
  });
  const ended = once(daemon, 'exit');
  t.after(() => ended);
  t.after(() => daemon.kill());
  const textOf = (files: readonly string[]) => files.map(file => readFileSync(file, 'utf8')).join('\n');
  const loaded = () => {
    try {
      return readFileSync(report, 'utf8')
        .split('\n')
        .filter(file => file.startsWith(bundle));
    } catch {
      return []; // not written yet
    }
  };
  await until(
    () => textOf(loaded()).includes(BEGUN),
    () => `the features in ${loaded().join(' ')}`,
  );
  const everything = textOf(readdirSync(bundle).map(name => join(bundle, name)));
  for (const [name, mark] of Object.entries(HEAVY)) {
    assert.ok(everything.includes(mark), `${name} is recognized`);
    assert.ok(!textOf(loaded()).includes(mark), `${name} is not loaded`);
  }
});
