// Development: builds the development profile, runs it, and builds and starts it again when a source changes.
// node data/build/dev.mjs [--real] [--inspect[=[HOST:]PORT]] [OPTION of culvert…]
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, watch } from 'node:fs';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '../..');
const build = join(root, 'build/dev/meson');
const prefix = join(root, 'build/dev/prefix');
/** Editors write a file in several steps. */
const SETTLE_MS = 150;
/** Time for the daemon to end before it is killed; it stops its own children. */
const STOP_MS = 10_000;
const SOURCES = ['daemon', 'gnome', 'wrapper', 'manifest', 'data', 'po'];

const words = process.argv.slice(2);
const inspect = words.find(word => /^--inspect(-brk)?(=|$)/.test(word));
const real = words.includes('--real');
const options = words.filter(word => word !== inspect && word !== '--real');

const say = text => console.error(`dev: ${text}`);

/** Reports whether the build directory installs here: in a moved or copied clone, it installs into the old place. */
function isSetUp() {
  const options = join(build, 'meson-info/intro-buildoptions.json');
  return existsSync(join(build, 'build.ninja')) && readFileSync(options, 'utf8').includes(JSON.stringify(prefix));
}

/** Builds into build/dev/prefix; only what changed. @returns whether it worked; the output is printed if it did not */
function compile() {
  const began = performance.now();
  const ready = isSetUp();
  if (!ready) rmSync(build, { recursive: true, force: true });
  const commands = [
    ...(ready ? [] : [['setup', build, '--prefix', prefix, '-Dprofile=development', '-Dkill_switch=disabled']]),
    ['compile', '-C', build],
    ['install', '-C', build, '--no-rebuild', '--quiet'],
  ];
  for (const command of commands) {
    // the names of its files change with their content
    if (command[0] === 'install') rmSync(join(prefix, 'share/culvert/webui'), { recursive: true, force: true });
    const { status, stdout, stderr } = spawnSync('meson', command, { cwd: root, encoding: 'utf8' });
    if (status === 0) continue;
    console.error(stdout + stderr);
    say(`meson ${command[0]} failed; what runs stays as it is until the next change.`);
    return false;
  }
  say(`built in ${((performance.now() - began) / 1000).toFixed(1)} s`);
  return true;
}

let daemon = null;
let stopping = false;

function start() {
  const state = process.env.XDG_STATE_HOME ?? join(process.env.HOME ?? '', '.local/state');
  const env = { CULVERT_EMULATOR_STATE: join(state, 'culvert-devel/emulator.json'), ...process.env };
  delete env.NODE_EXTRA_CA_CERTS; // as bin/culvert does
  const main = join(prefix, 'share/culvert/daemon/main.cjs');
  const args = ['--enable-source-maps', ...(inspect ? [inspect] : []), main, ...(real ? [] : ['--demo']), ...options];
  daemon = spawn(process.execPath, args, { stdio: 'inherit', env });
  const started = daemon;
  daemon.once('exit', (code, signal) => {
    if (daemon === started) daemon = null;
    if (!stopping && code !== 0)
      say(`The daemon ended (${signal ?? `exit status ${code}`}); a change starts it again.`);
  });
}

async function stop() {
  const running = daemon;
  if (!running) return;
  stopping = true;
  const ended = new Promise(done => running.once('exit', done));
  running.kill('SIGTERM');
  const timer = setTimeout(() => running.kill('SIGKILL'), STOP_MS);
  await ended;
  clearTimeout(timer);
  stopping = false;
}

let changed = false;
let working = false;
let ending = false;

/** Builds and starts again until nothing has changed in between. */
async function refresh() {
  if (working) return;
  working = true;
  while (changed) {
    changed = false;
    if (!compile()) continue;
    await stop();
    if (!ending) start();
  }
  working = false;
}

if (!compile()) process.exit(1);
start();
say(`runs beside an installed Culvert; control it with ${join(prefix, 'bin/culvert')}`);
say(`watching ${SOURCES.join(', ')}; Ctrl+C ends it`);
let timer;
for (const folder of SOURCES)
  watch(join(root, folder), { recursive: true }, () => {
    changed = true;
    clearTimeout(timer);
    timer = setTimeout(() => void refresh(), SETTLE_MS);
  });
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
  process.once(signal, async () => {
    ending = true;
    await stop();
    process.exit(0);
  });
