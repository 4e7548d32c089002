// Every action of the API as a command of the tunnel CLI: its words in both generations, its argument, its effects.
import type { ActionName, CommandName } from '../api/schema.ts';
import { Problem } from '../problem.ts';
import * as g from './grammar.ts';
import type { Capabilities } from './version.ts';

/** One command, ready to run. */
export interface Plan {
  /** Without the program and global options; empty for `acceptTerms`, which runs nothing. */
  argv: string[];
  /** Reads whose answers this can have changed. */
  changes: readonly CommandName[];
  /** Pointless without a registration. */
  registered: boolean;
  timeoutMs: number;
}

/**
 * The command for an action. `enableLocalProxy` is one of its steps (see localproxy.ts).
 * @param name of the action
 * @param value its argument, which must be absent where none is taken
 * @throws Problem `argument-rejected` or `unsupported-by-cli`
 */
export function planAction(name: ActionName, value: string | undefined, can: Capabilities): Plan {
  const action: Action = ACTIONS[name];
  if (!action.argument && value !== undefined) {
    throw new Problem('argument-rejected', `The action ${name} takes no value. Leave the value out.`);
  }
  if (action.argument) {
    if (value === undefined) {
      const expected = action.argument('') ?? 'a value';
      throw new Problem('argument-rejected', `The action ${name} needs a value: ${expected}.`);
    }
    const expected = g.plain(value) ?? action.argument(value);
    if (expected) throw new Problem('argument-rejected', `The value of ${name} was refused: expected ${expected}.`);
  }
  const argv = (can.grouped ? action.now : action.flat)?.(value ?? '');
  if (!argv) {
    throw new Problem('unsupported-by-cli', `The installed tunnel CLI has no command for ${name}.`, {
      hint: 'Install a newer version of the tunnel client.',
    });
  }
  return {
    argv,
    changes: action.changes,
    registered: action.registered ?? false,
    timeoutMs: (action.seconds ?? 15) * 1000,
  };
}

interface Action {
  /** Absent: takes no value. */
  argument?: g.Grammar;
  /** Words since 2024.2; null where there is no command. */
  now: ((value: string) => string[]) | null;
  /** Words before; null where there was no command. */
  flat: ((value: string) => string[]) | null;
  changes: readonly CommandName[];
  registered?: true;
  /** Time limit where 15 s are not enough: what talks to the vendor's servers. */
  seconds?: number;
}

const LISTS = ['splitTunnelIps', 'splitTunnelHosts', 'splitTunnelDump'] as const;
const EVERYTHING = ['settings', 'registration', ...LISTS] as const;
const IPS = ['settings', 'splitTunnelIps', 'splitTunnelDump'] as const;
const HOSTS = ['settings', 'splitTunnelHosts', 'splitTunnelDump'] as const;

const words =
  (...fixed: string[]) =>
  () =>
    fixed;
const withValue =
  (...fixed: string[]) =>
  (value: string) => [...fixed, value];

