// Takes a picture of every page: light, dark, narrow, wide, in high contrast, with large text, in German and
// in Arabic (narrow and wide), and in Japanese, which needs a font such as that of fonts-noto-cjk.
// The variant "readme" takes the README's pictures of the window instead.
// Run after ./culvert-tool build: node --import tsx test/gnome/pictures.ts DIRECTORY [VARIANT…]
import { execFile } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { NetworkRule, NetworksState } from '../../daemon/api/networks.ts';
import { PAGE_NAMES, type PageName } from '../../daemon/view/page-list.ts';
import { installCommand, installSteps } from '../../daemon/warp/cli/install-steps.ts';
import { createDaemon, type FakeDaemon } from '../support/gnome/daemon.ts';
import { openDesktop, talk } from '../support/gnome/desktop.ts';
import {
  app,
  change,
  checkResult,
  KILL_SWITCH,
  logEntry,
  MODE_FIX,
  ROUTE_ANSWERS,
  ROUTE_PREVIEW,
  recorded,
  richTool,
  tool,
} from '../support/gnome/initial.ts';
import { type Stage, stageOf } from '../support/gnome/stage.ts';
import { link } from '../support/networks/mocks.ts';

const run = promisify(execFile);

interface Variant {
  size: [width: number, height: number];
  theme?: 'light' | 'dark';
  locale?: string;
  env?: NodeJS.ProcessEnv;
  /** Scale of the text. */
  text?: number;
}
const NORMAL: [number, number] = [440, 760];
const NARROW: [number, number] = [360, 640];
const WIDE: [number, number] = [1400, 900];
/** Sizes of the README's pictures, which stand side by side. */
const README_WIDE: [number, number] = [1040, 700];
const README_NARROW: [number, number] = [400, 700];
const VARIANTS: Record<string, Variant> = {
  light: { size: NORMAL },
  dark: { size: NORMAL, theme: 'dark' },
  narrow: { size: NARROW },
  middle: { size: [720, 760] },
  broad: { size: [1100, 800] },
  wide: { size: WIDE },
  contrast: { size: NORMAL, env: { ADW_DEBUG_HIGH_CONTRAST: '1' } },
  large: { size: NORMAL, text: 1.6 },
  german: { size: NARROW, locale: 'de' },
  'german-wide': { size: WIDE, locale: 'de' },
  arabic: { size: NARROW, locale: 'ar' },
  'arabic-wide': { size: WIDE, locale: 'ar' },
  japanese: { size: NORMAL, locale: 'ja' },
};

/** Text that a page shows once it has read its data. */
const READ: Partial<Record<PageName, string>> = {
  history: 'Amsterdam',
  apps: 'Firefox',
  log: 'tunnel host add example.com',
  checks: 'WARP can’t read a search domain with an invalid character.',
  updates: '0.2.7',
  tools: 'team-a',
  certificate: 'Git',
};

/** A Wi-Fi network whose rule pauses WARP, and rules for other networks. */
const NETWORKS: NetworksState = {
  service: 'NetworkManager',
  links: [link('wlan0', { name: 'Home', security: 'psk' })],
  rules: [
    rule('Home', {
      match: { ssid: 'Home', security: 'psk' },
      effects: { warp: 'pause' },
      weakens: true,
      allowed: true,
    }),
    rule('Office', { match: { ssid: 'Office' }, effects: { warp: 'connect', mode: 'doh' }, weakens: true }),
    rule('cafes', { match: { ssid: 'Café' }, effects: { warp: 'connect', killSwitch: true } }),
  ],
  decision: {
    links: [{ device: 'wlan0', rule: 'Home' }],
    effects: [{ subject: 'connection', value: 'off', rule: 'Home', state: 'holds', reason: null }],
  },
  acted: { rule: 'Home', at: soon(-60) },
  reverted: false,
  problem: null,
};

function rule(name: string, more: Partial<NetworkRule>): NetworkRule {
  return { name, match: {}, effects: {}, proof: 'copyable', weakens: false, allowed: null, ...more };
}

