// Takes the README's pictures anew, from the present source: node --import tsx test/gnome/screenshots.ts [NAME…]
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Snapshot } from '../../daemon/api/schema.ts';
import { createDaemon, type FakeDaemon } from './daemon.ts';
import { type Ask, type Desktop, missing, openDesktop, startDriver, until } from './desktop.ts';
import { NO_KILL_SWITCH, noTunnel, noUpdate } from './initial.ts';
import { APPS, SCENES, type Scene, someEntries } from './scenes.ts';
import { XFCE_PANEL } from './xfce.ts';

const OUT = fileURLToPath(new URL('../../data/screenshots', import.meta.url));
const TALL = [440, 760] as const;
/** Of the screen. */
const SIDE = 1300;

const wanted = process.argv.slice(2);
const absent = missing('xdotool', 'import', 'convert', 'xfce4-panel');
if (absent) throw new Error(`pictures can't be taken: ${absent}`);
mkdirSync(OUT, { recursive: true });
await takePanel();
if (!wanted.length || wanted.includes('tray')) await takeTray();
process.exit();

async function takePanel(): Promise<void> {
  const desktop = await openDesktop(`${SIDE}x${SIDE}`);
  const daemon = createDaemon(desktop.socket);
  await daemon.listen();
  desktop.start('xfwm4', ['--compositor=off']);
  const ask = startDriver(desktop, 'driver.py');
  // the accessibility bus starts on first use; a window that comes up meanwhile may miss it
  await ask({ do: 'names' });
  desktop.start('gjs', ['-m', join(desktop.prefix, 'share', 'culvert', 'panel.js')]);
  await ask({ do: 'find', name: 'Disconnected' });
  const window = tool(desktop, 'xdotool', 'search', '--onlyvisible', '--name', '^Culvert$').split('\n').at(-1)!;
  for (const [name, scene] of Object.entries(SCENES)) {
    if (wanted.length && !wanted.includes(name)) continue;
    for (const theme of scene.themes ?? ['light', 'dark']) {
      const [width, height] = scene.size ?? TALL;
      tool(desktop, 'xdotool', 'windowsize', '--sync', window, String(width), String(height));
      // a dialog comes up in the middle of the screen
      tool(desktop, 'xdotool', 'windowmove', window, String((SIDE - width) / 2), String((SIDE - height) / 2));
      play(daemon, scene, theme);
      await turn(ask, scene);
      await ask({ do: 'find', name: scene.shows });
      await still(desktop, scene.close ? 'root' : window, join(OUT, `panel-${name}-${theme}.png`), window);
      if (scene.close) tool(desktop, 'xdotool', 'key', scene.close);
    }
  }
  await desktop.close();
  await daemon.stop();
}

/** To the scene's page, and whatever is pressed there; without the keyboard, which would make the focus visible. */
async function turn(ask: Ask, { page = 'Connection', press = [] }: Scene): Promise<void> {
  for (const name of [page, ...press]) await ask({ do: 'press', name });
}

function play(daemon: FakeDaemon, scene: Scene, theme: 'light' | 'dark'): void {
  const { status, page, emulated = false, mode = 'warp', killSwitch, paused, update, entries } = scene;
  const seconds = status.state === 'connecting' ? 2 : 3723;
  const since = new Date(Date.now() - 1000 * seconds).toISOString();
  daemon.apps = APPS;
  daemon.onAction = ({ action }) => {
    if (action === 'enableLocalProxy') daemon.set('settings', { Mode: 'proxy' });
  };
  daemon.setConfig({ ui: { theme } });
  daemon.set('tunnelCli', { emulated });
  daemon.set('settings', { Mode: mode });
  // half a second more, since the clock counts while the picture is taken
  const pausedUntil = paused === undefined ? null : new Date(Date.now() + 1000 * paused + 500).toISOString();
  daemon.set('killSwitch', { ...NO_KILL_SWITCH, ...killSwitch, pausedUntil });
  daemon.setUpdate({ ...noUpdate(), ...update });
  daemon.entries = entries ?? someEntries();
  // a console that is open reads the log again when the stream is back
  if (page === 'Console') daemon.cut();
  // through another state, so that the curve starts anew
  daemon.set('status', { state: 'disconnected', blocked: null });
  const plain = { state: 'unable', reason: null, network: null, blocked: null, since, raw: 'x' } as const;
  daemon.set('status', { ...plain, ...status });
  daemon.set('tunnel', noTunnel());
  if (status.state !== 'connected') return;
  for (let i = 0; i < 60; i++) daemon.set('tunnel', figures(i, mode));
}

