// Holds the snapshot that every client shows, publishes each changed part once, and logs the latest commands.
import { isDeepStrictEqual } from 'node:util';
import type { Part } from '../api/apply-event.ts';
import type { Change } from '../api/changes.ts';
import type { EventData, EventName } from '../api/contract.ts';
import type { CommandName, CommandOutput, KillSwitch, LogEntry, Snapshot, TunnelCli } from '../api/schema.ts';

export interface Published {
  revision: number;
  event: EventName;
  data: unknown;
}

export interface State {
  snapshot(): Snapshot;
  /** Replaces a part. An equal value publishes nothing; a change gets the next revision. */
  set<P extends Part>(part: P, value: Snapshot[P]): void;
  /** Records the output of a command. It publishes no event, so a re-read alone wakes no client. */
  record(name: CommandName, output: CommandOutput): void;
  /** Publishes an event that is not part of the snapshot. */
  publish<N extends EventName>(event: N, data: EventData<N>): void;
  /** Calls `listener` with each later event, in order and synchronously. Returns a function that unsubscribes. */
  subscribe(listener: (event: Published) => void): () => void;
}

/**
 * Creates a state for the time before the first read from the tunnel.
 * Revisions start at the current time, which keeps event ids distinct from those of earlier runs.
 */
export function createState(tunnelCli: TunnelCli, killSwitch: KillSwitch = NO_KILL_SWITCH): State {
  let snapshot: Snapshot = {
    ok: true,
    revision: Date.now(),
    generatedAt: new Date().toISOString(),
    tunnelCli,
    status: {
      state: 'unknown',
      reason: null,
      network: null,
      blocked: null,
      since: new Date().toISOString(),
      raw: null,
    },
    settings: {},
    options: NO_OPTIONS,
    tunnel: NO_TUNNEL,
    splitTunnel: { mode: null, ips: [], hosts: [] },
    account: NO_ACCOUNT,
    killSwitch,
    update: null,
    diagnosis: null,
    remoteAccess: null,
    changes: [],
    lostChanges: null,
    reminder: null,
    lastPause: null,
    toolAccounts: { offered: false },
    networks: null,
    trust: { offered: false, removalDue: false },
    hasOldParts: false,
    commands: NO_COMMANDS,
  };
  const listeners = new Set<(event: Published) => void>();

  const advance = (change: Partial<Snapshot>) => {
    snapshot = {
      ...snapshot,
      ...change,
      revision: snapshot.revision + 1,
      generatedAt: new Date().toISOString(),
    };
  };
  const emit = (event: EventName, data: unknown) => {
    for (const listener of [...listeners]) listener({ revision: snapshot.revision, event, data });
  };

  return {
    snapshot: () => snapshot,
    set(part, value) {
      if (isDeepStrictEqual(snapshot[part], value)) return;
      advance({ [part]: value });
      emit(part, value);
    },
    record(name, output) {
      advance({ commands: { ...snapshot.commands, [name]: output } });
    },
    publish(event, data) {
      advance({});
      emit(event, data);
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** Outputs before the first run of the tunnel CLI. */
export const NO_COMMANDS: Snapshot['commands'] = {
  status: null,
  settings: null,
  splitTunnelDump: null,
  splitTunnelIps: null,
  splitTunnelHosts: null,
  registration: null,
  tunnelStats: null,
  settingsText: null,
  trustedSsids: null,
  virtualNetworks: null,
  localNetworkAccess: null,
};

/** The kill switch before its first read. */
export const NO_KILL_SWITCH: KillSwitch = {
  enabled: false,
  allowLan: false,
  active: null,
  protection: 'none',
  bootGuard: false,
  backend: null,
  detail: null,
  installed: false,
  command: null,
  pausedUntil: null,
  repairedAt: null,
  confirmable: false,
  unconfirmed: null,
};

/** The registration before its first read. */
export const NO_ACCOUNT: Snapshot['account'] = { registered: null, type: null, organization: null, managed: null };

/** The options before their first read. */
export const NO_OPTIONS: Snapshot['options'] = {
  switchLocked: null,
  modeLocked: null,
  organization: null,
  families: null,
  gatewayId: null,
  fallbackDomains: [],
  wifiTrusted: null,
  ethernetTrusted: null,
  trustedSsids: null,
  virtualNetworks: null,
  masque: null,
  endpoint: null,
  environment: null,
  localNetwork: null,
  localNetworkAccess: null,
};

/** The facts about a tunnel that is not connected. */
export const NO_TUNNEL: Snapshot['tunnel'] = {
  protocol: null,
  proxyPort: null,
  endpoints: [],
  handshakeAgeSeconds: null,
  bytesSent: null,
  bytesReceived: null,
  latencyMs: null,
  loss: null,
  colo: null,
  at: null,
};

/** Publishes one maker's changes together with the other maker's changes. */
export function setPart(state: State, maker: 'tunnel' | 'kill-switch', changes: readonly Change[]): void {
  const others = state.snapshot().changes.filter(({ subject }) => (subject === 'killSwitch') === (maker === 'tunnel'));
  state.set('changes', maker === 'tunnel' ? [...changes, ...others] : [...others, ...changes]);
}

/** Limit of each stream of an entry, in characters. The snapshot has the full output of the latest reads. */
const TEXT_LIMIT = 16 * 1024;

export interface CommandLog {
  /** Stores an entry under the next id, drops the oldest entry beyond the capacity, and calls `onEntry`. */
  append(entry: Omit<LogEntry, 'id'>): LogEntry;
  /** Returns at most `limit` entries after `id`, oldest first. */
  since(id: number, limit: number): LogEntry[];
  /** Id of the newest entry, or 0 before the first entry. */
  readonly lastId: number;
  /** Id of the oldest entry in the log, or null if it is empty. */
  readonly oldestId: number | null;
  readonly capacity: number;
}

/** Creates an empty log for `capacity` entries of at most 16 Ki characters per stream. */
export function createLog(options: { capacity: number; onEntry?: (entry: LogEntry) => void }): CommandLog {
  const { capacity, onEntry } = options;
  const entries: LogEntry[] = [];
  let lastId = 0;
  return {
    capacity,
    get lastId() {
      return lastId;
    },
    get oldestId() {
      return entries[0]?.id ?? null;
    },
    append(entry) {
      lastId += 1;
      const stored = { id: lastId, ...entry, stdout: shorten(entry.stdout), stderr: shorten(entry.stderr) };
      entries.push(stored);
      if (entries.length > capacity) entries.shift();
      onEntry?.(stored);
      return stored;
    },
    since(id, limit) {
      const first = entries.findIndex(entry => entry.id > id);
      return first < 0 ? [] : entries.slice(first, first + Math.max(0, limit));
    },
  };
}

function shorten(text: string): string {
  return text.length <= TEXT_LIMIT ? text : `${text.slice(0, TEXT_LIMIT)}\n[cut in the log]`;
}
