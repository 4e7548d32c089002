// What is known of the tunnel, put together from what was heard and read, and told to the state only when it changed.
import type { Blocked, CommandOutput, Device } from '../api/schema.ts';
import { NO_ACCOUNT, NO_TUNNEL, type State } from '../state.ts';
import { parseDevices, parseRegistration, type RegistrationReading, UNREGISTERED } from './parse-registration.ts';
import { parseSettings } from './parse-settings.ts';
import { parseRoutes } from './parse-split.ts';
import { parseStats } from './parse-stats.ts';
import { type StatusReading, UNKNOWN } from './parse-status.ts';

export interface Facts {
  /** A new status. `raw` is what was printed, redacted; null for none. */
  status(reading: StatusReading, raw: string | null): void;
  /** A read was refused: what a user must do first. */
  hinder(blocked: Blocked, raw: string | null): void;
  /** Takes back a hindrance, once a read shows that it is gone. False when it was none of these. */
  unhinder(...blocked: Blocked[]): boolean;
  /** Whether any status has been told since the last `forget`. */
  heard(): boolean;
  /** What was heard is no longer vouched for by a listener. */
  unhear(): void;
  /** Another program: what the last one told counts no longer. */
  forget(): void;
  /** Each takes an answer; false when no rule recognises it. */
  settings(output: CommandOutput): boolean;
  splitIps(output: CommandOutput): boolean;
  splitHosts(output: CommandOutput): boolean;
  stats(output: CommandOutput): boolean;
  registration(output: CommandOutput): boolean;
  devices(output: CommandOutput): void;
  unregistered(): void;
  /** null before the first answer. */
  account(): { registration: RegistrationReading; devices: Device[] } | null;
}

export function createFacts(state: State): Facts {
  let reading = UNKNOWN;
  let raw: string | null = null;
  let hindrance: Blocked | null = null;
  let heard = false;
  let proxyPort: number | null = null;
  /** The settings listing tells the split tunnel in full; only where it doesn't, the lists do. */
  let splitFromSettings = false;
  let registration: RegistrationReading | null = null;
  let devices: Device[] = [];

  const publishStatus = () => {
    const before = state.snapshot().status;
    const blocked = reading.blocked ?? hindrance;
    const same = before.state === reading.state && before.blocked === blocked;
    state.set('status', { ...reading, blocked, since: same ? before.since : new Date().toISOString(), raw });
    if (reading.state !== 'connected') state.set('tunnel', { ...NO_TUNNEL, proxyPort });
  };

  /** "Not registered" holds only as long as the status says so. */
  const forgetUnregistered = () => {
    if (registration?.registered !== false) return;
    registration = null;
    state.set('account', NO_ACCOUNT);
  };

  const publishAccount = (known: RegistrationReading) => {
    registration = known;
    const { registered, type, organization, managed } = known;
    state.set('account', { registered, type, organization, managed });
  };

  const facts: Facts = {
    status(next, text) {
      const { blocked } = state.snapshot().status;
      reading = next;
      raw = text;
      heard = true;
      // A listener that speaks proves that nothing stands in its way; it says nothing about who may read settings.
      if (hindrance !== 'not-authorized') hindrance = null;
      publishStatus();
      if (next.blocked === 'not-registered') facts.unregistered();
      else if (blocked !== null && blocked !== next.blocked) forgetUnregistered();
    },
    hinder(blocked, text) {
      hindrance = blocked;
      if (blocked !== 'not-authorized' && blocked !== 'not-registered') {
        // What was heard before may be long over.
        reading = UNKNOWN;
        raw = text;
      }
      // A tunnel that is up refutes it.
      if (blocked === 'not-registered' && reading.state === 'connected') hindrance = null;
      else if (blocked === 'not-registered') facts.unregistered();
      publishStatus();
    },
    unhinder(...blocked) {
      if (!hindrance || !blocked.includes(hindrance)) return false;
      hindrance = null;
      publishStatus();
      return true;
    },
    heard: () => heard,
    unhear() {
      heard = false;
    },
    forget() {
      heard = false;
      registration = null;
      devices = [];
      if (hindrance) facts.unhinder(hindrance);
    },

    settings(output) {
      state.record('settings', output);
      const found = parseSettings(output.stdout);
      if (!found) return false;
      state.set('settings', found.settings);
      proxyPort = found.proxyPort;
      state.set('tunnel', { ...state.snapshot().tunnel, proxyPort });
      splitFromSettings = found.splitTunnel !== null;
      if (found.splitTunnel) state.set('splitTunnel', found.splitTunnel);
      return true;
    },
    splitIps(output) {
      state.record('splitTunnelIps', output);
      const found = parseRoutes(output.stdout);
      const split = state.snapshot().splitTunnel;
      if (found && !splitFromSettings) {
        state.set('splitTunnel', { ...split, mode: found.mode ?? split.mode, ips: found.routes });
      }
      return found !== null;
    },
    splitHosts(output) {
      state.record('splitTunnelHosts', output);
      const found = parseRoutes(output.stdout);
      const split = state.snapshot().splitTunnel;
      if (found && !splitFromSettings) {
        state.set('splitTunnel', { ...split, mode: found.mode ?? split.mode, hosts: found.routes });
      }
      return found !== null;
    },
    stats(output) {
      state.record('tunnelStats', output);
      const found = parseStats(output.stdout);
      if (found && reading.state === 'connected') state.set('tunnel', { ...found, proxyPort, at: output.at });
      return found !== null;
    },
    registration(output) {
      state.record('registration', output);
      const found = parseRegistration(output.stdout);
      if (found) publishAccount(found);
      return found !== null;
    },
    devices(output) {
      devices = parseDevices(output.stdout);
    },
    unregistered() {
      devices = [];
      publishAccount(UNREGISTERED);
    },
    account: () => registration && { registration, devices },
  };
  return facts;
}
