// Lists the actions of the API, with summary, argument, subject and the events that show their result. The request's type,
// OpenAPI, the command line, the daemon's argument grammar and the clients' waiting derive from this table. Free of zod, so
// that every client can load it.

/** Subjects of temporary changes; each has at most one change at a time. */
export const SUBJECTS = [
  'connection',
  'mode',
  'protocol',
  'endpoint',
  'masque',
  'proxyPort',
  'families',
  'gatewayId',
  'fallback',
  'routes',
  'killSwitch',
] as const;

/** Subjects that the daemon itself reverts. The root service reverts the kill switch, because it outlives the daemon. */
export type TunnelSubject = Exclude<(typeof SUBJECTS)[number], 'killSwitch'>;

/** A kind of argument. */
export interface Argument {
  /** Placeholder in help texts, such as `ADDRESS:PORT`. */
  placeholder: string;
  /** Description of a valid value; follows the word "expected". */
  expected: string;
  /** The valid values; absent if any text of the form is valid. */
  values?: readonly string[];
  /** Keeps the value off command lines, logs and the screen. */
  secret?: true;
}

/** Values of `setMode`, as `warp-cli mode` takes them. */
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

/** Returns the team of a pasted team domain such as `https://acme.cloudflareaccess.com`, or any other text unchanged. */
export function teamOf(text: string): string {
  return /^(?:https:\/\/)?([^./?#]+)\.cloudflareaccess\.com(?:[/?#].*)?$/i.exec(text.trim())?.[1] ?? text;
}

/** A row of the table of actions. */
interface ActionRow {
  /** Phrase for help and labels; it follows "to". */
  summary: string;
  argument: ArgumentName | null;
  /** Events that show the result to a client. If empty, no event is certain, and the reply ends the action. */
  shows: readonly ('status' | 'settings' | 'options' | 'account' | 'splitTunnel')[];
  /** Subject of the change, for an action that accepts `confirmWithin` and `forSeconds`. */
  subject: TunnelSubject | null;
}

export const ACTIONS = {
  connect: { summary: 'connect the tunnel', argument: null, shows: ['status'], subject: 'connection' },
  disconnect: { summary: 'disconnect the tunnel', argument: null, shows: ['status'], subject: 'connection' },
  setMode: { summary: "set the client's mode", argument: 'mode', shows: ['settings'], subject: 'mode' },
  setProtocol: { summary: 'set the tunnel protocol', argument: 'protocol', shows: ['settings'], subject: 'protocol' },
  enableLocalProxy: {
    summary: 'switch to local proxy mode, connect, and wait until the proxy answers',
    argument: null,
    shows: ['settings'],
    subject: 'mode',
  },
  resetSplitIps: {
    summary: 'reset the addresses and ranges of the split tunnel',
    argument: null,
    shows: [],
    subject: 'routes',
  },
  acceptTerms: { summary: 'accept the terms of service', argument: null, shows: ['status'], subject: null },
  register: { summary: 'register this device', argument: null, shows: ['status', 'account'], subject: null },
  registerOrganization: {
    summary: 'register this device with an organization',
    argument: 'team',
    shows: [],
    subject: null,
  },
  deleteRegistration: {
    summary: "delete this device's registration",
    argument: null,
    shows: ['status', 'account'],
    subject: null,
  },
  setLicense: { summary: 'apply a license key', argument: 'license', shows: [], subject: null },
  setRegistrationToken: {
    summary: 'finish a registration with the token from the browser',
    argument: 'tokenUrl',
    shows: ['status', 'account'],
    subject: null,
  },
  rotateKeys: { summary: 'make new tunnel keys', argument: null, shows: [], subject: null },
  resetSettings: { summary: 'reset all settings of the tunnel client', argument: null, shows: [], subject: null },
  resetProtocol: { summary: 'back to the default protocol', argument: null, shows: [], subject: 'protocol' },
  setEndpoint: { summary: 'use one tunnel endpoint', argument: 'endpoint', shows: [], subject: 'endpoint' },
  resetEndpoint: { summary: 'back to the default endpoints', argument: null, shows: [], subject: 'endpoint' },
  setMasqueOptions: {
    summary: 'choose the HTTP versions of MASQUE',
    argument: 'masqueOptions',
    shows: [],
    subject: 'masque',
  },
  resetMasqueOptions: { summary: 'back to the default MASQUE options', argument: null, shows: [], subject: 'masque' },
  setProxyPort: { summary: 'set the port of the local proxy', argument: 'port', shows: [], subject: 'proxyPort' },
  setFamilies: { summary: 'filter DNS for families', argument: 'families', shows: [], subject: 'families' },
  setGatewayId: { summary: 'use a Gateway DNS location', argument: 'gatewayId', shows: [], subject: 'gatewayId' },
  resetGatewayId: { summary: 'use no Gateway DNS location', argument: null, shows: [], subject: 'gatewayId' },
  addFallbackDomain: {
    summary: 'resolve a domain outside the tunnel',
    argument: 'domain',
    shows: ['options'],
    subject: 'fallback',
  },
  removeFallbackDomain: {
    summary: 'no longer resolve a domain outside the tunnel',
    argument: 'domain',
    shows: ['options'],
    subject: 'fallback',
  },
  resetFallbackDomains: {
    summary: 'back to the default fallback domains',
    argument: null,
    shows: [],
    subject: 'fallback',
  },
  setDnsLog: { summary: 'log DNS queries', argument: 'onOff', shows: [], subject: null },
  addSplitIp: {
    summary: 'add an address to the split tunnel',
    argument: 'address',
    shows: ['splitTunnel'],
    subject: 'routes',
  },
  removeSplitIp: {
    summary: 'remove an address from the split tunnel',
    argument: 'address',
    shows: ['splitTunnel'],
    subject: 'routes',
  },
  addSplitRange: {
    summary: 'add a range to the split tunnel',
    argument: 'range',
    shows: ['splitTunnel'],
    subject: 'routes',
  },
  removeSplitRange: {
    summary: 'remove a range from the split tunnel',
    argument: 'range',
    shows: ['splitTunnel'],
    subject: 'routes',
  },
  addSplitHost: {
    summary: 'add a host to the split tunnel',
    argument: 'host',
    shows: ['splitTunnel'],
    subject: 'routes',
  },
  removeSplitHost: {
    summary: 'remove a host from the split tunnel',
    argument: 'host',
    shows: ['splitTunnel'],
    subject: 'routes',
  },
  resetSplitHosts: { summary: 'reset the hosts of the split tunnel', argument: null, shows: [], subject: 'routes' },
  addTrustedSsid: { summary: 'disconnect on a Wi-Fi network', argument: 'ssid', shows: [], subject: null },
  removeTrustedSsid: { summary: 'no longer disconnect on a Wi-Fi network', argument: 'ssid', shows: [], subject: null },
  resetTrustedSsids: { summary: 'trust no Wi-Fi network by name', argument: null, shows: [], subject: null },
  setTrustedWifi: {
    summary: 'disconnect on every Wi-Fi network',
    argument: 'onOff',
    shows: ['options'],
    subject: null,
  },
  setTrustedEthernet: { summary: 'disconnect on wired networks', argument: 'onOff', shows: ['options'], subject: null },
  allowLocalNetwork: {
    summary: 'allow access to the local network for a while',
    argument: null,
    shows: [],
    subject: null,
  },
  stopLocalNetwork: { summary: 'end the access to the local network', argument: null, shows: [], subject: null },
  setOverrideCode: {
    summary: "lift the organization's lock with an admin's code",
    argument: 'overrideCode',
    shows: [],
    subject: null,
  },
  setVirtualNetwork: { summary: 'select a virtual network', argument: 'virtualNetwork', shows: [], subject: null },
  setEnvironment: { summary: 'select the compliance environment', argument: 'environment', shows: [], subject: null },
  resetEnvironment: { summary: 'back to the default compliance environment', argument: null, shows: [], subject: null },
} as const satisfies Record<string, ActionRow>;
export type ActionName = keyof typeof ACTIONS;
export const ACTION_NAMES = Object.keys(ACTIONS) as [ActionName, ...ActionName[]];

/** Type of an argument: one of its values, or any text. */
type Value<N extends ArgumentName> = (typeof ARGUMENTS)[N] extends { values: readonly (infer V)[] } ? V : string;
/** Type of an action's argument; undefined for an action without an argument. */
type ValueOf<A extends ActionName> = (typeof ACTIONS)[A]['argument'] extends infer N extends ArgumentName
  ? Value<N>
  : undefined;

/** The body of `POST /api/action`: an action, with a value if it takes an argument. */
export type ActionRequest = {
  [A in ActionName]: ValueOf<A> extends undefined ? { action: A; value?: undefined } : { action: A; value: ValueOf<A> };
}[ActionName];

/** Returns the subject that an action changes; null for an action that can't be limited in time. */
export function subjectOf(action: ActionName): TunnelSubject | null {
  return ACTIONS[action].subject;
}

/** Returns an action's argument; null without one. */
export function argumentOf(action: ActionName): Argument | null {
  const { argument } = ACTIONS[action];
  return argument === null ? null : ARGUMENTS[argument];
}

/**
 * Makes a request from an action and a value known only at run time. The daemon checks the value and answers
 * `argument-rejected` if it is invalid.
 */
export function actionRequest(action: ActionName, value?: string): ActionRequest {
  return (value === undefined ? { action } : { action, value }) as ActionRequest;
}
