// Implements `config`, `trust` and `audit`, which show settings and runs, and let directories choose accounts.
import * as path from 'node:path';
import type { Context } from '../context.ts';
import { distrust, readDirectoryFile, trust } from '../manage/directory.ts';
import { type AuditEntry, readAudit } from '../store/audit.ts';
import { readConfig } from '../store/config.ts';
import { readInstalls } from '../store/installs.ts';
import { DIRECTORY_FILE } from '../store/paths.ts';
import { describeSource } from '../store/secrets.ts';
import { EXIT, WrapError } from '../system/errors.ts';
import { emit, type Options, table, time } from './print.ts';

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
