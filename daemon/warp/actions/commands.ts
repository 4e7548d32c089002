// Maps every action of the API to a command of the tunnel CLI: words in both generations, argument, effects.
import { ACTIONS, type ActionName, type ActionRequest, argumentOf } from '../../api/actions.ts';
import type { CommandName } from '../../api/schema.ts';
import { Problem } from '../../problem.ts';
import type { Capabilities } from '../cli/version.ts';
import { LISTS } from '../read/reads.ts';
import { checkArgument } from './grammar.ts';

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
 * @throws Problem `argument-rejected` or `unsupported-by-cli`
 */
export function planAction({ action: name, value }: ActionRequest, can: Capabilities): Plan {
  checkValue(name, value);
  const action: Action = COMMANDS[name];
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

/** Whether a version has a command for an action. */
export function isSupported(action: ActionName, can: Capabilities): boolean {
  const { now, flat }: Action = COMMANDS[action];
  return (can.grouped ? now : flat) !== null;
}

/** @throws Problem `argument-rejected` */
function checkValue(name: ActionName, value: string | undefined): void {
  const { argument } = ACTIONS[name];
  if (argument === null) {
    if (value === undefined) return;
    throw new Problem('argument-rejected', `The action ${name} takes no value. Leave the value out.`);
  }
  if (value === undefined) {
    throw new Problem('argument-rejected', `The action ${name} needs a value: ${argumentOf(name)?.expected}.`);
  }
  const expected = checkArgument(argument, value);
  if (expected) throw new Problem('argument-rejected', `The value of ${name} was refused: expected ${expected}.`);
}

interface Action {
  /** Words since 2024.2; null where there is no command. */
  now: ((value: string) => string[]) | null;
  /** Words before; null where there was no command. */
  flat: ((value: string) => string[]) | null;
  changes: readonly CommandName[];
  registered?: true;
  /** Time limit where 15 s are not enough: what talks to the vendor's servers. */
  seconds?: number;
}

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
const COMMANDS: Record<ActionName, Action> = {
  // Connecting and disconnecting flip `Always On`.
  connect: { now: words('connect'), flat: words('connect'), changes: ['settings'], registered: true },
  disconnect: { now: words('disconnect'), flat: words('disconnect'), changes: ['settings'], registered: true },
  setMode: { now: withValue('mode'), flat: withValue('set-mode'), changes: ['settings'] },
  setProtocol: {
    now: withValue('tunnel', 'protocol', 'set'),
    flat: null,
    changes: ['settings'],
  },
  resetProtocol: { now: words('tunnel', 'protocol', 'reset'), flat: null, changes: ['settings'] },
  enableLocalProxy: { now: words('mode', 'proxy'), flat: words('set-mode', 'proxy'), changes: ['settings'] },
  acceptTerms: { now: words(), flat: words(), changes: [] },

  register: { now: words('registration', 'new'), flat: words('register'), changes: EVERYTHING, seconds: 60 },
  registerOrganization: {
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
    now: withValue('registration', 'license'),
    flat: withValue('set-license'),
    changes: ['registration', 'settings'],
    registered: true,
    seconds: 60,
  },
  setRegistrationToken: {
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
    changes: ['settings', 'settingsText', 'trustedSsids', ...LISTS],
  },

  setEndpoint: {
    now: withValue('tunnel', 'endpoint', 'set'),
    flat: withValue('set-custom-endpoint'),
    changes: ['settings', 'settingsText'],
  },
  resetEndpoint: {
    now: words('tunnel', 'endpoint', 'reset'),
    flat: words('clear-custom-endpoint'),
    changes: ['settings', 'settingsText'],
  },
  setMasqueOptions: {
    now: withValue('tunnel', 'masque-options', 'set'),
    flat: null,
    changes: ['settings', 'settingsText'],
  },
  resetMasqueOptions: {
    now: words('tunnel', 'masque-options', 'reset'),
    flat: null,
    changes: ['settings', 'settingsText'],
  },
  setProxyPort: {
    now: withValue('proxy', 'port'),
    flat: withValue('set-proxy-port'),
    changes: ['settings'],
  },

  setFamilies: {
    now: withValue('dns', 'families'),
    flat: withValue('set-families-mode'),
    changes: ['settings', 'settingsText'],
  },
  setGatewayId: {
    now: withValue('dns', 'gateway-id', 'set'),
    flat: withValue('set-gateway'),
    changes: ['settings', 'settingsText'],
  },
  resetGatewayId: {
    now: words('dns', 'gateway-id', 'reset'),
    flat: words('clear-gateway'),
    changes: ['settings', 'settingsText'],
  },
  addFallbackDomain: {
    now: withValue('dns', 'fallback', 'add'),
    flat: withValue('add-fallback-domain'),
    changes: ['settings'],
  },
  removeFallbackDomain: {
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
    now: withValue('dns', 'log'),
    flat: value => [`${value}-dns-log`],
    changes: ['settings'],
  },

  addSplitIp: {
    now: withValue('tunnel', 'ip', 'add'),
    flat: withValue('add-excluded-route'),
    changes: IPS,
  },
  removeSplitIp: {
    now: withValue('tunnel', 'ip', 'remove'),
    flat: withValue('remove-excluded-route'),
    changes: IPS,
  },
  addSplitRange: {
    now: withValue('tunnel', 'ip', 'add-range'),
    flat: withValue('add-excluded-route'),
    changes: IPS,
  },
  removeSplitRange: {
    now: withValue('tunnel', 'ip', 'remove-range'),
    flat: withValue('remove-excluded-route'),
    changes: IPS,
  },
  resetSplitIps: { now: words('tunnel', 'ip', 'reset'), flat: null, changes: IPS },
  addSplitHost: {
    now: withValue('tunnel', 'host', 'add'),
    flat: withValue('add-excluded-host'),
    changes: HOSTS,
  },
  removeSplitHost: {
    now: withValue('tunnel', 'host', 'remove'),
    flat: withValue('remove-excluded-host'),
    changes: HOSTS,
  },
  resetSplitHosts: { now: words('tunnel', 'host', 'reset'), flat: null, changes: HOSTS },

  addTrustedSsid: {
    now: withValue('trusted', 'ssid', 'add'),
    flat: withValue('add-trusted-ssid'),
    changes: ['trustedSsids'],
  },
  removeTrustedSsid: {
    now: withValue('trusted', 'ssid', 'remove'),
    flat: withValue('remove-trusted-ssid'),
    changes: ['trustedSsids'],
  },
  resetTrustedSsids: { now: words('trusted', 'ssid', 'reset'), flat: null, changes: ['trustedSsids'] },
  // Trusting Wi-Fi means switching the tunnel off there, and the old names say what happens to the tunnel.
  setTrustedWifi: {
    now: withValue('trusted', 'wifi'),
    flat: value => [value === 'enable' ? 'disable-wifi' : 'enable-wifi'],
    changes: ['settings'],
  },
  setTrustedEthernet: {
    now: withValue('trusted', 'ethernet'),
    flat: value => [value === 'enable' ? 'disable-ethernet' : 'enable-ethernet'],
    changes: ['settings'],
  },

  allowLocalNetwork: {
    now: words('override', 'local-network', 'allow'),
    flat: null,
    changes: ['settings', 'settingsText', 'splitTunnelDump'],
    registered: true,
  },
  stopLocalNetwork: {
    now: words('override', 'local-network', 'stop'),
    flat: null,
    changes: ['settings', 'settingsText', 'splitTunnelDump'],
    registered: true,
  },
  setOverrideCode: {
    now: withValue('override', 'unlock'),
    flat: withValue('override'),
    changes: ['settings', 'settingsText'],
    registered: true,
  },
  setVirtualNetwork: {
    now: withValue('vnet'),
    flat: withValue('set-virtual-network'),
    changes: ['settings', 'splitTunnelDump', 'virtualNetworks'],
    registered: true,
  },
  setEnvironment: {
    now: withValue('environment', 'set'),
    flat: null,
    changes: ['settings', 'settingsText'],
  },
  resetEnvironment: { now: words('environment', 'reset'), flat: null, changes: ['settings', 'settingsText'] },
};
