// Holds the lists a client starts with, as recorded from 2026.3.
import type { Fallback, Route } from './state.ts';

export const DEFAULT_ROUTES: Route[] = [
  '10.0.0.0/8',
  '100.64.0.0/10',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.168.0.0/16',
  '224.0.0.0/24',
  '240.0.0.0/4',
  '239.255.255.250/32',
  '255.255.255.255/32',
  'fe80::/10',
  'fd00::/8',
  'ff01::/16',
  'ff02::/16',
  'ff03::/16',
  'ff04::/16',
  'ff05::/16',
  'fc00::/7',
  '17.249.0.0/16',
  '17.252.0.0/16',
  '17.57.144.0/22',
  '17.188.128.0/18',
  '17.188.20.0/23',
  '2620:149:a44::/48',
  '2403:300:a42::/48',
  '2403:300:a51::/48',
  '2a01:b740:a42::/48',
].map(value => ({ value, description: '' }));

export const DEFAULT_FALLBACK: Fallback[] =
  'corp domain home home.arpa host internal intranet invalid lan local localdomain localhost private test'
    .split(' ')
    .map(domain => ({ domain, description: '', servers: [] }));
