// Measures the panel: first frame and memory against empty windows in the same run, long lists, and what it does while
// hidden; the tray after eight hours of events. Exits 1 when a bar is not met.
// Run: ./culvert-tool bench panel [rounds]
import { execFileSync } from 'node:child_process';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { FRUGAL } from '../../../daemon/launcher.ts';
import { parseDocument } from '../../../daemon/routes/document.ts';
import { preview as comparison } from '../../../daemon/routes/preview.ts';
import { formatStatusFile } from '../../../daemon/view/client/status-file.ts';
import { PAGE_NAMES } from '../../../daemon/view/page-list.ts';
import { createDaemon } from '../../support/gnome/daemon.ts';
import { openDesktop, type Running } from '../../support/gnome/desktop.ts';
import { app, logEntry, ROUTE_ANSWERS } from '../../support/gnome/initial.ts';
import { until } from '../../support/until.ts';
import { median, report, roundsOf, sized, rest as wait } from '../support/report.ts';

const ROUNDS = roundsOf(9);
const LINES = sized(10_000, 300);
const ROUTES = sized(5_000, 1_000);
const APPS = sized(1_000, 200);

const desktop = await openDesktop();
const share = join(desktop.prefix, 'share', 'culvert');
for (const name of ['hook.js', 'empty.js'])
  copyFileSync(fileURLToPath(new URL(`./${name}`, import.meta.url)), join(share, name));
writeFileSync(join(share, 'measured.js'), "import './hook.js';\nimport './panel.js';\n");
const daemon = createDaemon(desktop.socket);
await daemon.listen();
interface Line {
  frame?: number;
  ran?: number;
  text?: string;
  ms?: number;
  cpu?: number;
  worst?: number;
  worstRan?: number;
}
interface Program {
  running: Running;
  /** ms of CLOCK_MONOTONIC when it was started. */
  started: number;
  lines(): Line[];
  ask(request: object): Promise<Line>;
}

function start(file: string, ...args: string[]): Program {
  const started = performance.now() + uptimeOffset;
  // the empty window as any program starts
  const env = file === 'measured.js' ? FRUGAL : {};
  const running = desktop.start('gjs', ['-m', join(share, file), ...args], env);
  const lines = () =>
    running
      .stdout()
      .split('\n')
      .filter(line => line.startsWith('{'))
      .map(line => JSON.parse(line) as Line);
  return {
    running,
    started,
    lines,
    async ask(request) {
      const answers = () => lines().filter(({ ms }) => ms !== undefined);
      const before = answers().length;
      running.child.stdin!.write(`${JSON.stringify(request)}\n`);
      await until(
        () => answers().length > before,
        () => `an answer to ${JSON.stringify(request)}; it said ${running.output()}`,
      );
      return answers()[before]!;
    },
  };
}
/** From `performance.now` to the clock that GLib reads. */
const uptimeOffset = Number(process.hrtime.bigint()) / 1e6 - performance.now();

/** ms to the first frame, the state that it showed, and ms from it to the state that the daemon sent. */
async function open(file: string, ...args: string[]) {
  const program = start(file, ...args);
  await until(() => program.lines().length > 0, 'a frame');
  const [first] = program.lines();
  return { program, ms: first!.frame! - program.started, ran: first!.ran!, text: first!.text! };
}

async function firstFrame(): Promise<void> {
  const ratios: number[] = [];
  const live: number[] = [];
  daemon.set('status', { state: 'connected', reason: null, network: 'healthy' });
  for (let i = 0; i < ROUNDS; i++) {
    const bare = await open('empty.js', 'switcher');
    await bare.program.running.kill();
    const panel = await open('measured.js');
    await until(() => panel.program.lines().some(({ text }) => text === 'Connected'), 'the state of the daemon');
    const [first, last] = [panel.program.lines()[0]!, panel.program.lines().find(({ text }) => text === 'Connected')!];
    live.push(last.frame! - first.frame!);
    ratios.push(panel.ms / bare.ms);
    await panel.program.running.kill();
  }
  report('first frame, over a window with header bar and view switcher', median(ratios), 1.35, '×');
  report('the daemon’s state after the first frame', median(live), 80, 'ms');
  await daemon.stop();
  const silent = createServer().listen(desktop.socket);
  writeLastState();
  const { program, text } = await open('measured.js');
  report('the last known state missing in the first frame', text === 'Disconnected' ? 0 : 1, 0, '');
  await program.running.kill();
  silent.close();
  await daemon.listen();
}

