// Merges listener messages and reads into the published tunnel state.
import { isDeepStrictEqual } from 'node:util';
import type {
  Blocked,
  CommandOutput,
  Device,
  RegistrationCause,
  Settings,
  SplitTunnel,
  Status,
  UnknownValue,
} from '../api/schema.ts';
import { NO_ACCOUNT, NO_OPTIONS, NO_TUNNEL, type State } from '../state/store.ts';
import type { Extra } from './cli/version.ts';
import {
  parseDevices,
  parseLocalNetworkAccess,
  parseRegistration,
  parseSsids,
  parseStats,
  parseVirtualNetworks,
  type RegistrationReading,
  UNREGISTERED,
} from './parse/reads.ts';
import { optionsOf, parseRoutes, parseSettings } from './parse/settings.ts';
import { type StatusReading, UNKNOWN } from './parse/status.ts';
import { unknownIn, WHOLE } from './parse/unknown.ts';
import { createRegistrationWatch, type RegistrationWatch } from './registration.ts';
import { createWish, type Wish } from './wish.ts';

export interface TunnelStore {
  /** Publishes a new status. `raw` is the redacted output, or null. */
  status(reading: StatusReading, raw: string | null): void;
  /** Call when a read of the status failed, or with null when the status is known again. Keeps the time of the first doubt. */
  doubt(since: NonNullable<Status['lastKnown']> | null): void;
  /** Publishes that a refused command needs another step from the user first. */
  setBlocked(blocked: Blocked, raw: string | null): void;
  /** Call when these states no longer block. @returns true if one of them blocked until now */
  clearBlocked(...blocked: Blocked[]): boolean;
  /** Publishes whether the tunnel CLI lets this user connect. */
  setAuthorized(authorized: boolean): void;
  /** True if a status was published since the last `reset` or `markStatusStale`. */
  hasStatus(): boolean;
  /** Call when the tunnel CLI has accepted to connect (true) or disconnect (false), for the user or for Culvert itself. */
  expectConnection(expected: boolean, byCulvert?: boolean): void;
  /** Call with true before Culvert itself turns the tunnel off, and with false when that has ended. */
  setAutomatic(now: boolean): void;
  /** Call when an expected connection should be up. */
  connectionOverdue(): void;
  /** Call when no listener confirms the published status anymore. */
  markStatusStale(): void;
  /** Discards facts about the old executable after it was replaced. */
  reset(): void;
  /** Takes the output of a read, like the methods below. @returns false if the output could not be parsed */
  settings(output: CommandOutput): boolean;
  /** Call when an action has changed the settings, and they could not be read since. */
  forgetSettings(): void;
  /** Takes the output of an additional read for the options. */
  extra(name: Extra, output: CommandOutput): void;
  splitIps(output: CommandOutput): boolean;
  splitHosts(output: CommandOutput): boolean;
  stats(output: CommandOutput): boolean;
  registration(output: CommandOutput): boolean;
  devices(output: CommandOutput): void;
  /** Finds again why the device is not registered, because the policy file may have changed. */
  checkRegistration(): void;
  /** Returns why a device like this one is not registered, even before the tunnel CLI says that it is not; null without a cause. */
  registrationCause(): RegistrationCause | null;
  /**
   * Takes the output of a failed attempt to register, or null after a successful one. Resolves when the service's journal
   * is read, too.
   */
  registrationAttempted(output: string | null): Promise<void>;
  /** Returns the registration and its devices; null before the first answer. */
  account(): { registration: RegistrationReading; devices: Device[] } | null;
}

