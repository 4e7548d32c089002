// Lists the actions of the API: what each one does and what it takes. The request's type, OpenAPI, the words of the command
// line and the daemon's grammar of arguments derive from this table.

/** A kind of argument. */
export interface Argument {
  /** How help names it, such as `ADDRESS:PORT`. */
  placeholder: string;
  /** What a well-formed value is; follows the word "expected". */
  expected: string;
  /** All values, where there are few. */
  values?: readonly string[];
  /** Never on a command line, in a log or on the screen. */
  secret?: true;
}

/** Values of `setMode`: the arguments of `warp-cli mode`. */
export const MODES = ['warp', 'doh', 'warp+doh', 'dot', 'warp+dot', 'proxy', 'tunnel_only'] as const;
/** Values of `setProtocol`; warp-cli distinguishes upper and lower case. */
export const PROTOCOLS = ['MASQUE', 'WireGuard'] as const;

function choice<const V extends readonly string[]>(values: V) {
  return { placeholder: values.join('|'), expected: `one of ${values.join(', ')}`, values };
}

export const ARGUMENTS = {
  mode: choice(MODES),
  protocol: choice(PROTOCOLS),
  masqueOptions: choice(['h3-only', 'h2-only', 'h3-with-h2-fallback']),
  families: choice(['off', 'malware', 'full']),
  onOff: choice(['enable', 'disable']),
  environment: choice(['Normal', 'FedRAMP-High']),
  address: { placeholder: 'IP', expected: 'an IP address such as 192.0.2.1 or 2001:db8::1' },
  range: { placeholder: 'CIDR', expected: 'an address range such as 192.0.2.0/24 or 2001:db8::/32' },
  host: { placeholder: 'HOST', expected: 'a host name such as www.example.com or *.example.com' },
  domain: { placeholder: 'DOMAIN', expected: 'a domain name such as corp or example.com' },
  endpoint: {
    placeholder: 'ADDRESS:PORT',
    expected: 'an address and port such as 162.159.198.2:443 or [2606:4700:103::2]:443',
  },
  port: { placeholder: 'PORT', expected: 'a port from 1 to 65535' },
  ssid: { placeholder: 'SSID', expected: 'a network name (SSID) of at most 32 bytes' },
  team: { placeholder: 'NAME', expected: 'a team name of letters, digits and hyphens' },
  gatewayId: { placeholder: 'ID', expected: 'a Gateway ID of letters and digits' },
  virtualNetwork: { placeholder: 'ID', expected: 'an identifier of letters, digits, hyphens and underscores' },
  license: { placeholder: 'KEY', expected: 'a license key of three groups of eight characters', secret: true },
  tokenUrl: {
    placeholder: 'URL',
    expected: 'the address com.cloudflare.warp://<team>.cloudflareaccess.com/auth?token=… from the sign-in page',
    secret: true,
  },
  overrideCode: {
    placeholder: 'CODE',
    expected: 'the override code from your administrator, 4 to 32 letters and digits',
    secret: true,
  },
} as const satisfies Record<string, Argument>;
export type ArgumentName = keyof typeof ARGUMENTS;