/** The stored last state, which differs from the state that the daemon sends. */
function writeLastState(): void {
  const lines = { owner: '1 1', port: null, line: '', coloredLine: '', warning: null };
  const json = { summary: 'disconnected', demo: false };
  writeFileSync(
    join(desktop.directory, 'run', 'culvert', 'status'),
    formatStatusFile({ ...lines, state: 'disconnected', json }),
  );
}

function memory({ running }: Program): number {
  const rollup = readFileSync(`/proc/${running.child.pid}/smaps_rollup`, 'utf8');
  return Number(/^Pss:\s+(\d+)/m.exec(rollup)![1]) / 1024;
}

async function pages(): Promise<void> {
  daemon.apps = Array.from({ length: 60 }, (_, i) => app(`app-${i}`, `Application ${i}`));
  daemon.entries = Array.from({ length: 500 }, (_, i) => logEntry(i + 1, `warp-cli number ${i + 1}`));
  const bare = await open('empty.js');
  const panel = await open('measured.js');
  for (const page of PAGE_NAMES) {
    act(page);
    await wait(400);
  }
  await panel.program.ask({ do: 'collect' });
  await wait(500);
  report('memory (PSS) after all pages, over an empty window', memory(panel.program) / memory(bare.program), 1.8, '×');
  await bare.program.running.kill();
  act('connection');
  await wait(1_500);
  await hidden(panel.program);
  await panel.program.running.kill();
}

/** Turns the page as the tray does. */
function act(page: string): void {
  const target = ['--session', '--dest', 'org.culvert.Culvert', '--object-path', '/org/culvert/Culvert'];
  const method = ['--method', 'org.gtk.Actions.Activate', page, '[]', '{}'];
  execFileSync('gdbus', ['call', ...target, ...method], { env: desktop.env, stdio: 'ignore' });
}

/** Minimized: what the daemon is asked for, and how often the main thread wakes, both beyond the heartbeat. */
async function hidden({ running }: Program): Promise<void> {
  const id = execFileSync('xdotool', ['search', '--name', '^Culvert$'], { env: desktop.env, encoding: 'utf8' });
  execFileSync('xdotool', ['windowunmap', '--sync', id.trim().split('\n').at(-1)!], { env: desktop.env });
  // garbage of the pages is collected once, up to ten seconds after the last of them
  await wait(20_000);
  const reads = daemon.reads;
  const wakes = () =>
    Number(/^voluntary_ctxt_switches:\s+(\d+)/m.exec(readFileSync(`/proc/${running.child.pid}/status`, 'utf8'))![1]);
  const before = wakes();
  await wait(20_000);
  report('wake-ups in 20 s while the window is hidden', wakes() - before, 0, '');
  report('requests in 20 s while the window is hidden', daemon.reads - reads, 0, '');
}

/** The search for a number that the list has, key by key, and an empty one: `9`, `99`, `999`. */
function typed(count: number, before: string): string[] {
  const last = String(count - 1);
  return [...[1, 2, 3].map(keys => before + last.slice(0, keys)), ''];
}