/** @param registration finds why the device is not registered */
export function createTunnelStore(
  state: State,
  wish: Wish = createWish(),
  registration: RegistrationWatch = createRegistrationWatch({ version: () => null }),
): TunnelStore {
  const account = createAccountStore(state);
  const split = createSplitStore(state);
  const options = createOptionsStore(state);
  const settings = createSettingsStore(state, split, options);
  let reading = UNKNOWN;
  let raw: string | null = null;
  let blocker: Blocked | null = null;
  let authorized = true;
  let hasStatus = false;
  let lastKnown: Status['lastKnown'];

  const cause = createCauseStore(state, registration, () => publishStatus());
  const publishStatus = () => {
    const before = state.snapshot().status;
    const blocked = reading.blocked ?? blocker ?? (authorized ? null : 'not-authorized');
    const same = before.state === reading.state && before.blocked === blocked;
    const reason = wish.reasonFor(reading);
    const since = same ? before.since : new Date().toISOString();
    if (reading.state === 'unknown') lastKnown = undefined;
    const further = { ...cause.of({ blocked, reason, raw }), ...(lastKnown && { lastKnown }), ...unknownValues(raw) };
    state.set('status', { ...reading, reason, blocked, since, raw, ...further });
    if (reading.state !== 'connected') state.set('tunnel', { ...NO_TUNNEL, proxyPort: settings.proxyPort() });
    if (blocked === 'not-registered' && before.blocked !== blocked) void cause.readJournal();
  };

  const clearBlocked = (...blocked: Blocked[]) => {
    if (!blocker || !blocked.includes(blocker)) return false;
    blocker = null;
    publishStatus();
    return true;
  };

  return {
    status(next, text) {
      const { blocked } = state.snapshot().status;
      wish.follow(next, text);
      reading = next;
      raw = text;
      lastKnown = undefined;
      hasStatus = true;
      // a status proves that the service answers, but proves nothing about the right to read settings
      if (blocker !== 'not-authorized') blocker = null;
      publishStatus();
      if (next.blocked === 'not-registered') account.unregistered();
      else if (blocked !== null && blocked !== next.blocked) account.forgetUnregistered();
      cause.check();
    },
    doubt(since) {
      if (since?.said === lastKnown?.said) return;
      lastKnown = since ? { ...since, at: lastKnown?.at ?? since.at } : undefined;
      publishStatus();
    },
    setBlocked(blocked, text) {
      blocker = blocked;
      if (blocked !== 'not-authorized' && blocked !== 'not-registered') {
        // the earlier status may be long out of date
        reading = UNKNOWN;
        raw = text;
      }
      // a connected tunnel proves that the device is registered
      if (blocked === 'not-registered' && reading.state === 'connected') blocker = null;
      else if (blocked === 'not-registered') account.unregistered();
      publishStatus();
    },
    clearBlocked,
    setAuthorized(now) {
      if (authorized === now) return;
      authorized = now;
      publishStatus();
    },
    expectConnection: (now, byCulvert) => void (wish.accept(now, reading, raw, byCulvert) && publishStatus()),
    setAutomatic: wish.setAutomatic,
    connectionOverdue: () => void (wish.overdue() && publishStatus()),
    checkRegistration: cause.check,
    registrationCause: () => cause.of({ ...state.snapshot().status, blocked: 'not-registered' }).registration ?? null,
    registrationAttempted: cause.attempted,
    hasStatus: () => hasStatus,
    markStatusStale() {
      hasStatus = false;
    },
    reset() {
      hasStatus = false;
      authorized = true;
      account.reset();
      options.reset();
      if (blocker) clearBlocked(blocker);
    },

    settings: settings.take,
    forgetSettings: settings.forget,
    extra: options.take,
    splitIps: output => split.fromList('splitTunnelIps', 'ips', output),
    splitHosts: output => split.fromList('splitTunnelHosts', 'hosts', output),
    stats(output) {
      state.record('tunnelStats', output);
      const stats = parseStats(output.stdout);
      if (stats && reading.state === 'connected')
        state.set('tunnel', { ...stats, proxyPort: settings.proxyPort(), at: output.at });
      return stats !== null;
    },
    registration: output => cause.after(account.registration(output)),
    devices: account.devices,
    account: account.known,
  };
}

/** Returns the values of a status that Culvert does not know. Clients show an output without a status as it is. */
function unknownValues(raw: string | null): Pick<Status, 'unknown'> {
  const unknown = unknownIn('status', raw ?? '').filter(({ name }) => name !== WHOLE);
  return unknown.length > 0 ? { unknown } : {};
}

/** Finds why the device is not registered. @param publish publishes the status with the present cause */
function createCauseStore(state: State, registration: RegistrationWatch, publish: () => void) {
  const of = (status: Pick<Status, 'blocked' | 'reason' | 'raw'>): Pick<Status, 'registration'> => {
    const { account, settings } = state.snapshot();
    const found = registration.cause({ status, account, settings });
    return found ? { registration: found } : {};
  };
  const check = () => {
    const { status } = state.snapshot();
    if (!isDeepStrictEqual(of(status).registration, status.registration)) publish();
  };
  const readJournal = async () => {
    if (await registration.readJournal()) check();
  };
  return {
    /** Returns the part of a status with the cause; empty without a cause. */
    of,
    /** Publishes the status again if the registration has another cause than the published one. */
    check,
    /** Checks the cause after a read of the account, and returns the result of the read. */
    after(isUnderstood: boolean) {
      check();
      return isUnderstood;
    },
    /** Call when the device is not registered anymore. */
    readJournal,
    async attempted(output: string | null) {
      registration.attempted(output);
      if (output !== null) await readJournal();
      check();
    },
  };
}

