// What a fake daemon knows at first, and pieces for tests to build on.
import type {
  App,
  ConfigResponse,
  KillSwitch,
  LogEntry,
  Snapshot,
  Status,
  UpdateCheck,
} from '../../daemon/api/schema.ts';

/** A disconnected tunnel on a registered device. */
export function initialSnapshot(revision: number): Snapshot {
  const now = new Date().toISOString();
  return {
    ok: true,
    revision,
    generatedAt: now,
    tunnelCli: { available: true, path: '/usr/bin/warp-cli', version: '2026.7.1377.0', emulated: false },
    status: disconnected(now),
    settings: { Mode: 'warp', 'WARP tunnel protocol': 'MASQUE' },
    tunnel: noTunnel(),
    splitTunnel: { mode: 'exclude', ips: [], hosts: [] },
    account: { registered: true, type: 'Free', organization: null, managed: false },
    killSwitch: { ...NO_KILL_SWITCH },
    update: null,
    commands: {
      ...{ status: null, settings: null, splitTunnelDump: null, splitTunnelIps: null, splitTunnelHosts: null },
      ...{ registration: null, tunnelStats: null },
    },
  };
}

/** As on a machine where its service was never installed. */
export const NO_KILL_SWITCH: KillSwitch = {
  ...{ enabled: false, allowLan: false, active: null, protection: 'none' },
  ...{ bootGuard: false, backend: null, detail: null, installed: false, command: null, pausedUntil: null },
};

/** Installed, and off. */
export const KILL_SWITCH: KillSwitch = {
  ...NO_KILL_SWITCH,
  ...{ installed: true, active: false, protection: 'owner-persist', bootGuard: true, backend: 'nftables 1.0.6' },
};

/** What a check says on the newest version. */
export function noUpdate(): UpdateCheck {
  return {
    ...{ ok: true, current: '0.2.7', channel: 'stable', latest: '0.2.7', updateAvailable: false },
    ...{ manifest: null, checkedAt: '2026-11-21T06:00:00.000Z', problem: null, applicable: false },
    ...{ command: null, previous: null, progress: null },
  };
}

/** An app of the desktop, by the name of its desktop file. */
export function app(id: string, name: string, more: Partial<App> = {}): App {
  return {
    ...{ id: `${id}.desktop`, name, icon: null, categories: [], kind: 'generic', packaging: 'native' },
    ...{ method: 'environment', note: null, shortcut: null },
    ...more,
  };
}

/** A finished command in the log. */
export function logEntry(id: number, argv: string, more: Partial<LogEntry> = {}): LogEntry {
  return {
    ...{ id, at: new Date().toISOString(), source: 'action', argv: argv.split(' '), ok: true, exitCode: 0 },
    ...{ durationMs: 12.4, stdout: 'Success\n', stderr: '' },
    ...more,
  };
}

function disconnected(since: string): Status {
  const reason = { code: 'Manual', text: 'Manual disconnection' };
  return { state: 'disconnected', reason, network: null, blocked: null, since, raw: 'Disconnected' };
}

export function noTunnel(): Snapshot['tunnel'] {
  return {
    ...{ protocol: null, proxyPort: null, endpoints: [], handshakeAgeSeconds: null, bytesSent: null },
    ...{ bytesReceived: null, latencyMs: null, loss: null, colo: null, at: null },
  };
}

export function initialConfig(): ConfigResponse {
  return {
    ok: true,
    config: {
      server: { port: 4173, bind: '127.0.0.1' },
      webui: { enabled: false, allowRemote: false },
      warp: {
        ...{ cli: 'warp-cli', killSwitch: false, allowLan: false, endpoints: '' },
        traceUrl: 'https://www.cloudflare.com/cdn-cgi/trace',
      },
      ui: { openBrowser: true, theme: 'system', locale: 'en' },
      updates: { channel: 'stable', checkOnStartup: true, source: 'https://culvert.example/releases' },
      tray: { autostart: false },
    },
    sources: {},
    restartRequired: [],
    problems: [],
  };
}