/** In time that the main thread ran, which a machine that is not quiet does not change; the window draws on it as well. */
async function lists(): Promise<void> {
  daemon.apps = Array.from({ length: APPS }, (_, i) => app(`app-${i}`, `Application ${i}`));
  daemon.entries = Array.from({ length: LINES }, (_, i) => logEntry(i + 1, `warp-cli number ${i + 1}`));
  const hosts = Array.from({ length: ROUTES }, (_, i) => ({ value: `host-${i}.example.com`, description: null }));
  daemon.setRoutes({ mode: 'exclude', ips: [], hosts });
  const { program } = await open('measured.js');
  await until(() => daemon.streams() > 0, 'the stream');
  const cases: [name: string, page: string, keys: string[]][] = [
    [`${APPS} apps`, 'apps', typed(APPS, '')],
    [`${ROUTES} routes`, 'routes', typed(ROUTES, 'host-')],
    [`${LINES} log lines`, 'log', typed(LINES, '')],
  ];
  for (const [name, page, keys] of cases) {
    report(`${name}: opening`, (await program.ask({ do: 'open', page })).cpu!, 300, 'ms');
    await wait(1_000);
    report(`${name}: longest frame while scrolling`, (await program.ask({ do: 'scroll' })).worstRan!, 50, 'ms');
    let slowest = 0;
    for (const text of keys) {
      slowest = Math.max(slowest, (await program.ask({ do: 'search', text })).cpu!);
      await wait(300);
    }
    report(`${name}: search, per key`, slowest, 100, 'ms');
    report(`${name}: longest frame while searching`, (await program.ask({ do: 'worst' })).worstRan!, 50, 'ms');
  }
  await program.running.kill();
}

/** From the click to the painted difference: the text goes to the daemon, its answer comes back, and is shown. */
async function preview(): Promise<void> {
  const networks = (first: number) =>
    Array.from({ length: ROUTES }, (_, i) => `20.${(first + i) >> 8}.${(first + i) & 255}.0/24`);
  const [set, wanted] = [networks(0), networks(ROUTES / 2)];
  const asRoute = (value: string) => ({ value, description: null });
  const document = parseDocument(wanted.join('\n'));
  const found = comparison(document, { mode: 'exclude', ips: set.map(asRoute), hosts: [] });
  const wire = ({ kind, value }: { kind: string; value: string }) => ({ kind, value });
  const answer = {
    ok: true,
    revision: 'a',
    calls: 2,
    ...found,
    add: found.add.map(wire),
    remove: found.remove.map(wire),
  };
  daemon.answers = {
    ...ROUTE_ANSWERS,
    'GET /api/routes': { ...ROUTE_ANSWERS['GET /api/routes'], document: set.join('\n') },
  };
  daemon.onAsked = () => answer;
  const { program } = await open('measured.js');
  await until(() => daemon.streams() > 0, 'the stream');
  act('editor');
  await wait(2_000);
  const figures: number[] = [];
  for (let i = 0; i < ROUNDS; i++) {
    await program.ask({ do: 'edit', text: `${wanted.join('\n')}\n# ${i}` });
    await wait(500);
    figures.push((await program.ask({ do: 'press', label: 'Preview', until: `+ ${found.add[0]!.value}` })).cpu!);
  }
  report(`preview of ${ROUTES} routes against ${ROUTES}`, median(figures), 50, 'ms');
  await program.running.kill();
}

/** Eight hours: what changes each few minutes, and the figures that the tray does not ask for. */
async function tray(): Promise<void> {
  const rss = ({ child }: Running) =>
    Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))![1]) / 1024;
  const bare = desktop.start('gjs', ['-c', 'imports.gi.GLib.MainLoop.new(null, false).run()'], FRUGAL);
  const running = desktop.start('gjs', ['-m', join(share, 'tray.js')], FRUGAL);
  await until(() => daemon.streams() === 1, 'the stream');
  await wait(4_000);
  // some changes in a row, then rest; the hours themselves bring nothing
  const hour = async () => {
    for (let i = 0; i < sized(8, 1); i++) {
      daemon.set('status', { state: 'connecting', reason: null });
      daemon.set('settings', { Mode: i % 2 ? 'warp' : 'doh' });
      daemon.set('status', { state: 'connected', network: 'healthy' });
      daemon.set('status', { network: i % 2 ? 'unstable' : 'healthy' });
      await wait(1_700);
    }
  };
  await hour();
  const early = rss(running);
  for (let i = 1; i < 8; i++) await hour();
  await wait(2_000);
  report('tray after eight hours of events, over a bare gjs', rss(running) / rss(bare), 1.2, '×');
  report('tray: growth from the first to the eighth hour', rss(running) - early, 1, 'MB');
}

const parts: Record<string, () => Promise<void>> = { firstFrame, pages, lists, preview, tray };
const chosen = process.argv[3];
try {
  for (const [name, run] of Object.entries(parts)) if (!chosen || chosen === name) await run();
} finally {
  await desktop.close();
  await daemon.stop();
}
process.exit();
