// Keeps the two lists that tools are pointed to: the organization's certificates alone, and those with the system's list.
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { BUNDLES } from '../system/ca-certificates.ts';
import { makeDirectory, readText, replaceFile } from '../system/files.ts';
import { type Certificate, parseCertificates } from './certificates.ts';

export interface SystemList {
  path: string;
  text: string;
  fingerprints: ReadonlySet<string>;
}

/** The system's list of authorities, or null if no known file exists. */
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

/** For tools that add a file to their own list. */
export const extraFile = (directory: string) => join(directory, 'extra.pem');
/** For tools whose list a file replaces. */
export const bundleFile = (directory: string) => join(directory, 'bundle.pem');

const HEADER = '# Written by Culvert, and again whenever a certificate changes. See: culvert trust\n';

/** @returns whether a file was written */
export function writeLists(
  directory: string,
  certificates: readonly Certificate[],
  system: SystemList | null,
): boolean {
  const own = certificates.map(({ pem }) => `${pem}\n`).join('');
  const missing = certificates.filter(({ fingerprint }) => !system?.fingerprints.has(fingerprint));
  const base = system?.text ?? rootCertificates.map(pem => `${pem}\n`).join('');
  // Node warns at every start about a file without certificates; one that it has anyway changes nothing
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