/** A connected device with something on every page. */
function furnish(daemon: FakeDaemon): void {
  daemon.apps = [
    app('firefox', 'Firefox', { kind: 'firefox', method: 'profile', icon: 'firefox' }),
    app('chromium', 'Chromium', { kind: 'chromium', method: 'arguments', shortcut: '/tmp/x.desktop' }),
    app('mail', 'A mail program with quite a long name that does not fit', { method: 'proxychains' }),
  ];
  daemon.tools = [richTool(Date.now()), tool('netlify')];
  daemon.history = recorded(60);
  const failed = { ok: false, exitCode: 1, stderr: 'Error: it did not work' };
  daemon.entries = Array.from({ length: 40 }, (_, i) =>
    logEntry(i + 1, 'warp-cli tunnel host add example.com', i % 5 ? {} : failed),
  );
  const fix = {
    kind: 'file',
    label: 'Correct the search line',
    path: '/etc/resolv.conf',
    content: 'search lan\n',
  } as const;
  const diff = '--- /etc/resolv.conf\n+++ /etc/resolv.conf\n@@ -1,1 +1,1 @@\n-search lan b!d\n+search lan\n';
  daemon.checks = [
    checkResult('resolv-conf', 'problem', {
      title: 'DNS configuration',
      explanation: 'WARP can’t read a search domain with an invalid character.',
      fix: { ...fix, diff, privileged: true },
      fixId: 'a',
      source: 'https://developers.cloudflare.com/',
    }),
    checkResult('mode', 'notice', {
      title: 'Domains for your own DNS',
      explanation: 'They have no effect in this mode.',
      fix: MODE_FIX,
      fixId: 'b',
    }),
    checkResult('service', 'ok', { title: 'The WARP service runs' }),
  ];
  daemon.snapshot.splitTunnel = {
    mode: 'exclude',
    ips: ['10.0.0.0/8', '192.168.0.0/16', '2001:db8:1234:5678::/64'].map(value => ({ value, description: null })),
    hosts: [{ value: 'a-host-with-a-long-name.internal.example.com', description: 'Printer' }],
  };
  daemon.snapshot.settings = { Mode: 'warp', 'WARP tunnel protocol': 'MASQUE' };
  daemon.snapshot.options = {
    ...daemon.snapshot.options,
    fallbackDomains: ['corp', 'lan'].map(domain => ({ domain, note: null })),
    families: 'malware',
    trustedSsids: ['Home'],
  };
  daemon.snapshot.networks = NETWORKS;
  daemon.snapshot.killSwitch = { ...KILL_SWITCH, enabled: true, active: true };
  daemon.snapshot.status = {
    ...daemon.snapshot.status,
    state: 'connected',
    reason: null,
    network: 'healthy',
    raw: 'Connected',
    since: soon(-3723),
  };
  daemon.snapshot.tunnel = {
    ...daemon.snapshot.tunnel,
    protocol: 'MASQUE',
    endpoints: ['162.159.198.2', '2606:4700:103::2'],
    latencyMs: 38,
    loss: 0.0004,
    colo: 'FRA',
    bytesSent: 1_234_567,
    bytesReceived: 98_765_432,
    at: soon(-600),
  };
}

/** Five minutes of latency, for the graph. */
async function drawLatency(daemon: FakeDaemon, stage: Stage): Promise<void> {
  for (let ago = 60; ago >= 0; ago--) {
    const latencyMs = 38 + Math.round(5 * Math.sin(ago / 5) + 3 * Math.sin(ago));
    daemon.set('tunnel', { latencyMs, at: soon(-5 * ago) });
    // the window draws what is there when a frame begins
    await stage.settled();
  }
}

function soon(seconds: number): string {
  return new Date(Date.now() + seconds * 1000).toISOString();
}

/** The list as a document, its history, presets, and what a text would change. */
function furnishRoutes(daemon: FakeDaemon): void {
  daemon.answers = ROUTE_ANSWERS;
  const { onAsked } = daemon;
  daemon.onAsked = asked => (asked.line === 'POST /api/routes/preview' ? ROUTE_PREVIEW : onAsked(asked));
}

/** States other than connected, by the name of their picture. */
const STATES: Record<string, (daemon: FakeDaemon) => void> = {
  unconfirmed: daemon =>
    daemon.setChanges([
      change('mode', { value: 'doh', setAt: soon(-5), confirmBy: soon(25) }),
      change('routes', { setAt: soon(-5), confirmBy: soon(30) }),
    ]),
  timed(daemon) {
    daemon.setChanges([change('connection', { value: 'off', setAt: soon(-300), endsAt: soon(600) })]);
    daemon.set('status', { state: 'disconnected', reason: null });
  },
  disconnected: daemon => daemon.set('status', { state: 'disconnected', reason: null }),
  failed(daemon) {
    daemon.setChanges([]);
    daemon.set('status', { state: 'unable', reason: { code: 'HappyEyeballsFailed', text: 'Happy Eyeballs Failed' } });
  },
  terms: daemon => daemon.set('status', { state: 'unable', reason: null, blocked: 'terms-not-accepted' }),
  stopped: daemon => daemon.set('status', { state: 'unable', reason: null, blocked: 'service-stopped' }),
  forbidden: daemon => daemon.set('status', { state: 'unable', reason: null, blocked: 'not-authorized' }),
  unregistered: daemon => daemon.set('status', { blocked: 'not-registered' }),
  'no-client'(daemon) {
    const steps = installSteps('ID=debian\nVERSION_CODENAME=trixie', 'x64')!;
    daemon.set('tunnelCli', { available: false, installCommand: installCommand(steps) });
    daemon.set('status', { blocked: 'cli-missing' });
  },
};