export const ACTIONS = {
  connect: { summary: 'connect the tunnel', argument: null },
  disconnect: { summary: 'disconnect the tunnel', argument: null },
  setMode: { summary: "set the client's mode", argument: 'mode' },
  setProtocol: { summary: 'set the tunnel protocol', argument: 'protocol' },
  enableLocalProxy: {
    summary: 'switch to local proxy mode, connect, and wait until the proxy answers',
    argument: null,
  },
  resetSplitIps: { summary: 'reset the addresses and ranges of the split tunnel', argument: null },
  acceptTerms: { summary: 'accept the terms of service', argument: null },
  register: { summary: 'register this device', argument: null },
  registerOrganization: { summary: 'register this device with an organization', argument: 'team' },
  deleteRegistration: { summary: "delete this device's registration", argument: null },
  setLicense: { summary: 'apply a license key', argument: 'license' },
  setRegistrationToken: { summary: 'finish a registration with the token of the browser', argument: 'tokenUrl' },
  rotateKeys: { summary: 'make new tunnel keys', argument: null },
  resetSettings: { summary: 'reset all settings of the tunnel client', argument: null },
  resetProtocol: { summary: 'back to the default protocol', argument: null },
  setEndpoint: { summary: 'use one tunnel endpoint', argument: 'endpoint' },
  resetEndpoint: { summary: 'back to the default endpoints', argument: null },
  setMasqueOptions: { summary: 'choose the HTTP versions of MASQUE', argument: 'masqueOptions' },
  resetMasqueOptions: { summary: 'back to the default MASQUE options', argument: null },
  setProxyPort: { summary: 'set the port of the local proxy', argument: 'port' },
  setFamilies: { summary: 'filter DNS for families', argument: 'families' },
  setGatewayId: { summary: 'use a Gateway DNS location', argument: 'gatewayId' },
  resetGatewayId: { summary: 'use no Gateway DNS location', argument: null },
  addFallbackDomain: { summary: 'resolve a domain outside the tunnel', argument: 'domain' },
  removeFallbackDomain: { summary: 'no longer resolve a domain outside the tunnel', argument: 'domain' },
  resetFallbackDomains: { summary: 'back to the default fallback domains', argument: null },
  setDnsLog: { summary: 'log DNS queries', argument: 'onOff' },
  addSplitIp: { summary: 'add an address to the split tunnel', argument: 'address' },
  removeSplitIp: { summary: 'remove an address from the split tunnel', argument: 'address' },
  addSplitRange: { summary: 'add a range to the split tunnel', argument: 'range' },
  removeSplitRange: { summary: 'remove a range from the split tunnel', argument: 'range' },
  addSplitHost: { summary: 'add a host to the split tunnel', argument: 'host' },
  removeSplitHost: { summary: 'remove a host from the split tunnel', argument: 'host' },
  resetSplitHosts: { summary: 'reset the hosts of the split tunnel', argument: null },
  addTrustedSsid: { summary: 'disconnect on a Wi-Fi network', argument: 'ssid' },
  removeTrustedSsid: { summary: 'no longer disconnect on a Wi-Fi network', argument: 'ssid' },
  resetTrustedSsids: { summary: 'trust no Wi-Fi network by name', argument: null },
  setTrustedWifi: { summary: 'disconnect on every Wi-Fi network', argument: 'onOff' },
  setTrustedEthernet: { summary: 'disconnect on wired networks', argument: 'onOff' },
  allowLocalNetwork: { summary: 'allow access to the local network for a while', argument: null },
  stopLocalNetwork: { summary: 'end the access to the local network', argument: null },
  setOverrideCode: { summary: "lift the organization's lock with an admin's code", argument: 'overrideCode' },
  setVirtualNetwork: { summary: 'select a virtual network', argument: 'virtualNetwork' },
  setEnvironment: { summary: 'select the compliance environment', argument: 'environment' },
  resetEnvironment: { summary: 'back to the default compliance environment', argument: null },
} as const satisfies Record<string, { summary: string; argument: ArgumentName | null }>;
export type ActionName = keyof typeof ACTIONS;
export const ACTION_NAMES = Object.keys(ACTIONS) as [ActionName, ...ActionName[]];

/** The type of a kind of argument: one of its values, or any text. */
type Value<N extends ArgumentName> = (typeof ARGUMENTS)[N] extends { values: readonly (infer V)[] } ? V : string;
/** The type of an action's argument; undefined for an action that takes none. */
type ValueOf<A extends ActionName> = (typeof ACTIONS)[A]['argument'] extends infer N extends ArgumentName
  ? Value<N>
  : undefined;

/** The body of `POST /api/action`: an action, with a value where the action takes one. */
export type ActionRequest = {
  [A in ActionName]: ValueOf<A> extends undefined ? { action: A; value?: undefined } : { action: A; value: ValueOf<A> };
}[ActionName];

/** What an action takes; null for nothing. */
export function argumentOf(action: ActionName): Argument | null {
  const { argument } = ACTIONS[action];
  return argument === null ? null : ARGUMENTS[argument];
}

/**
 * A request from an action and a value that are only known at run time. The daemon checks the value and answers
 * `argument-rejected` where it doesn't fit.
 */
export function actionRequest(action: ActionName, value?: string): ActionRequest {
  return (value === undefined ? { action } : { action, value }) as ActionRequest;
}
