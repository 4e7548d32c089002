// Defines the flat commands of 2021 to 2024.6 as data: their own help texts, and the grouped command line each stands for.
import type { Argument, Command } from '../command-line/grammar.ts';

const MODE: Argument = {
  name: 'MODE',
  values: ['warp', 'doh', 'warp+doh', 'dot', 'warp+dot', 'proxy', 'tunnel_only'].map(name => ({ name })),
};
const FAMILIES: Argument = { name: 'MODE', values: [{ name: 'off' }, { name: 'malware' }, { name: 'full' }] };
/** An address or a range: there was one command for both. */
const IP: Argument = { name: 'IP', format: 'route' };
const HOST: Argument = { name: 'HOST' };
const DOMAIN: Argument = { name: 'DOMAIN' };
const SSID: Argument = { name: 'SSID' };

type Row = [name: string, until2023: string, from2023: string, means: string, args?: Argument[]];

// Texts of 0.2.0 (2021) and 2023.3.398 as recorded; an empty one: the release had no such command.
const ROWS: Row[] = [
  [
    'register',
    'Registers with the WARP API, will replace any existing registration (must be run before first connection)',
    'Register with the WARP API, replacing any existing registration (Must be run before first connection!)',
    'registration new',
  ],
  [
    'teams-enroll',
    'Enroll with Cloudflare for Teams',
    'Enroll with Cloudflare for Teams',
    'registration new',
    [{ name: 'ORGANIZATION' }],
  ],
  ['teams-enroll-token', '', '', 'registration token', [{ name: 'URL' }]],
  ['delete', 'Deletes current registration', 'Delete current registration', 'registration delete'],
  [
    'rotate-keys',
    'Generates a new key-pair, keeping the current registration',
    'Generate a new key-pair, keeping the current registration',
    'tunnel rotate-keys',
  ],
  ['status', 'Asks the daemon to send the current status', 'Ask the daemon to send the current status', 'status'],
  [
    'warp-stats',
    'Retrieves the stats for the current WARP connection',
    'Retrieve the stats for the current WARP connection',
    'tunnel stats',
  ],
  ['warp-dns-stats', '', 'Retrieve the DNS stats for the current WARP connection', 'dns stats'],
  ['settings', 'Retrieves the current application settings', 'Retrieve the current application settings', 'settings'],
  [
    'connect',
    'Asks the daemon to start a connection, connection progress should be monitored with -l',
    'Connect to WARP whenever possible',
    'connect',
  ],
  ['disconnect', 'Asks the daemon to stop a connection', 'Disconnect from WARP', 'disconnect'],
  [
    'enable-always-on',
    'Enables always on mode for the daemon (i.e. reconnect automatically whenever possible)',
    '',
    'connect',
  ],
  ['disable-always-on', 'Disables always on mode', '', 'disconnect'],
  [
    'disable-wifi',
    'Pauses service on WiFi networks',
    'Automatically disable WARP on Wi-Fi networks (disabled for Zero Trust customers)',
    'trusted wifi enable',
  ],
  [
    'enable-wifi',
    'Re-enables service on WiFi networks',
    'Allow WARP on Wi-Fi networks (disabled for Zero Trust customers)',
    'trusted wifi disable',
  ],
  [
    'disable-ethernet',
    'Pauses service on ethernet networks',
    'Automatically disable WARP on ethernet networks (disabled for Zero Trust customers)',
    'trusted ethernet enable',
  ],
  [
    'enable-ethernet',
    'Re-enables service on ethernet networks',
    'Allow WARP on ethernet networks (disabled for Zero Trust customers)',
    'trusted ethernet disable',
  ],
  [
    'add-trusted-ssid',
    'Adds a trusted WiFi network, for which the daemon will be disabled',
    'Add a trusted Wi-Fi network for which WARP will be automatically disconnected',
    'trusted ssid add',
    [SSID],
  ],
  ['del-trusted-ssid', 'Removes a trusted WiFi network', '', 'trusted ssid remove', [SSID]],
  ['remove-trusted-ssid', '', 'Remove a trusted Wi-Fi network', 'trusted ssid remove', [SSID]],
  ['allow-private-ips', 'Exclude private IP ranges from tunnel', '', 'tunnel ip reset'],
  ['exclude-private-ips', '', 'Exclude private IP ranges from tunnel', 'tunnel ip reset'],
  [
    'enable-dns-log',
    'Enables DNS logging, use with the -l option',
    'Enable DNS logging (Use with the -l option)',
    'dns log enable',
  ],
  ['disable-dns-log', 'Disables DNS logging', 'Disable DNS logging', 'dns log disable'],
  [
    'account',
    'Retrieves the account associated with the current registration',
    'Display the account associated with the current registration',
    'registration show',
  ],
  [
    'devices',
    'Retrieves the list of devices associated with the current registration',
    'Display the list of devices associated with the current registration',
    'registration devices',
  ],
  [
    'network',
    'Retrieves the current network information as collected by the daemon',
    'Display the current network information',
    'debug network',
  ],
  ['get-virtual-networks', '', 'List the available virtual networks', 'vnet'],
  [
    'set-virtual-network',
    '',
    'Set the currently connected virtual network via the id from get-virtual-networks',
    'vnet',
    [{ name: 'VNET' }],
  ],
  ['set-mode', '', 'Set the mode', 'mode', [MODE]],
  ['set-families-mode', '', 'Set the families mode', 'dns families', [FAMILIES]],
  [
    'set-license',
    'Attaches the current registration to a different account using a license key',
    'Attach the current registration to a different account using a license key',
    'registration license',
    [{ name: 'KEY' }],
  ],
  [
    'set-gateway',
    'Forces the app to use the specified Gateway ID for DNS queries',
    'Force the app to use the specified Gateway ID for DNS queries',
    'dns gateway-id set',
    [{ name: 'GATEWAY_ID' }],
  ],
  ['clear-gateway', 'Clear the Gateway ID', 'Clear the Gateway ID', 'dns gateway-id reset'],
  [
    'set-custom-endpoint',
    'Forces the client to connect to the specified IP:PORT endpoint',
    'Force the client to connect to the specified IP:PORT endpoint (Zero Trust customers must run this command as a privileged user)',
    'tunnel endpoint set',
    [{ name: 'ENDPOINT', format: 'endpoint' }],
  ],
  [
    'clear-custom-endpoint',
    'Remove the custom endpoint setting',
    'Remove the custom endpoint setting',
    'tunnel endpoint reset',
  ],
  ['add-excluded-route', 'Adds an excluded IP', 'Add an excluded IP', 'tunnel ip add', [IP]],
  ['remove-excluded-route', 'Removes an excluded IP', 'Remove an excluded IP', 'tunnel ip remove', [IP]],
  ['get-excluded-routes', 'Get the list of excluded routes', 'Get the list of excluded routes', 'tunnel ip list'],
  ['get-included-routes', '', 'Get the list of included routes', 'tunnel ip list'],
  ['get-excluded-hosts', '', 'Get the list of excluded hosts', 'tunnel host list'],
  ['get-included-hosts', '', 'Get the list of included hosts', 'tunnel host list'],
  ['add-excluded-host', '', 'Add an excluded host', 'tunnel host add', [HOST]],
  ['remove-excluded-host', '', 'Remove an excluded host', 'tunnel host remove', [HOST]],
  [
    'add-fallback-domain',
    'Adds a fallback domain',
    "Add a domain that should be resolved with the fallback resolver instead of WARP's",
    'dns fallback add',
    [DOMAIN],
  ],
  [
    'remove-fallback-domain',
    'Removes a fallback domain',
    'Stop a domain from being resolved with the fallback resolver',
    'dns fallback remove',
    [DOMAIN],
  ],
  [
    'get-fallback-domains',
    'Get the list of fallback domains',
    'Get the list of domains that go to the fallback resolver',
    'dns fallback list',
  ],
  [
    'restore-fallback-domains',
    'Restore the fallback domains',
    'Restore the list of fallback resolver domains to its default value',
    'dns fallback reset',
  ],
  ['get-device-posture', 'Get the current device posture', 'Get the current device posture', 'debug posture'],
  [
    'override',
    'Temporarily override MDM policies that require the client to stay enabled',
    'Temporarily override MDM policies that require the client to stay enabled',
    'override',
    [{ name: 'CODE' }],
  ],
  [
    'set-proxy-port',
    'Set the listening port for WARP proxy (127.0.0.1:{port})',
    'Set the listening port for WARP proxy (127.0.0.1:{port})',
    'proxy port',
    [{ name: 'PORT', format: 'port' }],
  ],
  [
    'is-mode-switch-allowed',
    '',
    'Outputs true if Teams users should be able to change connection mode, or false if not',
    'settings mode-switch-allowed',
  ],
  ['reset-settings', '', 'Restore settings to default', 'settings reset'],
  ['get-organization', '', 'Get the name of the Teams organization currently in settings', 'registration organization'],
  ['access-reauth', '', 'Force refresh authentication with Cloudflare Access', 'debug access-reauth'],
  ['get-support-url', '', 'Get the support url for the current Teams organization', 'settings support-url'],
  ['get-pause-end', '', 'Retrieve the pause end time', 'override show'],
  ['get-override-end', '', 'Retrieve the admin override end time', 'override show'],
  ['disable-connectivity-checks', '', 'Disable the runtime connectivity checks', 'debug connectivity-check disable'],
  ['enable-connectivity-checks', '', 'Enable the runtime connectivity checks', 'debug connectivity-check enable'],
  [
    'dump-excluded-routes',
    '',
    'Get split tunnel routing dump. For include-only mode, this shows routes NOT included',
    'tunnel dump',
  ],
  [
    'get-alternate-network',
    '',
    'Get the name of the currently detected alternate network, if any',
    'debug alternate-network',
  ],
  [
    'get-dex-data',
    '',
    'Get the most recently uploaded DEX data. Returns the most recent test for each dex metric',
    'debug dex',
  ],
];

/** Commands that both releases list although the older one had nothing to say about them. */
const WITHOUT_TEXT = ['set-mode', 'set-families-mode'];
const ALIASES: Record<string, string[]> = { connect: ['enable-always-on'], disconnect: ['disable-always-on'] };

/** Flat names in the order of the help page of 2023.3; those that a page does not list are hidden in it. */
export const LEGACY_COMMANDS: Command[] = ROWS.flatMap(([name, older, newer, means, args]) => {
  const command: Command = { name, about: newer, means: means.split(' '), ...(args && { args }) };
  const inOlder = older !== '' || WITHOUT_TEXT.includes(name);
  const past: Command = { ...command, about: older, until: '2023.1', ...(!inOlder && { hidden: true as const }) };
  const aliases = ALIASES[name];
  const present: Command = {
    ...command,
    since: '2023.1',
    ...(newer === '' && { hidden: true as const }),
    ...(aliases && { aliases }),
  };
  const isAlias = Object.values(ALIASES).some(names => names.includes(name));
  return isAlias ? [past] : [past, present];
});