/** Stores the registration and its devices. */
function createAccountStore(state: State) {
  let registration: RegistrationReading | null = null;
  let devices: Device[] = [];
  const publish = (reading: RegistrationReading) => {
    registration = reading;
    const { registered, type, organization, managed } = reading;
    state.set('account', { registered, type, organization, managed });
  };
  return {
    registration(output: CommandOutput) {
      state.record('registration', output);
      const reading = parseRegistration(output.stdout);
      if (reading) publish(reading);
      return reading !== null;
    },
    devices(output: CommandOutput) {
      devices = parseDevices(output.stdout);
    },
    unregistered() {
      devices = [];
      publish(UNREGISTERED);
    },
    /** Forgets "not registered" when the status no longer says so. */
    forgetUnregistered() {
      if (registration?.registered !== false) return;
      registration = null;
      state.set('account', NO_ACCOUNT);
    },
    reset() {
      registration = null;
      devices = [];
    },
    known: () => registration && { registration, devices },
  };
}

/** Stores the settings, and what follows from them. */
function createSettingsStore(
  state: State,
  split: Pick<ReturnType<typeof createSplitStore>, 'fromSettings'>,
  options: Pick<ReturnType<typeof createOptionsStore>, 'settings' | 'forgetSettings'>,
) {
  let proxyPort: number | null = null;
  const publishProxyPort = (port: number | null) => {
    proxyPort = port;
    state.set('tunnel', { ...state.snapshot().tunnel, proxyPort });
  };
  return {
    proxyPort: () => proxyPort,
    /** See `TunnelStore.settings`. */
    take(output: CommandOutput): boolean {
      state.record('settings', output);
      const reading = parseSettings(output.stdout);
      if (!reading) return false;
      split.fromSettings(reading.splitTunnel);
      state.set('settings', reading.settings);
      options.settings(output);
      publishProxyPort(reading.proxyPort);
      return true;
    },
    /** See `TunnelStore.forgetSettings`. */
    forget() {
      state.set('settings', {});
      options.forgetSettings();
      publishProxyPort(null);
    },
  };
}

/** Stores the options from the JSON settings, the text settings and the additional reads. */
function createOptionsStore(state: State) {
  let textSettings: Settings = {};
  /** Unknown settings in the answers of `settings` and `settingsText`. */
  const found: Record<'settings' | 'settingsText', UnknownValue[]> = { settings: [], settingsText: [] };
  let { trustedSsids, virtualNetworks, localNetworkAccess } = NO_OPTIONS;

  /** Publishes the options. JSON settings take precedence, because they are newer; the text has more settings. */
  const publish = () => {
    const read = optionsOf({ ...textSettings, ...state.snapshot().settings });
    const unknown = unlike(found.settings, found.settingsText);
    const options = { ...read, trustedSsids, virtualNetworks, localNetworkAccess };
    state.set('options', { ...options, ...(unknown.length > 0 && { unknown }) });
  };
  return {
    /** Takes the unknown settings of an answer, and publishes the options of the settings that were published before. */
    settings(output: CommandOutput) {
      found.settings = unknownIn('settings', output.stdout);
      publish();
    },
    take(name: Extra, output: CommandOutput) {
      state.record(name, output);
      const text = output.ok ? output.stdout : '';
      if (name === 'settingsText') {
        textSettings = parseSettings(text)?.settings ?? {};
        found.settingsText = unknownIn('settingsText', text);
      } else if (name === 'trustedSsids') trustedSsids = parseSsids(text);
      else if (name === 'virtualNetworks') virtualNetworks = parseVirtualNetworks(text);
      else localNetworkAccess = parseLocalNetworkAccess(text, Date.parse(output.at), localNetworkAccess);
      publish();
    },
    /** Publishes unknown options after the settings were forgotten. */
    forgetSettings() {
      textSettings = {};
      Object.assign(found, { settings: [], settingsText: [] });
      publish();
    },
    reset() {
      textSettings = {};
      Object.assign(found, { settings: [], settingsText: [] });
      ({ trustedSsids, virtualNetworks, localNetworkAccess } = NO_OPTIONS);
      state.set('options', NO_OPTIONS);
    },
  };
}

/** Joins two lists of values; the first has precedence for a name that both have. */
function unlike(first: readonly UnknownValue[], second: readonly UnknownValue[]): UnknownValue[] {
  const has = (name: string) => first.some(each => each.name.toLowerCase() === name.toLowerCase());
  return [...first, ...second.filter(({ name }) => !has(name))];
}

/** Stores the split tunnel from the settings if they list it in full, otherwise from the two lists. */
function createSplitStore(state: State) {
  let settingsListIt = false;
  return {
    fromSettings(lists: SplitTunnel | null) {
      settingsListIt = lists !== null;
      if (lists) state.set('splitTunnel', lists);
    },
    fromList(command: 'splitTunnelIps' | 'splitTunnelHosts', list: 'ips' | 'hosts', output: CommandOutput): boolean {
      state.record(command, output);
      const routes = parseRoutes(output.stdout);
      const split = state.snapshot().splitTunnel;
      if (routes && !settingsListIt)
        state.set('splitTunnel', { ...split, mode: routes.mode ?? split.mode, [list]: routes.routes });
      return routes !== null;
    },
  };
}
