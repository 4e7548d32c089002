// Reads the organization's certificates, says which are valid, and writes lists of authorities that contain them.
import { X509Certificate } from 'node:crypto';
import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { rootCertificates } from 'node:tls';
import type { TrustCertificate } from '../api/trust.ts';
import type { Message } from '../api/values.ts';
import { BUNDLES } from '../core/ca-certificates.ts';
import { errno } from '../core/errors.ts';
import { makeDirectory, namesIn, readText, replaceFile } from '../core/files.ts';
import { printable } from '../core/printable.ts';
import { message } from '../view/message.ts';
import { DIRECTORY, OLD_PLACE, SYSTEM_PLACES } from './organization.ts';

/** A certificate authority in a file. */
export interface Certificate {
  fingerprint: string;
  pem: string;
  name: string;
  /** Start of the validity, in milliseconds since 1970; `until` is its end. */
  from: number;
  until: number;
}

interface Refused {
  path: string;
  reason: Message;
}

/** The root directory and its owner, which tests replace. */
export interface Place {
  /** A directory in place of `/`, or an empty string. */
  root: string;
  /** Id of the user who owns the system's files. */
  owner: number;
}

const MAX_BYTES = 1024 * 1024;
const MAX_CERTIFICATES = 50;
const NAME_LENGTH = 80;

type Listed = TrustCertificate & { pem: string };

interface Reading {
  place: Place;
  journal: { readonly known: readonly Certificate[]; readonly confirmed: readonly Certificate[] };
  system: SystemList | null;
  isMember: boolean | null;
}

/** Lists installed, confirmed, and removed but still trusted certificates, and the files that it refused. */
export function listCertificates({ place, journal, system, isMember }: Reading) {
  const { certificates: installed, refused } = installedCertificates(place);
  const seen = new Set<string>();
  const rows = [
    ...installed.map(each => ({ ...each, gone: isMember === false, confirmed: false })),
    ...journal.confirmed.map(each => ({ ...each, source: null, gone: false, confirmed: true })),
    ...journal.known.map(each => ({ ...each, source: null, gone: true, confirmed: false })),
  ].filter(({ fingerprint }) => !seen.has(fingerprint) && seen.add(fingerprint));
  const certificates: Listed[] = rows.map(({ from, until, gone, ...each }) => ({
    ...each,
    from: new Date(from).toISOString(),
    until: new Date(until).toISOString(),
    state: stateOf({ from, until }, gone),
    inSystem: system?.fingerprints.has(each.fingerprint) ?? false,
  }));
  return { certificates, refused };
}

function stateOf({ from, until }: { from: number; until: number }, gone: boolean): TrustCertificate['state'] {
  const now = Date.now();
  if (until <= now) return 'expired';
  if (gone) return 'withdrawn';
  return from > now ? 'not-yet-valid' : 'valid';
}

export type Organization = ReturnType<typeof organizationOf>;

/** Selects the valid certificates, and the certificates that are expired or withdrawn. */
export function organizationOf(certificates: readonly Listed[]) {
  const all = certificates.map(each => ({ ...each, from: Date.parse(each.from), until: Date.parse(each.until) }));
  return {
    valid: all.filter(({ state }) => state === 'valid'),
    gone: all.filter(({ state }) => state === 'expired' || state === 'withdrawn'),
  };
}

/** Returns the distinct certificates that WARP installed, and the refused files. */
function installedCertificates(place: Place) {
  const refused: Refused[] = [];
  const read = (path: string) => readPlace(path, place, refused);
  const current = [...SYSTEM_PLACES, ...filesIn(DIRECTORY, place)].flatMap(read);
  const all = current.length > 0 ? current : read(OLD_PLACE);
  const unique = new Map(all.toReversed().map(each => [each.fingerprint, each]));
  return { certificates: [...unique.values()].toReversed().slice(0, MAX_CERTIFICATES), refused };
}

function filesIn(directory: string, { root }: Place): string[] {
  // on some systems, only root may list the directory
  return namesIn(root + directory)
    .filter(name => name.endsWith('.pem'))
    .sort()
    .slice(0, MAX_CERTIFICATES)
    .map(name => join(directory, name));
}

function readPlace(path: string, place: Place, refused: Refused[]) {
  try {
    const real = realpathSync(place.root + path);
    const writer = otherWriter(place.root + path, place) ?? otherWriter(real, place);
    if (writer) {
      refused.push({ path, reason: message('%s can be changed by others than root, so it is not used.', writer) });
      return [];
    }
    return parseCertificates(readSmall(real)).map(each => ({ ...each, source: path }));
  } catch (error) {
    if (errno(error) !== 'ENOENT' && errno(error) !== 'EACCES' && errno(error) !== 'ENOTDIR')
      refused.push({ path, reason: message('%s can’t be read as certificates, so it is not used.', path) });
    return [];
  }
}

