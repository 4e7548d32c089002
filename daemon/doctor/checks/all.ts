// Lists all checks, in the order in which they are listed.
import type { Check } from '../check.ts';
import { clock } from './clock.ts';
import { containerDns } from './containers.ts';
import { configuration, daemon, killSwitch, port, remoteAccess, socketDirectory } from './culvert.ts';
import { display, panel, tray } from './desktop.ts';
import { fallbackOnly, providerResolvers, resolvConf, search } from './dns.ts';
import { knowledgeFiles, knownIssues } from './issues.ts';
import { mdmFile } from './mdm.ts';
import { bridgeMtu, pathMtu } from './mtu.ts';
import { nftFeatures } from './nft.ts';
import { packageRepository } from './packages.ts';
import { port53 } from './port53.ts';
import { captivePortal, noTraffic, proxyDead, reachability } from './reach.ts';
import { registrationStuck, service, sessionExpiry, tunnelCli } from './registration.ts';
import { resources } from './resources.ts';
import { containerRanges, duplicateRules, ipv6Beside, routeOwners } from './routes.ts';
import { systemdVersion } from './systemd.ts';

/** Of several problems, the one that comes first here is the most likely cause of a tunnel that fails. */
export const CHECKS: readonly Check[] = [
  tunnelCli,
  service,
  registrationStuck,
  sessionExpiry,
  captivePortal,
  port53,
  search,
  resolvConf,
  systemdVersion,
  fallbackOnly,
  providerResolvers,
  proxyDead,
  noTraffic,
  reachability,
  routeOwners,
  ipv6Beside,
  bridgeMtu,
  pathMtu,
  containerRanges,
  containerDns,
  duplicateRules,
  mdmFile,
  nftFeatures,
  resources,
  clock,
  packageRepository,
  knownIssues,
  daemon,
  socketDirectory,
  port,
  configuration,
  killSwitch,
  remoteAccess,
  knowledgeFiles,
  display,
  panel,
  tray,
];