/** The pairs of old and new names follow the descriptions in both versions' help. */
const ACTIONS: Record<ActionName, Action> = {
  // Connecting and disconnecting flip `Always On`.
  connect: { now: words('connect'), flat: words('connect'), changes: ['settings'], registered: true },
  disconnect: { now: words('disconnect'), flat: words('disconnect'), changes: ['settings'], registered: true },
  setMode: { argument: g.mode, now: withValue('mode'), flat: withValue('set-mode'), changes: ['settings'] },
  setProtocol: {
    argument: g.protocol,
    now: withValue('tunnel', 'protocol', 'set'),
    flat: null,
    changes: ['settings'],
  },
  resetProtocol: { now: words('tunnel', 'protocol', 'reset'), flat: null, changes: ['settings'] },
  enableLocalProxy: { now: words('mode', 'proxy'), flat: words('set-mode', 'proxy'), changes: ['settings'] },
  acceptTerms: { now: words(), flat: words(), changes: [] },

  register: { now: words('registration', 'new'), flat: words('register'), changes: EVERYTHING, seconds: 60 },
  registerOrganization: {
    argument: g.team,
    now: withValue('registration', 'new'),
    flat: withValue('teams-enroll'),
    changes: EVERYTHING,
    seconds: 60,
  },
  deleteRegistration: {
    now: words('registration', 'delete'),
    flat: words('delete'),
    changes: EVERYTHING,
    registered: true,
    seconds: 60,
  },
  setLicense: {
    argument: g.license,
    now: withValue('registration', 'license'),
    flat: withValue('set-license'),
    changes: ['registration', 'settings'],
    registered: true,
    seconds: 60,
  },
  setRegistrationToken: {
    argument: g.tokenUrl,
    now: withValue('registration', 'token'),
    flat: withValue('teams-enroll-token'),
    changes: EVERYTHING,
    seconds: 60,
  },
  rotateKeys: {
    now: words('tunnel', 'rotate-keys'),
    flat: words('rotate-keys'),
    changes: ['registration'],
    registered: true,
    seconds: 60,
  },
  resetSettings: {
    now: words('settings', 'reset'),
    flat: words('reset-settings'),
    changes: ['settings', ...LISTS],
  },

  setEndpoint: {
    argument: g.endpoint,
    now: withValue('tunnel', 'endpoint', 'set'),
    flat: withValue('set-custom-endpoint'),
    changes: ['settings'],
  },
  resetEndpoint: {
    now: words('tunnel', 'endpoint', 'reset'),
    flat: words('clear-custom-endpoint'),
    changes: ['settings'],
  },
  setMasqueOptions: {
    argument: g.masqueOption,
    now: withValue('tunnel', 'masque-options', 'set'),
    flat: null,
    changes: ['settings'],
  },
  resetMasqueOptions: { now: words('tunnel', 'masque-options', 'reset'), flat: null, changes: ['settings'] },
  setProxyPort: {
    argument: g.port,
    now: withValue('proxy', 'port'),
    flat: withValue('set-proxy-port'),
    changes: ['settings'],
  },

  setFamilies: {
    argument: g.families,
    now: withValue('dns', 'families'),
    flat: withValue('set-families-mode'),
    changes: ['settings'],
  },
  setGatewayId: {
    argument: g.gatewayId,
    now: withValue('dns', 'gateway-id', 'set'),
    flat: withValue('set-gateway'),
    changes: ['settings'],
  },
  resetGatewayId: {
    now: words('dns', 'gateway-id', 'reset'),
    flat: words('clear-gateway'),
    changes: ['settings'],
  },
  addFallbackDomain: {
    argument: g.domain,
    now: withValue('dns', 'fallback', 'add'),
    flat: withValue('add-fallback-domain'),
    changes: ['settings'],
  },
  removeFallbackDomain: {
    argument: g.domain,
    now: withValue('dns', 'fallback', 'remove'),
    flat: withValue('remove-fallback-domain'),
    changes: ['settings'],
  },
  resetFallbackDomains: {
    now: words('dns', 'fallback', 'reset'),
    flat: words('restore-fallback-domains'),
    changes: ['settings'],
  },
  setDnsLog: {
    argument: g.onOff,
    now: withValue('dns', 'log'),
    flat: value => [`${value}-dns-log`],
    changes: ['settings'],
  },

  addSplitIp: {
    argument: g.address,
    now: withValue('tunnel', 'ip', 'add'),
    flat: withValue('add-excluded-route'),
    changes: IPS,
  },
  removeSplitIp: {
    argument: g.address,
    now: withValue('tunnel', 'ip', 'remove'),
    flat: withValue('remove-excluded-route'),
    changes: IPS,
  },
  addSplitRange: {
    argument: g.range,
    now: withValue('tunnel', 'ip', 'add-range'),
    flat: withValue('add-excluded-route'),
    changes: IPS,
  },
  removeSplitRange: {
    argument: g.range,
    now: withValue('tunnel', 'ip', 'remove-range'),
    flat: withValue('remove-excluded-route'),
    changes: IPS,
  },
  resetSplitIps: { now: words('tunnel', 'ip', 'reset'), flat: null, changes: IPS },
  addSplitHost: {
    argument: g.host,
    now: withValue('tunnel', 'host', 'add'),
    flat: withValue('add-excluded-host'),
    changes: HOSTS,
  },
  removeSplitHost: {
    argument: g.host,
    now: withValue('tunnel', 'host', 'remove'),
    flat: withValue('remove-excluded-host'),
    changes: HOSTS,
  },
  resetSplitHosts: { now: words('tunnel', 'host', 'reset'), flat: null, changes: HOSTS },

  addTrustedSsid: {
    argument: g.ssid,
    now: withValue('trusted', 'ssid', 'add'),
    flat: withValue('add-trusted-ssid'),
    changes: ['settings'],
  },
  removeTrustedSsid: {
    argument: g.ssid,
    now: withValue('trusted', 'ssid', 'remove'),
    flat: withValue('remove-trusted-ssid'),
    changes: ['settings'],
  },
  resetTrustedSsids: { now: words('trusted', 'ssid', 'reset'), flat: null, changes: ['settings'] },
  // Trusting Wi-Fi means switching the tunnel off there, and the old names say what happens to the tunnel.
  setTrustedWifi: {
    argument: g.onOff,
    now: withValue('trusted', 'wifi'),
    flat: value => [value === 'enable' ? 'disable-wifi' : 'enable-wifi'],
    changes: ['settings'],
  },
  setTrustedEthernet: {
    argument: g.onOff,
    now: withValue('trusted', 'ethernet'),
    flat: value => [value === 'enable' ? 'disable-ethernet' : 'enable-ethernet'],
    changes: ['settings'],
  },

  allowLocalNetwork: {
    now: words('override', 'local-network', 'allow'),
    flat: null,
    changes: ['settings', 'splitTunnelDump'],
    registered: true,
  },
  stopLocalNetwork: {
    now: words('override', 'local-network', 'stop'),
    flat: null,
    changes: ['settings', 'splitTunnelDump'],
    registered: true,
  },
  setOverrideCode: {
    argument: g.overrideCode,
    now: withValue('override', 'unlock'),
    flat: withValue('override'),
    changes: ['settings'],
    registered: true,
  },
  setVirtualNetwork: {
    argument: g.identifier,
    now: withValue('vnet'),
    flat: withValue('set-virtual-network'),
    changes: ['settings', 'splitTunnelDump'],
    registered: true,
  },
  setEnvironment: {
    argument: g.identifier,
    now: withValue('environment', 'set'),
    flat: null,
    changes: ['settings'],
  },
  resetEnvironment: { now: words('environment', 'reset'), flat: null, changes: ['settings'] },
};
