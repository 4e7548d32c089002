// Runs Culvert's module in real bars with the documented configuration: checks their display in each state, and their clicks.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createDaemon, type FakeDaemon } from '../support/gnome/daemon.ts';
import { type Desktop, missing, openDesktop, type Running } from '../support/gnome/desktop.ts';
import { change, KILL_SWITCH } from '../support/gnome/initial.ts';
import { until } from '../support/until.ts';
import { failureOf, type Step } from './visit.ts';

const PREFIX = resolve('build/prefix');
const SIZE = '800x60';

interface Bar {
  name: string;
  needs: string[];
  /** Heading of its snippet in the documentation. */
  heading: string;
  /** Starts the bar with the snippet. */
  start(desktop: Desktop, snippet: string): Promise<Running>;
  picture(desktop: Desktop, file: string): void;
  /** Clicks on the module. @param button 1 left, 2 middle, 3 right */
  click(desktop: Desktop, button: number): void;
}

const run = ({ env }: Desktop, program: string, ...words: string[]) =>
  execFileSync(program, words, { env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });

function write(desktop: Desktop, name: string, text: string): string {
  const file = join(desktop.directory, name);
  writeFileSync(file, text);
  return file;
}

/** @param at horizontal position of the module on the screen */
const onX11 = (at: string): Pick<Bar, 'picture' | 'click'> => ({
  picture: (desktop, file) => void run(desktop, 'import', '-window', 'root', file),
  click: (desktop, button) => void run(desktop, 'xdotool', 'mousemove', at, '8', 'click', String(button)),
});

/**
 * Starts Sway for Waybar, in a window so that it has a pointer. Sway refuses to run as root, so it runs as another user;
 * root's programs can still use it.
 */
async function startSway(desktop: Desktop): Promise<void> {
  const runtime = join(desktop.directory, 'sway');
  mkdirSync(runtime);
  chmodSync(runtime, 0o777);
  chmodSync(desktop.directory, 0o755);
  const user = process.getuid!() === 0 ? ['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups'] : [];
  const options = ['WLR_BACKENDS=x11', 'WLR_RENDERER=pixman', `XDG_RUNTIME_DIR=${runtime}`, `HOME=${runtime}`];
  const [program, ...words] = [...user, 'env', ...options, 'sway', '-c', write(desktop, 'sway.conf', '')];
  const sway = desktop.start(program!, words, { XDG_CONFIG_HOME: undefined });
  Object.assign(desktop.env, { WAYLAND_DISPLAY: join(runtime, 'wayland-1'), GDK_BACKEND: 'wayland' });
  await until(
    () => existsSync(desktop.env.WAYLAND_DISPLAY!),
    () => `sway: ${sway.output()}`,
  );
}

const BARS: readonly Bar[] = [
  {
    ...onX11('30'),
    name: 'waybar',
    needs: ['waybar', 'sway', 'setpriv'],
    heading: 'Waybar',
    async start(desktop, snippet) {
      await startSway(desktop);
      const configuration = `{"layer": "top", "height": 24, "modules-left": ["custom/culvert"],\n${snippet}}`;
      return desktop.start('waybar', ['-c', write(desktop, 'waybar.json', configuration)]);
    },
  },
  {
    ...onX11('770'),
    name: 'i3bar',
    needs: ['i3', 'i3bar'],
    heading: 'i3bar and swaybar',
    async start(desktop, snippet) {
      const bar = snippet.replace('{', '{\n  position top');
      const configuration = `# i3 config file (v4)\nfont pango:DejaVu Sans 10\n${bar}`;
      return desktop.start('i3', ['-c', write(desktop, 'i3.conf', configuration)]);
    },
  },
  {
    ...onX11('30'),
    name: 'polybar',
    needs: ['polybar'],
    heading: 'Polybar',
    async start(desktop, snippet) {
      const bar = '[bar/top]\nwidth = 100%\nheight = 24\nfont-0 = DejaVu Sans:size=10\nmodules-left = culvert\n';
      return desktop.start('polybar', ['-c', write(desktop, 'polybar.ini', `${bar}${snippet}`), 'top']);
    },
  },
];

/** Visits each bar. The parameters are like those of `visit` (visit.ts). */
export async function visitBars(pictures: string, report: (step: Step) => void): Promise<void> {
  for (const bar of BARS) {
    const absent = missing(...bar.needs);
    const failure = absent || (await failureOf(visitBar(bar, pictures)));
    report({ name: `${bar.name} shows each state, and its clicks send the documented actions`, failure });
  }
}

