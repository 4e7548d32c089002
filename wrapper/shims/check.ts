// Finds what is wrong with installed shims, for `doctor`.
import * as fs from 'node:fs';
import * as path from 'node:path';
import { type Installed, isExecutable, isForeignShim, shimOf } from '../store/installs.ts';
import type { Paths } from '../store/paths.ts';
import { readText } from '../system/files.ts';
import { closedToOthers, describeClosed, OPEN_TO_OTHERS, unusableIn } from './other-users.ts';
import type { Programs } from './shim.ts';

/** Result of a check of `doctor`. */
export interface Finding {
  level: 'ok' | 'warning' | 'problem';
  what: string;
  fix?: string;
}

/** Checks an installed shim: one finding, `ok` if it does its work. */
export function checkShim(
  cli: string,
  entry: Installed,
  { env, paths }: { env: NodeJS.ProcessEnv; paths: Paths },
  programs: Programs,
): Finding[] {
  if (isForeignShim(entry.bin, paths)) return [foreignFinding(cli, entry.bin)];
  const repair = `run \`culvert-wrap install ${cli}\``;
  if (!fs.existsSync(entry.bin))
    return [
      {
        level: 'problem',
        what: `${cli}: the shim ${entry.bin} is gone`,
        fix: `${repair}, or \`culvert-wrap uninstall ${cli}\``,
      },
    ];
  if (shimOf(entry.bin) !== cli) {
    return [
      {
        level: 'warning',
        what: `${cli}: ${entry.bin} has been replaced, probably by an upgrade; it runs without accounts`,
        fix: `${repair} to adopt it`,
      },
    ];
  }
  if (!fs.existsSync(entry.original)) {
    return [
      {
        level: 'problem',
        what: `${cli}: the original ${entry.original} is missing`,
        fix: `install ${cli} again, then ${repair}`,
      },
    ];
  }
  const first = (env.PATH ?? '')
    .split(':')
    .map(dir => path.join(dir || '.', path.basename(entry.bin)))
    .find(isExecutable);
  if (!first || fs.realpathSync(first) !== fs.realpathSync(entry.bin)) {
    return [
      {
        level: 'warning',
        what: `${cli}: PATH finds ${first ?? 'nothing'} before the shim ${entry.bin}`,
        fix: `put ${path.dirname(entry.bin)} first on PATH`,
      },
    ];
  }
  const text = readText(entry.bin) ?? '';
  if (!text.includes(`'${programs.bundle}'`))
    return [{ level: 'warning', what: `${cli}: the shim starts another installation of culvert-wrap`, fix: repair }];
  const closed = closedToOthers(entry, programs.bundle);
  if (closed !== undefined) {
    const kept = closed.file.startsWith(`${paths.state}/`);
    const what = `${cli}: ${describeClosed(entry.bin, closed)}`;
    return [{ level: 'warning', what, fix: kept ? repair : OPEN_TO_OTHERS }];
  }
  return [{ level: 'ok', what: `${cli}: ${entry.bin} -> ${entry.original}` }];
}

/** Checks that the shim of another user can be used. */
export function foreignFinding(cli: string, shim: string): Finding {
  const unusable = unusableIn(shim);
  if (unusable !== undefined) {
    return {
      level: 'problem',
      what: `${cli}: ${shim} is a shim that another user has installed, and ${unusable} is missing or not yours to run`,
      fix: `ask that user to run \`culvert-wrap doctor\` and \`culvert-wrap install ${cli}\``,
    };
  }
  return { level: 'ok', what: `${cli}: ${shim} is a shim that another user has installed; it uses your accounts` };
}

/** Damage to the file of installed shims. */
export function checkInstalls(file: string): Finding[] {
  try {
    JSON.parse(readText(file) ?? '{}');
    return [];
  } catch {
    return [
      {
        level: 'problem',
        what: `${file} is damaged, so uninstall does not know what to restore`,
        fix: 'the originals are next to it in originals/, or in .culvert-wrap next to their shims; move them back by hand, then install again',
      },
    ];
  }
}
