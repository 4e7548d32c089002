// Implements `config`, `trust`, `audit` and `events`, which show settings and runs, and let directories choose accounts.

import { closeSync, openSync, readSync, statSync } from 'node:fs';
import * as path from 'node:path';
import { StringDecoder } from 'node:string_decoder';
import type { Context } from '../context.ts';
import { distrust, readDirectoryFile, trust } from '../manage/directory.ts';
import { type AuditEntry, readAudit } from '../store/audit.ts';
import { readConfig } from '../store/config.ts';
import { readInstalls } from '../store/installs.ts';
import { DIRECTORY_FILE } from '../store/paths.ts';
import { describeSource } from '../store/secrets.ts';
import { EXIT, WrapError } from '../system/errors.ts';
import { emit, table, time } from './print.ts';

interface Options {
  json?: boolean;
}

/** `config`: shows the files and the configuration in effect, with references to credentials but no credentials. */
export function showConfig(options: Options, { paths }: Context): void {
  const config = readConfig(paths.config);
  const accounts = config.accounts.map(account => ({
    ...account,
    env: Object.fromEntries(Object.entries(account.env).map(([name, source]) => [name, describeSource(source)])),
  }));
  const rows = [
    ['configuration', paths.config],
    ['own catalog entries', paths.userCatalog],
    ['state', paths.state],
    ['accounts', String(accounts.length)],
    ['audit log', config.audit ? paths.audit : 'off'],
    ['credential time limit', config.secret_timeout],
    ...Object.entries(config.capacity).map(([cli, capacity]) => [
      `capacity of ${cli}`,
      `${capacity.policy}, reserve ${capacity.reserve}`,
    ]),
  ];
  emit(options.json, { paths, config: { ...config, accounts } }, table(rows));
}

/** `trust [directory]` and `distrust [directory]`: stores the decision for the file's current content. */
export function setTrust(
  directory: string | undefined,
  trusted: boolean,
  options: Options,
  { paths, cwd }: Context,
): void {
  const choiceFile = readDirectoryFile(path.resolve(cwd, directory ?? '.'));
  if (!choiceFile) {
    throw new WrapError(
      'no-directory-file',
      EXIT.noInput,
      `there is no ${DIRECTORY_FILE} at or above ${directory ?? cwd}`,
      {
        hint: `create one with [accounts] and for example firecrawl = "team-b"`,
      },
    );
  }
  (trusted ? trust : distrust)(choiceFile.file, choiceFile.text, paths);
  emit(
    options.json,
    { file: choiceFile.file, trusted },
    `${choiceFile.file} is ${trusted ? '' : 'not '}trusted${trusted ? `:\n${choiceFile.text.trimEnd()}` : ''}`,
  );
}

/** Describes the user's own choice, and whether it was followed. */
function choiceText({ choice, outcome }: Pick<AuditEntry, 'choice' | 'outcome'>): string {
  if (choice === undefined) return '';
  return outcome === 'original' ? `, by ${choice}` : `, not by ${choice}`;
}

/** `audit`: shows the newest entries of the audit log, oldest first. */
export function showAudit(options: Options & { last?: string }, { paths }: Context): void {
  const entries = readAudit(paths, Number(options.last ?? 50) || 50).map(entry => ({
    ...entry,
    at: new Date(entry.at).toISOString(),
  }));
  const rows = entries.map(entry => [
    time(entry.at),
    entry.cli,
    entry.consumer === undefined ? entry.command : `${entry.command} (${entry.consumer})`,
    entry.account ?? '-',
    `${entry.outcome}${entry.class || entry.why ? ` (${entry.class ?? entry.why})` : ''}${choiceText(entry)}${entry.degraded ? ', degraded' : ''}${entry.count === undefined ? '' : `, requests: ${entry.count}`}`,
    entry.ms === undefined ? '-' : `${entry.ms} ms`,
    entry.cost === undefined ? '-' : String(entry.cost),
  ]);
  emit(
    options.json,
    { entries },
    rows.length > 0
      ? table([['AT', 'CLI', 'COMMAND', 'ACCOUNT', 'OUTCOME', 'TIME', 'COST'], ...rows])
      : Object.keys(readInstalls(paths)).length > 0
        ? 'No command has run with an account yet.'
        : 'No command has run yet. Put a tool behind Culvert with: culvert-wrap install firecrawl',
  );
}

const POLL_MS = 250;

/**
 * Prints each new entry of the audit log until the process ends.
 * @throws WrapError `no-audit` when the log is turned off
 */
export async function followEvents({ paths }: Pick<Context, 'paths'>): Promise<void> {
  if (!readConfig(paths.config).audit) {
    throw new WrapError('no-audit', EXIT.config, `the audit log is turned off in ${paths.config}`, {
      hint: 'remove the line `audit = false`: events are read from it',
    });
  }
  const start = statSync(paths.audit, { throwIfNoEntry: false });
  let inode = start?.ino;
  let position = start?.size ?? 0;
  let decoder = new StringDecoder('utf8');
  for (;;) {
    const stat = statSync(paths.audit, { throwIfNoEntry: false });
    if (stat && (stat.ino !== inode || stat.size < position)) {
      // The log was rotated together with the last entries, or has just been created.
      const older = `${paths.audit}.1`;
      const last = statSync(older, { throwIfNoEntry: false });
      if (last && last.ino === inode && last.size > position) {
        process.stdout.write(decoder.write(readFrom(older, position, last.size - position)));
      }
      inode = stat.ino;
      position = 0;
      decoder = new StringDecoder('utf8');
    }
    if (stat && stat.size > position) {
      const added = readFrom(paths.audit, position, stat.size - position);
      position += added.length;
      process.stdout.write(decoder.write(added));
    }
    await new Promise(resolve => setTimeout(resolve, POLL_MS));
  }
}

function readFrom(file: string, position: number, length: number): Buffer {
  const fd = openSync(file, 'r');
  try {
    const buffer = Buffer.alloc(length);
    return buffer.subarray(0, readSync(fd, buffer, 0, length, position));
  } finally {
    closeSync(fd);
  }
}
