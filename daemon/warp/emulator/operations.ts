// Which operation a command is, and whether it changes the state.
import type { Operation } from './answer.ts';
import * as connection from './operations/connection.ts';
import * as reads from './operations/reads.ts';
import * as registration from './operations/registration.ts';
import * as tunnel from './operations/tunnel.ts';

const { setting } = tunnel;

/** Commands that only read. */
export const READS: Record<string, Operation> = {
  status: connection.status,
  settings: reads.settings,
  'settings list': reads.settings,
  'settings mode-switch-allowed': reads.modeSwitchAllowed,
  'settings support-url': reads.supportUrl,
  'registration show': registration.show,
  'registration organization': registration.organization,
  'registration devices': registration.devices,
  'tunnel stats': tunnel.stats,
  'tunnel dump': tunnel.dump,
  'tunnel ip list': tunnel.listIps,
  'tunnel host list': tunnel.listHosts,
  'dns fallback list': reads.listFallback,
  'dns stats': reads.dnsStats,
  'dns default-fallbacks': reads.defaultFallbacks,
  'override show': reads.showOverride,
  'override local-network show': reads.showLocalNetwork,
  'trusted ssid list': reads.listSsids,
  'target list': reads.targets,
  'mdm get-configs': reads.mdmConfigs,
  'debug network': reads.network,
  'debug posture': reads.posture,
  'debug dex': reads.dex,
  'debug alternate-network': reads.alternateNetwork,
  stats: reads.clientStats,
  'stats enhanced': reads.clientStats,
  certs: reads.certs,
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
  'dns fallback add': reads.addFallback,
  'dns fallback remove': reads.removeFallback,
  'dns fallback reset': reads.resetFallback,
  'proxy port': setting((settings, value) => {
    settings.proxyPort = Number(value);
  }),
  'trusted ssid add': reads.addSsid,
  'trusted ssid remove': reads.removeSsid,
  'trusted ssid reset': setting(settings => {
    settings.ssids = [];
  }),
  'trusted wifi': setting((settings, value) => {
    settings.disableForWifi = value === 'enable';
  }),
  'trusted ethernet': setting((settings, value) => {
    settings.disableForEthernet = value === 'enable';
  }),
  override: reads.unlock,
  'override unlock': reads.unlock,
  'override local-network allow': reads.allowLocalNetwork,
  'override local-network stop': reads.stopLocalNetwork,
  vnet: reads.vnet,
  'environment set': setting((settings, value) => {
    settings.environment = value as typeof settings.environment;
  }),
  'environment reset': setting(settings => {
    settings.environment = null;
  }),
};
