// Lists the commands that the daemon runs: words, operation, argument, and the first release that has them.
import * as lists from './lists.ts';
import type { Argument, Command, Commands } from './parse.ts';
import * as registration from './registration.ts';
import { settings } from './settings.ts';
import type { Settings } from './state.ts';
import * as tunnel from './tunnel.ts';

const read = (run: Command['run']): Command => ({ run, reads: true });

/** A command that stores its argument, or a value made of it, as one setting. */
const set = (key: keyof Settings, argument: Argument, toValue: (text: string) => unknown = text => text): Command => ({
  run: tunnel.setting(key, toValue),
  argument,
});
const clear = (key: keyof Settings, value: unknown = null): Command => ({ run: tunnel.setting(key, () => value) });

/** The commands that edit a list. */
const edit = (words: string, argument: string, { add, remove, reset }: lists.Edits): Commands => ({
  [`${words} add`]: { run: add, argument: { name: argument } },
  [`${words} remove`]: { run: remove, argument: { name: argument } },
  [`${words} reset`]: { run: reset },
});

const SWITCH: Argument = { name: 'ENABLED', values: ['enable', 'disable'] };
const isEnable = (value: string) => value === 'enable';
const { add: addIp, remove: removeIp, reset: resetIps } = lists.ips;
const IP: Argument = { name: 'IP', format: 'ip' };
const CIDR: Argument = { name: 'CIDR', format: 'range' };

export const COMMANDS: Commands = {
  connect: { run: tunnel.connect },
  disconnect: { run: tunnel.disconnect },
  status: read(tunnel.status),
  mode: {
    run: tunnel.mode,
    argument: { name: 'MODE', values: ['warp', 'doh', 'warp+doh', 'dot', 'warp+dot', 'proxy', 'tunnel_only'] },
  },
  settings: read(settings),
  'settings reset': { run: tunnel.resetSettings },
  'proxy port': set('proxyPort', { name: 'PORT', format: 'port' }, Number),

  'registration show': read(registration.show),
  'registration devices': read(registration.devices),
  'registration new': { run: registration.create, argument: { name: 'ORGANIZATION', optional: true } },
  'registration delete': { run: registration.remove },
  'registration token': { run: registration.token, argument: { name: 'URL' } },
  'registration license': { run: registration.license, argument: { name: 'KEY' } },

  'tunnel stats': read(tunnel.stats),
  'tunnel rotate-keys': { run: registration.rotateKeys },
  'tunnel dump': read(lists.dump),
  'tunnel ip list': read(lists.listIps),
  'tunnel ip add': { run: addIp, argument: IP },
  'tunnel ip remove': { run: removeIp, argument: IP },
  'tunnel ip add-range': { run: addIp, argument: CIDR },
  'tunnel ip remove-range': { run: removeIp, argument: CIDR },
  'tunnel ip reset': { run: resetIps },
  'tunnel host list': read(lists.listHosts),
  ...edit('tunnel host', 'HOST', lists.hosts),
  'tunnel endpoint set': set('endpoint', { name: 'SOCKADDR', format: 'endpoint' }),
  'tunnel endpoint reset': clear('endpoint'),
  'tunnel protocol set': {
    run: tunnel.setProtocol,
    argument: { name: 'PROTOCOL', values: ['MASQUE', 'WireGuard'] },
    since: '2024.12.554',
  },
  'tunnel protocol reset': { ...clear('protocol'), since: '2024.12.554' },
  'tunnel masque-options set': {
    ...set('masque', { name: 'OPTIONS', values: ['h3-only', 'h2-only', 'h3-with-h2-fallback'] }),
    since: '2025.4.929',
  },
  'tunnel masque-options reset': { ...clear('masque'), since: '2025.4.929' },

  'dns families': set('families', { name: 'MODE', values: ['full', 'malware', 'off'] }),
  'dns gateway-id set': set('gatewayId', { name: 'PARAM' }),
  'dns gateway-id reset': clear('gatewayId'),
  'dns log': { run: tunnel.setDnsLog, argument: SWITCH },
  ...edit('dns fallback', 'DOMAIN', lists.fallback),

  'trusted ssid list': read(lists.listSsids),
  ...edit('trusted ssid', 'SSID', lists.ssids),
  'trusted wifi': set('disableForWifi', SWITCH, isEnable),
  'trusted ethernet': set('disableForEthernet', SWITCH, isEnable),

  'override unlock': { run: registration.unlock, argument: { name: 'CODE' } },
  'override local-network allow': { run: registration.allowLocalNetwork },
  'override local-network show': read(registration.showLocalNetwork),
  'override local-network stop': { run: registration.stopLocalNetwork },
  vnet: { run: registration.vnet, argument: { name: 'VNET', optional: true } },
  'environment set': {
    ...set('environment', { name: 'ENVIRONMENT', values: ['Normal', 'FedRAMP-High'] }),
    since: '2025.1',
  },
  'environment reset': { ...clear('environment'), since: '2025.1' },
};
