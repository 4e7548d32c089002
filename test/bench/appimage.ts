// The AppImage's figures: its size, and from start to window against the installed program, mounted and unpacked.
// Exits 1 when a bar is not met. Run: ./culvert-tool build appimage, then ./culvert-tool bench appimage [rounds]
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { freePort } from '../support/ports.ts';
import { end } from './support/process.ts';
import { median, report } from './support/report.ts';

const rounds = Number(process.argv[2] ?? 5);
const image = resolve(process.env.CULVERT_TEST_APPIMAGE ?? newest());
const installed = resolve('build/prefix/bin/culvert');
for (const file of [image, installed])
  if (!existsSync(file)) throw new Error(`${file} is missing. Run: ./culvert-tool build appimage`);

const home = mkdtempSync(join(tmpdir(), 'culvert-bench-appimage-'));
const server = spawn('Xvfb', ['-noreset', '-displayfd', '3', '-screen', '0', '1000x800x24'], {
  stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
});
process.on('exit', () => {
  server.kill();
  rmSync(home, { recursive: true, force: true });
});
const [number] = await once(server.stdio[3]!, 'data');
mkdirSync(join(home, 'run'), { mode: 0o700 });
const env = {
  PATH: process.env.PATH!,
  HOME: home,
  XDG_RUNTIME_DIR: join(home, 'run'),
  DISPLAY: `:${String(number).trim()}`,
  LANG: 'C.UTF-8',
};

// every window that appears, reported by the server: nothing polls
const events = spawn('xev', ['-root', '-event', 'substructure'], { env, stdio: ['ignore', 'pipe', 'ignore'] });
let mapped = () => {};
createInterface({ input: events.stdout }).on('line', line => line.startsWith('MapNotify') && mapped());

/** Milliseconds from the start of a program to its window. */
async function start(program: string, more: Record<string, string> = {}): Promise<number> {
  const window = new Promise<void>(done => {
    mapped = done;
  });
  const begun = performance.now();
  const child = spawn(program, ['--demo', '--no-tray', '--port', String(freePort())], {
    env: { ...env, ...more },
    stdio: 'ignore',
  });
  const late = setTimeout(() => child.kill(), 30_000); // a start that shows nothing ends the benchmark, see below
  await Promise.race([
    window,
    once(child, 'exit').then(() => Promise.reject(new Error(`${program} showed no window`))),
  ]);
  const took = performance.now() - begun;
  clearTimeout(late);
  await end(child);
  return took;
}

const mountable = process.getuid?.() === 0 || fuseAnswers();
const times: Record<'installed' | 'mounted' | 'unpacked', number[]> = { installed: [], mounted: [], unpacked: [] };
for (let i = 0; i <= rounds; i++) {
  const round = {
    installed: await start(installed),
    ...(mountable ? { mounted: await start(image) } : {}),
    unpacked: await start(image, { APPIMAGE_EXTRACT_AND_RUN: '1' }),
  };
  if (i === 0) continue; // the first reads from the disk
  for (const [name, took] of Object.entries(round)) times[name as keyof typeof times].push(took);
}
events.kill();

report('size', statSync(image).size / 1e6, 85, 'MB');
const base = median(times.installed);
if (mountable)
  report(`start to window, mounted (installed ${base.toFixed(0)} ms)`, median(times.mounted) / base, 3, '×');
else console.log('- start to window, mounted: not measured, /dev/fuse is not accessible');
report('start to window, unpacked', median(times.unpacked) / base, 4, '×');
process.exit(); // takes the server along

function newest(): string {
  const images = existsSync('dist') ? readdirSync('dist').filter(name => name.endsWith('.AppImage')) : [];
  const age = (name: string) => statSync(join('dist', name)).mtimeMs;
  return join('dist', images.sort((a, b) => age(b) - age(a))[0] ?? 'culvert.AppImage');
}

function fuseAnswers(): boolean {
  return readdirSync('/dev').includes('fuse') && (statSync('/dev/fuse').mode & 0o006) === 0o006;
}