/** Five minutes of figures, with one hiccup. */
function figures(i: number, mode: string): Snapshot['tunnel'] {
  const latencyMs = 12 + Math.round(3 * Math.sin(i / 5) + 2 * Math.sin(i * 1.7) + (i === 41 ? 16 : 0));
  return {
    ...{
      protocol: 'MASQUE (HTTPS via UDP)',
      proxyPort: mode === 'proxy' ? 40000 : null,
      endpoints: ['162.159.198.2'],
      colo: 'MAD',
    },
    ...{ handshakeAgeSeconds: 100 + 5 * i, bytesSent: 2.8e6 + i * 9e3, bytesReceived: 142e6 + i * 2e5 },
    ...{ latencyMs, loss: 0.0002, at: new Date(Date.now() - 5000 * (60 - i)).toISOString() },
  };
}

/** A real panel, the tray in it, and its menu opened by a real click. */
async function takeTray(): Promise<void> {
  const desktop = await openDesktop('240x176');
  const daemon = createDaemon(desktop.socket);
  await daemon.listen();
  const settings = join(desktop.env.XDG_CONFIG_HOME!, 'xfce4', 'xfconf', 'xfce-perchannel-xml');
  mkdirSync(settings, { recursive: true });
  writeFileSync(join(settings, 'xfce4-panel.xml'), XFCE_PANEL);
  desktop.start('xfwm4', ['--compositor=off']);
  desktop.start('xfce4-panel', ['--disable-wm-check']);
  desktop.start('gjs', ['-m', join(desktop.prefix, 'share', 'culvert', 'tray.js')]);
  await until('the stream', () => daemon.streams() === 1);
  for (const [name, scene] of [
    ['connected', SCENES.connected!],
    ['disconnected', SCENES.disconnected!],
  ] as const) {
    play(daemon, scene, 'light');
    const host = () => tool(desktop, 'xdotool', 'search', '--class', 'xfce4-panel');
    await until('the panel', () => host());
    await settled(desktop, 'root');
    tool(desktop, 'xdotool', 'mousemove', '20', '20', 'click', '3');
    await settled(desktop, 'root');
    await still(desktop, 'root', join(OUT, `tray-${name}.png`));
    tool(desktop, 'xdotool', 'key', 'Escape');
  }
  await desktop.close();
  await daemon.stop();
}

/** Waits for two equal pictures a moment apart, as transitions have no end that could be asked for. */
async function settled(desktop: Desktop, window: string): Promise<void> {
  const look = () => tool(desktop, 'sh', '-c', `import -window ${window} rgb:- | md5sum`);
  let before = '';
  let same = 0;
  await until('a still picture', async () => {
    await new Promise(resolve => setTimeout(resolve, 200));
    const now = look();
    same = now === before ? same + 1 : 0;
    before = now;
    // a clock ticks once a second
    return same >= 2;
  });
}

/** @param within the window whose place is cut out of a larger picture. */
async function still(desktop: Desktop, window: string, file: string, within?: string): Promise<void> {
  await settled(desktop, window);
  const crop = within && within !== window ? ['-crop', place(desktop, within)] : [];
  tool(desktop, 'import', '-window', window, ...crop, '+repage', '-strip', '-define', 'png:compression-level=9', file);
  console.log(file);
}

function tool(desktop: Desktop, command: string, ...args: string[]): string {
  try {
    return execFileSync(command, args, {
      env: desktop.env,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    }).trim();
  } catch (error) {
    if (command === 'xdotool' && args[0] === 'search') return '';
    throw error;
  }
}

/** As ImageMagick writes it: `440x760+0+0`. */
function place(desktop: Desktop, window: string): string {
  const geometry = tool(desktop, 'xdotool', 'getwindowgeometry', '--shell', window);
  const value = (name: string) => new RegExp(`^${name}=(\\d+)$`, 'm').exec(geometry)![1];
  return `${value('WIDTH')}x${value('HEIGHT')}+${value('X')}+${value('Y')}`;
}