/** Returns the innermost part of a path that users other than the owner can change, or null. */
function otherWriter(path: string, { root, owner }: Place): string | null {
  for (let at = path; at.length > root.length && at !== '/'; at = dirname(at)) {
    const info = lstatSync(at);
    const isOpen = !info.isSymbolicLink() && (info.mode & 0o022) !== 0;
    if (info.uid !== owner || isOpen) return at.slice(root.length);
  }
  return null;
}

function readSmall(path: string): string {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const info = fstatSync(fd);
    if (!info.isFile() || info.size > MAX_BYTES) throw new Error('not a file of certificates');
    return readFileSync(fd, 'utf8');
  } finally {
    closeSync(fd);
  }
}

const PEM = /-----BEGIN (?:TRUSTED )?CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END (?:TRUSTED )?CERTIFICATE-----/g;

/** Returns the certificate authorities in a text, in order, without other certificates. */
export function parseCertificates(text: string): Certificate[] {
  return (text.match(PEM) ?? []).flatMap(block => {
    try {
      const certificate = new X509Certificate(block);
      return certificate.ca ? [describe(certificate)] : [];
    } catch {
      return [];
    }
  });
}

function describe(certificate: X509Certificate): Certificate {
  return {
    fingerprint: certificate.fingerprint256,
    // without the surrounding text of the file, which may confuse a program
    pem: certificate.toString().trim(),
    name: nameIn(certificate.subject ?? ''),
    from: Date.parse(certificate.validFrom),
    until: Date.parse(certificate.validTo),
  };
}

/** Returns the common name or the whole subject, shortened and on one line. */
export function nameIn(subject: string): string {
  const common = /^CN=(.*)$/m.exec(subject)?.[1];
  const line = printable((common ?? subject).slice(0, 4 * NAME_LENGTH));
  const letters = [...line];
  return letters.length > NAME_LENGTH ? `${letters.slice(0, NAME_LENGTH).join('')}…` : line;
}

/** Returns the fingerprints of the authorities in a file, or an empty set if it can't be read. */
export function fingerprintsIn(path: string): Set<string> {
  try {
    return new Set(parseCertificates(readFileSync(path, 'utf8')).map(({ fingerprint }) => fingerprint));
  } catch {
    return new Set();
  }
}

export interface SystemList {
  path: string;
  text: string;
  fingerprints: ReadonlySet<string>;
}

/** Returns the system's list of authorities, or null if no known file exists. */
export function systemList(root: string): SystemList | null {
  for (const path of BUNDLES) {
    const text = readText(root + path);
    if (text === null) continue;
    return {
      path: root + path,
      text,
      fingerprints: new Set(parseCertificates(text).map(({ fingerprint }) => fingerprint)),
    };
  }
  return null;
}

/** Returns the path of the list for tools that add a file to their own list. */
export const extraFile = (directory: string) => join(directory, 'extra.pem');
/** Returns the path of the list for tools that replace their list with a file. */
export const bundleFile = (directory: string) => join(directory, 'bundle.pem');

const HEADER = '# Written by Culvert, and again whenever a certificate changes. See: culvert trust\n';

/** Writes both lists. @returns true if a file changed */
export function writeLists(
  directory: string,
  certificates: readonly Certificate[],
  system: SystemList | null,
): boolean {
  const own = certificates.map(({ pem }) => `${pem}\n`).join('');
  const missing = certificates.filter(({ fingerprint }) => !system?.fingerprints.has(fingerprint));
  const base = system?.text ?? rootCertificates.map(pem => `${pem}\n`).join('');
  // Node warns about a file without certificates at every start, so the list gets a certificate that Node trusts anyway
  const extra = own || `${rootCertificates[0]}\n`;
  makeDirectory(directory);
  const wasWritten = [
    write(extraFile(directory), HEADER + extra),
    write(bundleFile(directory), `${HEADER}${ended(base)}${missing.map(({ pem }) => `${pem}\n`).join('')}`),
  ];
  return wasWritten.some(Boolean);
}

const ended = (text: string) => (text === '' || text.endsWith('\n') ? text : `${text}\n`);

function write(path: string, text: string): boolean {
  if (readText(path) === text) return false;
  replaceFile(path, text, { mode: 0o644 });
  return true;
}
