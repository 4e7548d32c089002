// What the pictures show: a state of the daemon, a page, what is pressed, and the text that tells that all is there.
import type { App, KillSwitch, LogEntry, Snapshot, UpdateCheck } from '../../daemon/api/schema.ts';
import { app, KILL_SWITCH, logEntry, NO_KILL_SWITCH } from './initial.ts';

export interface Scene {
  status: Partial<Snapshot['status']>;
  /** Text that shows that the scene is complete. */
  shows: string;
  size?: readonly [width: number, height: number];
  themes?: ('light' | 'dark')[];
  emulated?: boolean;
  mode?: string;
  /** The tab. */
  page?: 'Connection' | 'Apps' | 'Console';
  killSwitch?: Partial<KillSwitch>;
  /** Seconds that are left of a pause. */
  paused?: number;
  update?: Partial<UpdateCheck>;
  entries?: LogEntry[];
  /** Names of what is pressed, in order, before `shows` is looked for. */
  press?: string[];
  /** What it opens is closed by this key afterwards. */
  close?: string;
}

const CONNECTED = { state: 'connected', network: 'healthy' } as const;
const DOWN = { state: 'disconnected', reason: null } as const;
const WIDE = [1000, 700] as const;
const NARROW = [360, 640] as const;
const PROXY = { status: CONNECTED, mode: 'proxy', shows: 'Start Chromium', page: 'Apps' } as const;
const CONSOLE = { status: CONNECTED, shows: 'warp-cli mode proxy, OK', page: 'Console' } as const;
const BLOCKING: KillSwitch = { ...KILL_SWITCH, enabled: true, active: true };
const NEWER: Partial<UpdateCheck> = { latest: '0.3.0', updateAvailable: true, applicable: true, previous: '0.2.6' };

export const SCENES: Record<string, Scene> = {
  connected: { status: CONNECTED, shows: 'Connected', size: [440, 1170] },
  connecting: {
    status: { state: 'connecting', reason: { code: null, text: 'Performing connectivity checks' } },
    shows: 'Connecting…',
  },
  disconnected: {
    status: { state: 'disconnected', reason: { code: 'Manual', text: 'Manual disconnection' } },
    shows: 'Disconnected',
  },
  unable: {
    status: { state: 'unable', reason: { code: 'HappyEyeballsFailed', text: 'Happy eyeballs failed' } },
    shows: 'Unable to connect',
    themes: ['light'],
  },
  'not-registered': { status: { blocked: 'not-registered' }, shows: 'Register' },
  'terms-not-accepted': { status: { blocked: 'terms-not-accepted' }, shows: 'Accept…', themes: ['light'] },
  'service-stopped': { status: { blocked: 'service-stopped' }, shows: 'Start it now:', themes: ['dark'] },
  'cli-missing': { status: { blocked: 'cli-missing' }, shows: 'Installation Guide', themes: ['light'] },
  'not-authorized': { status: { blocked: 'not-authorized' }, shows: 'Not authorised', themes: ['dark'] },
  wide: { status: CONNECTED, shows: 'Connected', size: WIDE },
  narrow: {
    status: CONNECTED,
    shows: 'Demo: emulated tunnel, nothing is protected',
    size: NARROW,
    themes: ['light'],
    emulated: true,
  },
  killswitch: {
    status: DOWN,
    shows: 'Traffic is blocked by the kill switch',
    size: [440, 1010],
    killSwitch: BLOCKING,
  },
  'killswitch-wide': {
    status: CONNECTED,
    shows: 'On: traffic outside the tunnel is blocked.',
    size: WIDE,
    killSwitch: BLOCKING,
    themes: ['dark'],
  },
  'killswitch-paused': {
    status: DOWN,
    shows: 'Resume',
    size: [440, 960],
    themes: ['light'],
    killSwitch: { ...BLOCKING, active: false },
    paused: 272,
  },
  'killswitch-not-installed': {
    status: DOWN,
    shows: 'Install it once, in a terminal:',
    size: [440, 840],
    themes: ['dark'],
    killSwitch: { ...NO_KILL_SWITCH, command: 'culvert killswitch installer | sudo sh' },
  },
  proxy: { status: CONNECTED, mode: 'proxy', shows: '127.0.0.1:40000', size: [440, 1230], themes: ['light'] },
  'apps-off': { status: CONNECTED, shows: 'Turn On the Local Proxy', page: 'Apps', themes: ['light'] },
  apps: PROXY,
  'apps-wide': { ...PROXY, size: WIDE, themes: ['dark'] },
  'apps-narrow': { ...PROXY, size: NARROW, themes: ['light'] },
  'apps-offer': {
    status: CONNECTED,
    shows: 'Make Shortcuts',
    page: 'Apps',
    press: ['Turn On the Local Proxy'],
    themes: ['light'],
    close: 'Escape',
  },
  'console-empty': { status: CONNECTED, shows: 'No commands yet', page: 'Console', themes: ['light'], entries: [] },
  console: { ...CONSOLE, press: ['warp-cli tunnel endpoint set nowhere, exit 2'] },
  'console-wide': { ...CONSOLE, size: WIDE, themes: ['dark'] },
  'console-narrow': { ...CONSOLE, size: NARROW, themes: ['light'] },
  update: { status: CONNECTED, shows: 'Culvert 0.3.0 is available', update: NEWER, themes: ['light'] },
  updates: {
    status: CONNECTED,
    shows: 'Go back to Culvert 0.2.6',
    update: { ...NEWER, progress: { phase: 'downloading', received: 31_200_000, total: 78_400_000 } },
    press: ['Main Menu', 'Updates'],
    close: 'Escape',
  },
  'updates-command': {
    status: CONNECTED,
    shows: 'Run this in a terminal:',
    update: { ...NEWER, applicable: false, previous: null, command: 'sudo apt update && sudo apt install culvert' },
    press: ['How'],
    themes: ['dark'],
    close: 'Escape',
  },
};

