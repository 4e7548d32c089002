// Adds certificates to the NSS databases of browsers, and undoes the changes byte for byte if the files are unchanged since.
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readlinkSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { reason } from '../core/errors.ts';
import { makeDirectory } from '../core/files.ts';
import { digestOf, restoreFile } from '../core/undo.ts';
import { quote } from '../view/fix.ts';
import { firstMissing, type NssStep, type OpenJournal, removeWithDirectories, trustFailure } from './journal.ts';

const FILES = ['cert9.db', 'key4.db', 'pkcs11.txt'] as const;
const CERTUTIL_MS = 30_000;

interface Certificate {
  fingerprint: string;
  pem: string;
}

/** Returns the certificate's name in a database. */
const nicknameOf = ({ fingerprint }: Certificate) =>
  `Organization ${fingerprint.replaceAll(':', '').slice(0, 16)} (Culvert)`;

const commandOf = (directory: string, certificate: Certificate) => [
  '-A',
  '-d',
  `sql:${directory}`,
  '-t',
  'C,,',
  '-n',
  nicknameOf(certificate),
  '-a',
];

/** Returns the change as a patch with a command for each certificate. */
export function nssDiff(directory: string, certificates: readonly Certificate[]): string {
  const lines = certificates.map(each => `+certutil ${quote(commandOf(directory, each))}\n`);
  return `--- ${directory}\n+++ ${directory}\n${lines.join('')}`;
}

/** @param remember adds the step to the journal, which is saved before and after the change @throws Failure `failed` */
export function changeNss(
  directory: string,
  certificates: readonly Certificate[],
  { open, remember }: { open: OpenJournal; remember(step: NssStep): void },
): void {
  const step: NssStep = {
    kind: 'nss',
    directory,
    made: existsSync(directory) ? null : firstMissing(directory),
    names: certificates.map(nicknameOf),
    files: FILES.map(name => {
      const path = join(directory, name);
      return { name, copy: existsSync(path) ? open.keep(path) : null, after: null };
    }),
  };
  remember(step);
  open.save();
  if (!existsSync(join(directory, FILES[0]))) {
    makeDirectory(directory);
    certutil(['-N', '--empty-password', '-d', `sql:${directory}`]);
  }
  for (const each of certificates) certutil(commandOf(directory, each), each.pem);
  note(step);
  open.save();
}

/** Adds missing certificates to a changed database, and removes outdated certificates that Culvert added. */
export function renewNss(step: NssStep, certificates: readonly Certificate[], open: OpenJournal): void {
  const { directory, names } = step;
  const wanted = certificates.map(nicknameOf);
  if (names.join() === wanted.join() || !existsSync(directory)) return;
  const isOurs = isAsLeft(step);
  for (const name of names) if (!wanted.includes(name)) remove(directory, name);
  for (const each of certificates)
    if (!names.includes(nicknameOf(each))) certutil(commandOf(directory, each), each.pem);
  step.names = wanted;
  if (isOurs) note(step);
  open.save();
}

/** @returns a line that reports the change; null if there was nothing to undo */
export function undoNss(step: NssStep, open: OpenJournal): string | null {
  const { directory, names, files, made } = step;
  if (!existsSync(join(directory, FILES[0]))) return null;
  // a browser with an open database would continue to use the replaced files
  if (isAsLeft(step) && !isOpen(join(directory, FILES[0]))) {
    for (const { name, copy } of files) {
      const path = join(directory, name);
      if (copy !== null) restoreFile(open.copyOf(copy), path);
      else removeWithDirectories(path, made);
    }
    return `restored ${directory}`;
  }
  for (const name of names) remove(directory, name);
  return `removed the certificate from ${directory}`;
}

function note(step: NssStep): void {
  for (const file of step.files) file.after = digestOf(join(step.directory, file.name));
}

const isAsLeft = ({ directory, files }: NssStep) =>
  files.every(({ name, after }) => digestOf(join(directory, name)) === after);

function remove(directory: string, name: string): void {
  try {
    certutil(['-D', '-d', `sql:${directory}`, '-n', name]);
  } catch (error) {
    if (!/could not find|SEC_ERROR_/i.test(String(error instanceof Error ? error.cause : ''))) throw error;
  }
}

function certutil(args: readonly string[], input = ''): void {
  try {
    execFileSync('certutil', args, { input, timeout: CERTUTIL_MS, stdio: ['pipe', 'ignore', 'pipe'] });
  } catch (error) {
    throw trustFailure('failed', `certutil failed: ${reason(error)}`, undefined, error);
  }
}

/** True while a process of this user has the file open. */
function isOpen(path: string): boolean {
  const real = realpathSync(path);
  return readdirSync('/proc').some(pid => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      return readdirSync(`/proc/${pid}/fd`).some(fd => readlinkSync(`/proc/${pid}/fd/${fd}`) === real);
    } catch {
      return false; // the process belongs to another user, or has ended
    }
  });
}
