// The words that commands take, each with what it means: for checks, help, completions and the manual.
// Records over the contract's own types: a word that is missing or too much does not compile.
import type { ActionName, Blocked, Config, ConnectionState, Mode, Protocol } from '../api/schema.ts';

export const MODES: Record<Mode, string> = {
  warp: 'tunnel, DNS unencrypted inside it',
  doh: 'no tunnel, DNS over HTTPS',
  'warp+doh': 'tunnel, DNS over HTTPS',
  dot: 'no tunnel, DNS over TLS',
  'warp+dot': 'tunnel, DNS over TLS',
  proxy: 'tunnel only for what uses the local proxy',
  tunnel_only: 'tunnel, DNS left alone',
};

export const PROTOCOLS: Record<Protocol, string> = {
  MASQUE: 'HTTP/3, falling back to HTTP/2',
  WireGuard: 'WireGuard over UDP',
};

export const STATES: Record<ConnectionState, string> = {
  connected: 'Connected',
  connecting: 'Connecting',
  disconnecting: 'Disconnecting',
  disconnected: 'Disconnected',
  unable: 'Unable to connect',
  unknown: 'Unknown',
};

export const BLOCKED: Record<Blocked, string> = {
  'cli-missing': 'warp-cli is not installed',
  'service-stopped': 'the WARP service is not running',
  'terms-not-accepted': 'the terms of service are not accepted',
  'not-registered': 'this device is not registered',
  'not-authorized': 'this user may not control WARP',
};

/** The command that ends each blocked state; the API's own hints can't know the caller's command line. */
export const NEXT: { [code: string]: string | undefined } = {
  'cli-missing': 'Install Cloudflare WARP, or try Culvert without it: culvert --demo',
  'service-stopped': 'Start it with: sudo systemctl enable --now warp-svc',
  'terms-not-accepted': 'Read and accept them with: culvert account accept-terms',
  'not-registered': 'Register this device with: culvert account register',
};

type ConfigKey = { [G in keyof Config]: `${G}.${keyof Config[G] & string}` }[keyof Config];
export const CONFIG_KEYS: Record<ConfigKey, string> = {
  'server.port': 'TCP port of the API',
  'server.bind': 'address of the TCP listener',
  'webui.enabled': 'serve the browser page',
  'webui.allowRemote': 'let other machines use API and page, with the token',
  'warp.cli': 'name or path of the tunnel CLI',
  'warp.killSwitch': 'block traffic outside the tunnel',
  'warp.allowLan': 'leave the local network reachable while the kill switch blocks',
  'warp.endpoints': 'further endpoints that the kill switch lets the tunnel service reach',
  'warp.traceUrl': 'address that shows whether a request came through the tunnel',
  'ui.openBrowser': 'open the browser page at start',
  'ui.theme': 'system, light or dark',
  'ui.locale': 'language, such as en or pt_BR',
  'updates.channel': 'stable or beta',
  'updates.checkOnStartup': 'look for updates at start',
  'updates.source': 'base address of the releases',
  'tray.autostart': 'start with the session',
};

export interface ActionWords {
  summary: string;
  /** How the value is called in help; none where the action takes none. */
  value?: string;
  /** The value is read from stdin or a prompt, never from the command line. */
  secret?: true;
}
const onOff = 'enable|disable';
export const ACTIONS: Record<ActionName, ActionWords> = {
  connect: { summary: 'connect the tunnel' },
  disconnect: { summary: 'disconnect the tunnel' },
  setMode: { summary: "set the client's mode", value: Object.keys(MODES).join('|') },
  setProtocol: { summary: 'set the tunnel protocol', value: Object.keys(PROTOCOLS).join('|') },
  enableLocalProxy: { summary: 'switch to local proxy mode, connect, and wait until the proxy answers' },
  resetSplitIps: { summary: 'reset the addresses and ranges of the split tunnel' },
  acceptTerms: { summary: 'accept the terms of service' },
  register: { summary: 'register this device' },
  registerOrganization: { summary: 'register this device with an organisation', value: 'NAME' },
  deleteRegistration: { summary: "delete this device's registration" },
  setLicense: { summary: 'apply a licence key', value: 'KEY', secret: true },
  setRegistrationToken: { summary: 'finish a registration with the token of the browser', value: 'URL', secret: true },
  rotateKeys: { summary: 'make new tunnel keys' },
  resetSettings: { summary: 'reset all settings of the tunnel client' },
  resetProtocol: { summary: 'back to the default protocol' },
  setEndpoint: { summary: 'use one tunnel endpoint', value: 'ADDRESS:PORT' },
  resetEndpoint: { summary: 'back to the default endpoints' },
  setMasqueOptions: { summary: 'choose the HTTP versions of MASQUE', value: 'h3-only|h2-only|h3-with-h2-fallback' },
  resetMasqueOptions: { summary: 'back to the default MASQUE options' },
  setProxyPort: { summary: 'set the port of the local proxy', value: 'PORT' },
  setFamilies: { summary: 'filter DNS for families', value: 'off|malware|full' },
  setGatewayId: { summary: 'use a Gateway DNS location', value: 'ID' },
  resetGatewayId: { summary: 'use no Gateway DNS location' },
  addFallbackDomain: { summary: 'resolve a domain outside the tunnel', value: 'DOMAIN' },
  removeFallbackDomain: { summary: 'no longer resolve a domain outside the tunnel', value: 'DOMAIN' },
  resetFallbackDomains: { summary: 'back to the default fallback domains' },
  setDnsLog: { summary: 'log DNS queries', value: onOff },
  addSplitIp: { summary: 'add an address to the split tunnel', value: 'IP' },
  removeSplitIp: { summary: 'remove an address from the split tunnel', value: 'IP' },
  addSplitRange: { summary: 'add a range to the split tunnel', value: 'CIDR' },
  removeSplitRange: { summary: 'remove a range from the split tunnel', value: 'CIDR' },
  addSplitHost: { summary: 'add a host to the split tunnel', value: 'HOST' },
  removeSplitHost: { summary: 'remove a host from the split tunnel', value: 'HOST' },
  resetSplitHosts: { summary: 'reset the hosts of the split tunnel' },
  addTrustedSsid: { summary: 'disconnect on a Wi-Fi network', value: 'SSID' },
  removeTrustedSsid: { summary: 'no longer disconnect on a Wi-Fi network', value: 'SSID' },
  resetTrustedSsids: { summary: 'trust no Wi-Fi network by name' },
  setTrustedWifi: { summary: 'disconnect on every Wi-Fi network', value: onOff },
  setTrustedEthernet: { summary: 'disconnect on wired networks', value: onOff },
  allowLocalNetwork: { summary: 'allow access to the local network for a while' },
  stopLocalNetwork: { summary: 'end the access to the local network' },
  setOverrideCode: { summary: "lift the organisation's lock with an admin's code", value: 'CODE', secret: true },
  setVirtualNetwork: { summary: 'select a virtual network', value: 'ID' },
  setEnvironment: { summary: 'select the compliance environment', value: 'NAME' },
  resetEnvironment: { summary: 'back to the default compliance environment' },
};
