// Maps every action of the API to a command of the tunnel CLI, and checks the syntax of its argument.
import { isIP } from 'node:net';
import {
  ACTIONS,
  type ActionName,
  type ActionRequest,
  ARGUMENTS,
  type Argument,
  type ArgumentName,
  argumentOf,
} from '../../api/actions.ts';
import type { CommandName } from '../../api/schema.ts';
import { Problem } from '../../problem.ts';
import { type Capabilities, LISTS } from '../cli/version.ts';

/** A command that is ready to run. */
export interface Plan {
  /** Arguments without the program and global options; empty for `acceptTerms`, which runs no command. */
  argv: string[];
  /** Reads with answers that the command may change. */
  changes: readonly CommandName[];
  /** True if the command is useless without a registration. */
  registered: boolean;
  timeoutMs: number;
}

/**
 * Plans the command for an action. For `enableLocalProxy`, plans only the change of mode (see localproxy.ts).
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
  /** Arguments before the value, if there is a value. */
  words: string[];
  /** The capability that the command requires. */
  needs?: 'protocol' | 'masqueOptions';
  changes: readonly CommandName[];
  registered?: true;
  /** Time limit of commands that contact the vendor's servers and need more than 15 s. */
  seconds?: number;
}

const EVERYTHING = ['settings', 'registration', ...LISTS] as const;
const IPS = ['settings', 'splitTunnelIps', 'splitTunnelDump'] as const;
const HOSTS = ['settings', 'splitTunnelHosts', 'splitTunnelDump'] as const;

const COMMANDS: Record<ActionName, Action> = {
  // connecting and disconnecting change `Always On`
  connect: { words: ['connect'], changes: ['settings'], registered: true },
  disconnect: { words: ['disconnect'], changes: ['settings'], registered: true },
  setMode: { words: ['mode'], changes: ['settings'] },
  setProtocol: { words: ['tunnel', 'protocol', 'set'], needs: 'protocol', changes: ['settings'] },
  resetProtocol: { words: ['tunnel', 'protocol', 'reset'], needs: 'protocol', changes: ['settings'] },
  enableLocalProxy: { words: ['mode', 'proxy'], changes: ['settings'] },
  acceptTerms: { words: [], changes: [] },

  register: { words: ['registration', 'new'], changes: EVERYTHING, seconds: 60 },
  registerOrganization: { words: ['registration', 'new'], changes: EVERYTHING, seconds: 60 },
  // also without a registration, because an old one may be in the way of a new one
  deleteRegistration: { words: ['registration', 'delete'], changes: EVERYTHING, seconds: 60 },
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
  setMasqueOptions: {
    words: ['tunnel', 'masque-options', 'set'],
    changes: ['settings', 'settingsText'],
    needs: 'masqueOptions',
  },
  resetMasqueOptions: {
    words: ['tunnel', 'masque-options', 'reset'],
    changes: ['settings', 'settingsText'],
    needs: 'masqueOptions',
  },
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

type Check = (value: string) => boolean;

/** Checks for the kinds of arguments without a fixed list of values. */
const CHECKS: { [N in ArgumentName as (typeof ARGUMENTS)[N] extends { values: unknown } ? never : N]: Check } = {
  address: isAddress,
  range(value) {
    const [, base = '', bits = ''] = /^([^/]+)\/(0|[1-9]\d{0,2})$/.exec(value) ?? [];
    return isAddress(base) && Number(bits) <= (isIP(base) === 4 ? 32 : 128);
  },
  endpoint(value) {
    const [, v6, v4, number = ''] = /^(?:\[([^\]]+)\]|([^[\]:]+)):(\d+)$/.exec(value) ?? [];
    const isValid = v6 === undefined ? isIP(v4 ?? '') === 4 : isIP(v6) === 6 && isAddress(v6);
    return isValid && isPort(number);
  },
  port: isPort,
  domain: isDomain,
  // a name, or a wildcard for every name below it
  host: value => isDomain(value.replace(/^\*\./, '')),
  // the first label of `<team>.cloudflareaccess.com`
  team: value => LABEL.test(value),
  license: value => /^[0-9A-Za-z]{8}(-[0-9A-Za-z]{8}){2}$/.test(value),
  // the address with the token to which a team's sign-in redirects the browser
  tokenUrl: value => value.length <= 8192 && TOKEN_URL.test(value),
  // IEEE 802.11: at most 32 bytes
  ssid: value => Buffer.byteLength(value) <= 32 && value === value.trim(),
  overrideCode: value => /^(?=.*\d)[0-9A-Za-z]{4,32}$/.test(value),
  gatewayId: value => /^[0-9A-Za-z]{1,64}$/.test(value),
  virtualNetwork: value => /^[0-9A-Za-z][0-9A-Za-z_-]{0,63}$/.test(value),
};

/**
 * Checks the value of an action.
 * @returns null for a valid value, else a description of valid values, to follow the word "expected".
 */
function checkArgument(name: ArgumentName, value: string): string | null {
  const { values, expected }: Argument = ARGUMENTS[name];
  const isValid = values ? values.includes(value) : CHECKS[name as keyof typeof CHECKS](value);
  return plain(value) ?? (isValid ? null : expected);
}

/**
 * Checks the rules for every argument: it is no option, and contains no character that could mislead a terminal or reader.
 * Cc, Cf, Zl, Zp: control and invisible formatting characters, line and paragraph separators.
 */
function plain(value: string): string | null {
  if (value === '') return 'a value';
  if (value.length > 8192) return 'at most 8192 characters';
  if (value.startsWith('-')) return 'a value that does not start with a hyphen';
  if (/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u.test(value)) return 'a value without control or invisible characters';
  return null;
}

const LABEL = /^(?!-)[0-9A-Za-z-]{1,63}(?<!-)$/;
const TOKEN_URL =
  /^com\.cloudflare\.warp:\/\/(?:[0-9a-z-]{1,63}\.){1,4}cloudflareaccess\.(?:com|us)\/auth\?(?:[\w.~%+/=&-]*&)?token=[\w.~%+/=&-]+$/i;

/** Rejects a zone (`%eth0`), which node:net accepts but a route can't have. */
function isAddress(value: string): boolean {
  return isIP(value) !== 0 && !value.includes('%');
}

function isPort(value: string): boolean {
  return /^[1-9]\d{0,4}$/.test(value) && Number(value) <= 65_535;
}

/** Rejects a name with a number as its last label, because it is a mistyped address. */
function isDomain(value: string): boolean {
  const labels = value.split('.');
  const isValid = labels.every(label => LABEL.test(label.replaceAll('_', 'x')));
  return value.length <= 253 && isValid && !/^\d+$/.test(labels.at(-1) ?? '');
}