export const APPS: App[] = [
  app('chromium', 'Chromium', { icon: 'chromium', categories: ['WebBrowser'], kind: 'chromium', method: 'arguments' }),
  app('firefox-esr', 'Firefox ESR', {
    ...{ icon: 'web-browser', categories: ['WebBrowser'], kind: 'firefox', method: 'profile' },
    shortcut: '/home/a/.local/share/applications/culvert-firefox-esr.desktop',
  }),
  app('org.mozilla.Thunderbird', 'Thunderbird', {
    ...{ icon: 'mail-unread', categories: ['Email'], kind: 'firefox', method: 'profile', packaging: 'flatpak' },
  }),
  app('com.visualstudio.code', 'Visual Studio Code', {
    ...{ categories: ['Development'], kind: 'electron', method: 'arguments', packaging: 'snap' },
    note: 'Its terminal does not use the proxy.',
  }),
  app('org.gnome.Calculator', 'Calculator', { icon: 'accessories-calculator' }),
  app('transmission-gtk', 'Transmission', {
    ...{ categories: ['P2P', 'FileTransfer'], method: 'none' },
    note: 'Install proxychains4, and it can be started through that.',
  }),
  app('org.example.Long', 'Remote Desktop and Terminal Server Connection Wizard for Administrators', {
    ...{ icon: 'preferences-desktop-remote-desktop', method: 'proxychains' },
    note: 'Programs that are linked statically or set their own resolver go around proxychains.',
  }),
  app('org.gnome.Terminal', 'Terminal', { icon: 'utilities-terminal' }),
  app('org.gnome.Evince', 'Document Viewer', { icon: 'x-office-document', method: 'none' }),
];

/** What a first half hour leaves in the log. */
export function someEntries(): LogEntry[] {
  const at = (id: number) => ({ at: new Date(Date.UTC(2026, 10, 21, 9, 41, 7 * id)).toISOString() });
  const usage =
    "error: invalid value 'nowhere' for '<ENDPOINT>': invalid socket address syntax\n\nFor more information, try '--help'.\n";
  return [
    logEntry(1, 'warp-cli -j status', { ...at(1), source: 'read', durationMs: 18 }),
    logEntry(2, 'warp-cli connect', { ...at(2), durationMs: 41 }),
    logEntry(3, 'warp-cli settings list', { ...at(3), source: 'read', durationMs: 23 }),
    logEntry(4, 'warp-cli tunnel protocol set MASQUE', { ...at(4), durationMs: 35 }),
    logEntry(5, 'warp-cli tunnel ip add 192.0.2.7', { ...at(5), durationMs: 29 }),
    logEntry(6, 'warp-cli tunnel endpoint set nowhere', {
      ...{ ...at(6), ok: false, exitCode: 2, stdout: '', stderr: usage, durationMs: 9 },
    }),
    logEntry(7, 'warp-cli registration show', { ...at(7), source: 'read', durationMs: 20 }),
    logEntry(8, 'warp-cli disconnect', { ...at(8), ok: false, exitCode: null, stdout: '', durationMs: 10_004 }),
    logEntry(9, 'warp-cli proxy port 40000', { ...at(9), durationMs: 27 }),
    logEntry(10, 'warp-cli mode proxy', { ...at(10), durationMs: 33 }),
  ];
}
