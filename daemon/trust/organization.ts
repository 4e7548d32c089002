// Lists the certificates of the organization: installed certificates, and removed certificates that tools still trust.

import type { Snapshot } from '../api/schema.ts';
import type { TrustCertificate } from '../api/trust.ts';
import type { Installed, SystemList } from './certificates.ts';
import type { Journal } from './journal.ts';
import type { Organization } from './judge.ts';

/** True if the device belongs to an organization; null before the first read of the registration. */
export function isMember({ account: { registered, managed, organization, type } }: Snapshot): boolean | null {
  if (!registered) return registered;
  return managed === true || Boolean(organization) || /^teams?$/i.test(type ?? '');
}

type Listed = TrustCertificate & { pem: string };

interface Reading {
  certificates: readonly Installed[];
  journal: Journal;
  system: SystemList | null;
  isMember: boolean | null;
}

/** Lists installed certificates, certificates that the user confirmed, and removed certificates that tools still trust. */
export function listCertificates({ certificates, journal, system, isMember }: Reading): Listed[] {
  const seen = new Set<string>();
  const rows = [
    ...certificates.map(each => ({ ...each, gone: isMember === false, confirmed: false })),
    ...journal.confirmed.map(each => ({ ...each, source: null, gone: false, confirmed: true })),
    ...journal.known.map(each => ({ ...each, source: null, gone: true, confirmed: false })),
  ].filter(({ fingerprint }) => !seen.has(fingerprint) && seen.add(fingerprint));
  return rows.map(({ fingerprint, pem, name, from, until, source, gone, confirmed }) => ({
    fingerprint,
    pem,
    name,
    source,
    confirmed,
    from: new Date(from).toISOString(),
    until: new Date(until).toISOString(),
    state: stateOf({ from, until }, gone),
    inSystem: system?.fingerprints.has(fingerprint) ?? false,
  }));
}

function stateOf({ from, until }: { from: number; until: number }, gone: boolean): TrustCertificate['state'] {
  const now = Date.now();
  if (until <= now) return 'expired';
  if (gone) return 'withdrawn';
  return from > now ? 'not-yet-valid' : 'valid';
}

export function organizationOf(certificates: readonly Listed[]): Organization {
  const all = certificates.map(({ from, until, ...each }) => ({
    ...each,
    from: Date.parse(from),
    until: Date.parse(until),
  }));
  return {
    valid: all.filter(({ state }) => state === 'valid'),
    gone: all.filter(({ state }) => state === 'expired' || state === 'withdrawn'),
  };
}