/** The first code block below a heading. */
function snippetOf(heading: string): string {
  const text = readFileSync('data/doc/bars.md', 'utf8');
  return /```\w*\n(.*?)```/s.exec(text.slice(text.indexOf(`## ${heading}\n`)))![1]!;
}

async function visitBar(bar: Bar, pictures: string): Promise<void> {
  const desktop = await openDesktop(SIZE);
  const daemon = createDaemon(desktop.socket);
  try {
    desktop.env.PATH = `${desktop.directory}:${desktop.env.PATH}`;
    // without arguments, culvert opens the window, which other visits test
    const called = write(desktop, 'called', '');
    const script = `#!/bin/sh\nif [ $# -eq 0 ]; then echo window >> '${called}'; else exec '${PREFIX}/bin/culvert' "$@"; fi\n`;
    chmodSync(write(desktop, 'culvert', script), 0o755);
    daemon.answers['GET /api/version'] = { version: run(desktop, 'culvert', '--version').trim().split(' ')[1] };
    await daemon.listen();
    daemon.set('tunnelCli', { emulated: false });
    daemon.set('killSwitch', KILL_SWITCH);
    const program = await bar.start(desktop, snippetOf(bar.heading));
    await until(
      () => daemon.streams() > 0,
      () => `${bar.name} to follow the daemon: ${program.output()}`,
    );
    await states(bar, desktop, daemon, pictures);
    await clicks(bar, desktop, daemon);
    bar.click(desktop, 2);
    await until(() => readFileSync(called, 'utf8') === 'window\n', 'the middle click to open the window');
    assert.equal(program.child.exitCode, null, program.output());
    assert.doesNotMatch(program.output(), /syntax error|stopped unexpectedly/i);
  } finally {
    await desktop.close();
    await daemon.stop();
  }
}

const status = (state: 'connected' | 'disconnected') => ({ state, reason: null, blocked: null, raw: state });

async function states(bar: Bar, desktop: Desktop, daemon: FakeDaemon, pictures: string): Promise<void> {
  const end = new Date(Date.now() + 25 * 60_000).toISOString();
  const scenes: [name: string, set: () => unknown][] = [
    ['connected', () => daemon.set('status', status('connected'))],
    [
      'paused',
      () => {
        daemon.set('status', status('disconnected'));
        daemon.setChanges([change('connection', { value: 'off', endsAt: end })]);
      },
    ],
    [
      'blocked',
      () => {
        daemon.setChanges([]);
        daemon.set('killSwitch', { ...KILL_SWITCH, enabled: true, active: true });
      },
    ],
    ['unknown', () => daemon.crash()],
  ];
  const seen = new Set<string>();
  for (const [name, set] of scenes) {
    await set();
    const file = join(pictures, `bar-${bar.name}-${name}.png`);
    let last = '';
    const isNew = () => {
      bar.picture(desktop, file);
      // the picture no longer changes, and differs from those of earlier states
      const now = createHash('sha256').update(pixels(file)).digest('hex');
      const isSettled = now === last && !seen.has(now);
      last = now;
      return isSettled;
    };
    await until(isNew, `${bar.name} to show ${name}`, { pollMs: 700 });
    seen.add(last);
  }
  await daemon.listen();
}

const pixels = (file: string) => execFileSync('convert', [file, 'rgb:-'], { maxBuffer: 1 << 24 });

async function clicks(bar: Bar, desktop: Desktop, daemon: FakeDaemon): Promise<void> {
  daemon.set('killSwitch', KILL_SWITCH);
  daemon.onAction = ({ action }) => daemon.set('status', status(action === 'connect' ? 'connected' : 'disconnected'));
  daemon.set('status', status('connected'));
  await until(() => daemon.streams() > 0, 'the module to follow the daemon again');
  for (const [button, expected] of [
    [1, { action: 'disconnect' }],
    [1, { action: 'connect' }],
    [3, { action: 'disconnect', forSeconds: 900 }],
  ] as const) {
    const before = daemon.actions.length;
    bar.click(desktop, button);
    await until(() => daemon.actions.length > before, `a click with button ${button} on ${bar.name}`);
    assert.deepEqual(daemon.actions[before], expected, `button ${button}`);
  }
}
