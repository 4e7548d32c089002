// Lists all checks in the order of their display.
import type { Check } from '../check.ts';
import {
  configuration,
  daemon,
  display,
  killSwitch,
  panel,
  pendingChanges,
  port,
  remoteAccess,
  socketDirectory,
  storage,
  tray,
} from './culvert.ts';
import { fallbackOnly, providerResolvers, resolvConf, search } from './dns.ts';
import { knowledgeFiles, knownIssues, unknownValues } from './issues.ts';
import { clock, nftFeatures, resources, serviceJournal } from './machine.ts';
import { bridgeMtu, pathMtu } from './mtu.ts';
import { mdmFile, organizationCertificate } from './organization.ts';
import { culvertPackages, packageRepository } from './packages.ts';
import { captivePortal, noTraffic, proxyDead, reachability } from './reach.ts';
import { registrationStuck, service, sessionExpiry, tunnelCli } from './registration.ts';
import { registration } from './registration-cause.ts';
import { port53, systemdVersion } from './resolver.ts';
import { containerDns, containerRanges, duplicateRules, ipv6Beside, routeOwners } from './routes.ts';
import { forwardedTraffic, inboundFirewall, ruleOrder } from './server.ts';

/** Checks in order: the first problem is the most likely cause of a failed tunnel. */
export const CHECKS: readonly Check[] = [
  tunnelCli,
  service,
  registration,
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
  inboundFirewall,
  ruleOrder,
  forwardedTraffic,
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
  unknownValues,
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
