// Maps each command to its operation, and to whether it changes the state.
import type { Operation } from '../answer.ts';
import * as connection from './connection.ts';
import * as dns from './dns.ts';
import * as networks from './networks.ts';
import * as override from './override.ts';
import * as registration from './registration.ts';
import * as reports from './reports.ts';
import * as tunnel from './tunnel.ts';

const { setting } = tunnel;

/** Commands that only read. */
export const READS: Record<string, Operation> = {
  status: connection.status,
  settings: reports.settings,
  'settings list': reports.settings,
  'settings mode-switch-allowed': reports.modeSwitchAllowed,
  'settings support-url': reports.supportUrl,
  'registration show': registration.show,
  'registration organization': registration.organization,
  'registration devices': registration.devices,
  'tunnel stats': tunnel.stats,
  'tunnel dump': tunnel.dump,
  'tunnel ip list': tunnel.listIps,
  'tunnel host list': tunnel.listHosts,
  'dns fallback list': dns.listFallback,
  'dns stats': dns.dnsStats,
  'dns default-fallbacks': dns.defaultFallbacks,
  'override show': override.showOverride,
  'override local-network show': override.showLocalNetwork,
  'trusted ssid list': networks.listSsids,
  'target list': reports.targets,
  'mdm get-configs': reports.mdmConfigs,
  'debug network': reports.network,
  'debug posture': reports.posture,
  'debug dex': reports.dex,
  'debug alternate-network': reports.alternateNetwork,
  stats: reports.clientStats,
  'stats enhanced': reports.clientStats,
  certs: reports.certs,
};

export const CHANGES: Record<string, Operation> = {
  connect: connection.connect,
  disconnect: connection.disconnect,
  mode: connection.mode,
  'settings reset': registration.resetSettings,
  'registration new': registration.create,
  'registration delete': registration.remove,
  'registration delete-all': registration.remove,
  'registration token': registration.token,
  'registration license': registration.license,
  'tunnel protocol set': connection.setProtocol,
  'tunnel protocol reset': connection.resetProtocol,
  'tunnel rotate-keys': tunnel.rotateKeys,
  'tunnel ip add': tunnel.addIp,
  'tunnel ip remove': tunnel.removeIp,
  'tunnel ip add-range': tunnel.addRange,
  'tunnel ip remove-range': tunnel.removeRange,
  'tunnel ip reset': tunnel.resetIps,
  'tunnel host add': tunnel.addHost,
  'tunnel host remove': tunnel.removeHost,
  'tunnel host reset': tunnel.resetHosts,
  'tunnel endpoint set': setting((settings, value) => {
    settings.endpoint = value;
  }),
  'tunnel endpoint reset': setting(settings => {
    settings.endpoint = null;
  }),
  'tunnel masque-options set': setting((settings, value) => {
    settings.masque = value as typeof settings.masque;
  }),
  'tunnel masque-options reset': setting(settings => {
    settings.masque = null;
  }),
  'tunnel mtu set': setting((settings, value) => {
    settings.mtu = Number(value);
  }),
  'tunnel mtu reset': setting(settings => {
    settings.mtu = null;
  }),
  'tunnel pmtud enable': setting(settings => {
    settings.pmtud = true;
  }),
  'tunnel pmtud disable': setting(settings => {
    settings.pmtud = false;
  }),
  'tunnel pmtud reset': setting(settings => {
    settings.pmtud = null;
  }),
  'dns families': setting((settings, value) => {
    settings.families = value as typeof settings.families;
  }),
  'dns gateway-id set': setting((settings, value) => {
    settings.gatewayId = value;
  }),
  'dns gateway-id reset': setting(settings => {
    settings.gatewayId = null;
  }),
  'dns log': setting((settings, value) => {
    settings.dnsLog = value === 'enable';
  }, false),
  'debug qlog': setting((settings, value) => {
    settings.qlog = value === 'enable';
  }, false),
  'dns fallback add': dns.addFallback,
  'dns fallback remove': dns.removeFallback,
  'dns fallback reset': dns.resetFallback,
  'proxy port': setting((settings, value) => {
    settings.proxyPort = Number(value);
  }),
  'trusted ssid add': networks.addSsid,
  'trusted ssid remove': networks.removeSsid,
  'trusted ssid reset': setting(settings => {
    settings.ssids = [];
  }),
  'trusted wifi': setting((settings, value) => {
    settings.disableForWifi = value === 'enable';
  }),
  'trusted ethernet': setting((settings, value) => {
    settings.disableForEthernet = value === 'enable';
  }),
  override: override.unlock,
  'override unlock': override.unlock,
  'override local-network allow': override.allowLocalNetwork,
  'override local-network stop': override.stopLocalNetwork,
  vnet: networks.vnet,
  'environment set': setting((settings, value) => {
    settings.environment = value as typeof settings.environment;
  }),
  'environment reset': setting(settings => {
    settings.environment = null;
  }),
};