/** Opens the window, furnished. @returns its stage, and what takes a picture into a file */
async function open({ size: [width, height], theme, locale, text = 1, env = {} }: Variant) {
  const desktop = await openDesktop(`${width + 40}x${height + 40}`);
  const daemon = createDaemon(desktop.socket);
  furnish(daemon);
  furnishRoutes(daemon);
  Object.assign(daemon.config.config.ui, { theme: theme ?? 'light', locale: locale ?? 'en' });
  if (locale) daemon.config.sources['ui.locale'] = 'user';
  await daemon.listen();
  // glibc 2.43 translates nothing in C.UTF-8
  const translated = { TEXTDOMAINDIR: join(desktop.prefix, 'share', 'locale'), LANG: process.env.LANG ?? 'C.UTF-8' };
  const panel = desktop.start('gjs', ['-m', join(desktop.prefix, 'share', 'culvert', 'inside.js')], {
    ...translated,
    ...env,
  });
  const stage = stageOf(desktop, daemon, panel, talk(panel));
  await stage.ask({ do: 'scale', text: String(text) });
  await stage.settled();
  await drawLatency(daemon, stage);
  stage.x('windowsize', '--sync', stage.window(), String(width), String(height));
  // without a window manager, a window that runs from right to left begins to the left of the screen
  stage.x('windowmove', '--sync', stage.window(), '0', '0');
  // a pointer above the window would bring a tooltip
  stage.x('mousemove', String(width + 39), String(height + 39));
  // asynchronous, so that the fake daemon of this process keeps answering
  const shoot = (file: string) => run('import', ['-window', 'root', '-trim', file], { env: desktop.env });
  return { stage, daemon, shoot };
}

async function close({ desktop, daemon }: Stage): Promise<void> {
  await desktop.close();
  await daemon.stop();
}

/** Takes the pictures of the README: the window in the dark next to a failure with its button, and the card of a quota. */
async function takeReadme(directory: string): Promise<void> {
  const place = (name: string) => join(directory, `${name}.png`);
  const wide = await open({ size: README_WIDE, theme: 'dark' });
  await wide.stage.turn('connection');
  wide.daemon.setChanges([change('mode', { value: 'warp', setAt: soon(-1500), endsAt: soon(2100) })]);
  await wide.stage.settled();
  await wide.shoot(place('wide'));
  await close(wide.stage);
  const narrow = await open({ size: README_NARROW, theme: 'dark' });
  await narrow.stage.turn('connection');
  narrow.daemon.set('killSwitch', KILL_SWITCH);
  STATES.failed!(narrow.daemon);
  await narrow.stage.settled();
  await narrow.shoot(place('failed'));
  await close(narrow.stage);
  await run('convert', [place('wide'), place('failed'), '+append', place('panel')]);
  const card = await open({ size: [640, 560], theme: 'dark' });
  await card.stage.turn('tools');
  await card.stage.shows(READ.tools!);
  await card.stage.settled();
  await card.shoot(place('quota'));
  await close(card.stage);
}

async function take(directory: string, name: string, variant: Variant): Promise<void> {
  const { locale } = variant;
  const { stage, daemon, shoot } = await open(variant);
  const picture = (page: string) => shoot(join(directory, `${name}-${page}.png`));
  for (const page of PAGE_NAMES) {
    await stage.turn(page);
    // the other texts come from the fixture, which is in English
    if (READ[page]) await stage.shows(READ[page]);
    await stage.settled();
    await picture(page);
  }
  await stage.turn('welcome');
  for (const step of [2, 3]) {
    stage.key('Return'); // the keyboard is on “Next”
    await stage.settled();
    await picture(`welcome-${step}`);
  }
  if (!locale) {
    await stage.turn('editor');
    await stage.press('No preview yet: Preview');
    await stage.find('Difference');
    await stage.settled();
    await picture('preview');
    await stage.turn('routes');
    await stage.enter('Does this site use WARP?', 'example.com');
    await stage.press('Does this site use WARP?: Check');
    await stage.shows('192.0.2.1');
    await stage.settled();
    await picture('why');
  }
  await stage.turn('connection' satisfies PageName);
  for (const [state, set] of Object.entries(STATES)) {
    set(daemon);
    await stage.settled();
    await picture(state);
  }
  await close(stage);
}

const [directory, ...chosen] = process.argv.slice(2);
if (!directory) throw new Error('Name the directory for the pictures.');
mkdirSync(directory, { recursive: true });
if (chosen.includes('readme')) await takeReadme(directory);
for (const [name, variant] of Object.entries(VARIANTS))
  if (!chosen.length || chosen.includes(name)) await take(directory, name, variant);
