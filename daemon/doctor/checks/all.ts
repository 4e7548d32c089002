// Lists all checks, in the order in which they are listed.
import type { Check } from '../check.ts';
import {
  configuration,
  daemon,
  killSwitch,
  pendingChanges,
  port,
  remoteAccess,
  socketDirectory,
  storage,
} from './culvert/culvert.ts';
import { display, panel, tray } from './culvert/desktop.ts';
import { culvertPackages } from './culvert/packages.ts';
import { fallbackOnly, providerResolvers, resolvConf, search } from './dns/dns.ts';
import { port53 } from './dns/port53.ts';
import { systemdVersion } from './dns/systemd.ts';
import { containerDns } from './network/containers.ts';
import { bridgeMtu, pathMtu } from './network/mtu.ts';
import { captivePortal, noTraffic, proxyDead, reachability } from './network/reach.ts';
import { containerRanges, duplicateRules, ipv6Beside, routeOwners } from './network/routes.ts';
import { clock } from './service/clock.ts';
import { knowledgeFiles, knownIssues } from './service/issues.ts';
import { serviceJournal } from './service/journal.ts';
import { mdmFile } from './service/mdm.ts';
import { nftFeatures } from './service/nft.ts';
import { packageRepository } from './service/packages.ts';
import { registrationStuck, service, sessionExpiry, tunnelCli } from './service/registration.ts';
import { resources } from './service/resources.ts';
import { organizationCertificate } from './service/trust.ts';

/** The first problem in this order is the most likely cause of a tunnel that fails. */
export const CHECKS: readonly Check[] = [
  tunnelCli,
  service,
  serviceJournal,
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
  organizationCertificate,
  nftFeatures,
  resources,
  clock,
  packageRepository,
  knownIssues,
  daemon,
  socketDirectory,
  port,
  configuration,
  storage,
  pendingChanges,
  killSwitch,
  remoteAccess,
  culvertPackages,
  knowledgeFiles,
  display,
  panel,
  tray,
];
