// Maps every action of the API to a command of the tunnel CLI: words, argument, effects.
import { ACTIONS, type ActionName, type ActionRequest, argumentOf } from '../../api/actions.ts';
import type { CommandName } from '../../api/schema.ts';
import { Problem } from '../../problem.ts';
import { LISTS } from '../cli/read-commands.ts';
import type { Capabilities } from '../cli/version.ts';
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
  if (!isSupported(name, can)) {
    throw new Problem('unsupported-by-cli', `The installed tunnel CLI has no command for ${name}.`, {
      hint: 'Install a newer version of the tunnel client.',
    });
  }
  return {
    argv: value === undefined ? action.words : [...action.words, value],
    changes: action.changes,
    registered: action.registered ?? false,
    timeoutMs: (action.seconds ?? 15) * 1000,
  };
}

/** True if a client with these capabilities has a command for the action. */
export function isSupported(action: ActionName, can: Capabilities): boolean {
  const { needs }: Action = COMMANDS[action];
  return !needs || can[needs];
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
  /** The words, which the value follows where there is one. */
  words: string[];
  /** The capability without which there is no such command. */
  needs?: 'protocol';
  changes: readonly CommandName[];
  registered?: true;
  /** Time limit where 15 s are not enough: what talks to the vendor's servers. */
  seconds?: number;
}

const EVERYTHING = ['settings', 'registration', ...LISTS] as const;
const IPS = ['settings', 'splitTunnelIps', 'splitTunnelDump'] as const;
const HOSTS = ['settings', 'splitTunnelHosts', 'splitTunnelDump'] as const;

const COMMANDS: Record<ActionName, Action> = {
  // Connecting and disconnecting flip `Always On`.
  connect: { words: ['connect'], changes: ['settings'], registered: true },
  disconnect: { words: ['disconnect'], changes: ['settings'], registered: true },
  setMode: { words: ['mode'], changes: ['settings'] },
  setProtocol: { words: ['tunnel', 'protocol', 'set'], needs: 'protocol', changes: ['settings'] },
  resetProtocol: { words: ['tunnel', 'protocol', 'reset'], needs: 'protocol', changes: ['settings'] },
  enableLocalProxy: { words: ['mode', 'proxy'], changes: ['settings'] },
  acceptTerms: { words: [], changes: [] },

  register: { words: ['registration', 'new'], changes: EVERYTHING, seconds: 60 },
  registerOrganization: { words: ['registration', 'new'], changes: EVERYTHING, seconds: 60 },
  deleteRegistration: { words: ['registration', 'delete'], changes: EVERYTHING, registered: true, seconds: 60 },
  setLicense: {
    words: ['registration', 'license'],
    changes: ['registration', 'settings'],
    registered: true,
    seconds: 60,
  },
  setRegistrationToken: { words: ['registration', 'token'], changes: EVERYTHING, seconds: 60 },
  rotateKeys: { words: ['tunnel', 'rotate-keys'], changes: ['registration'], registered: true, seconds: 60 },
  resetSettings: { words: ['settings', 'reset'], changes: ['settings', 'settingsText', 'trustedSsids', ...LISTS] },

  setEndpoint: { words: ['tunnel', 'endpoint', 'set'], changes: ['settings', 'settingsText'] },
  resetEndpoint: { words: ['tunnel', 'endpoint', 'reset'], changes: ['settings', 'settingsText'] },
  setMasqueOptions: { words: ['tunnel', 'masque-options', 'set'], changes: ['settings', 'settingsText'] },
  resetMasqueOptions: { words: ['tunnel', 'masque-options', 'reset'], changes: ['settings', 'settingsText'] },
  setProxyPort: { words: ['proxy', 'port'], changes: ['settings'] },

  setFamilies: { words: ['dns', 'families'], changes: ['settings', 'settingsText'] },
  setGatewayId: { words: ['dns', 'gateway-id', 'set'], changes: ['settings', 'settingsText'] },
  resetGatewayId: { words: ['dns', 'gateway-id', 'reset'], changes: ['settings', 'settingsText'] },
  addFallbackDomain: { words: ['dns', 'fallback', 'add'], changes: ['settings'] },
  removeFallbackDomain: { words: ['dns', 'fallback', 'remove'], changes: ['settings'] },
  resetFallbackDomains: { words: ['dns', 'fallback', 'reset'], changes: ['settings'] },
  setDnsLog: { words: ['dns', 'log'], changes: ['settings'] },

  addSplitIp: { words: ['tunnel', 'ip', 'add'], changes: IPS },
  removeSplitIp: { words: ['tunnel', 'ip', 'remove'], changes: IPS },
  addSplitRange: { words: ['tunnel', 'ip', 'add-range'], changes: IPS },
  removeSplitRange: { words: ['tunnel', 'ip', 'remove-range'], changes: IPS },
  resetSplitIps: { words: ['tunnel', 'ip', 'reset'], changes: IPS },
  addSplitHost: { words: ['tunnel', 'host', 'add'], changes: HOSTS },
  removeSplitHost: { words: ['tunnel', 'host', 'remove'], changes: HOSTS },
  resetSplitHosts: { words: ['tunnel', 'host', 'reset'], changes: HOSTS },

  addTrustedSsid: { words: ['trusted', 'ssid', 'add'], changes: ['trustedSsids'] },
  removeTrustedSsid: { words: ['trusted', 'ssid', 'remove'], changes: ['trustedSsids'] },
  resetTrustedSsids: { words: ['trusted', 'ssid', 'reset'], changes: ['trustedSsids'] },
  setTrustedWifi: { words: ['trusted', 'wifi'], changes: ['settings'] },
  setTrustedEthernet: { words: ['trusted', 'ethernet'], changes: ['settings'] },

  allowLocalNetwork: {
    words: ['override', 'local-network', 'allow'],
    changes: ['settings', 'settingsText', 'splitTunnelDump', 'localNetworkAccess'],
    registered: true,
  },
  stopLocalNetwork: {
    words: ['override', 'local-network', 'stop'],
    changes: ['settings', 'settingsText', 'splitTunnelDump', 'localNetworkAccess'],
    registered: true,
  },
  setOverrideCode: { words: ['override', 'unlock'], changes: ['settings', 'settingsText'], registered: true },
  setVirtualNetwork: { words: ['vnet'], changes: ['settings', 'splitTunnelDump', 'virtualNetworks'], registered: true },
  setEnvironment: { words: ['environment', 'set'], changes: ['settings', 'settingsText'] },
  resetEnvironment: { words: ['environment', 'reset'], changes: ['settings', 'settingsText'] },
};
