// Describes the changes of `mcp install` and `mcp uninstall` for people. No key is in it.
import { existsSync, realpathSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { printable } from '../system/redact.ts';
import type { FileChange } from './clients.ts';

/** The differences, as lines of a diff. */
export function describe(changes: readonly FileChange[], put: boolean): string {
  if (changes.length === 0)
    return `No client uses a server ${put ? 'of the catalog directly' : 'through culvert-wrap'}.\n`;
  return changes
    .map(({ file, servers, left, byHand }) => {
      const lines = [
        ...servers.flatMap(each => [`  ${each.server}`, ...difference(each), ...notesOn(each, put, file)]),
        ...left.flatMap(({ server, why }) => [`  ${server}`, `  Not all is changed: ${why}.`]),
        ...(byHand ? [`  It has ${byHand}: change it by hand.`] : []),
      ];
      return `${file}\n${lines.map(printable).join('\n')}\n`;
    })
    .join('\n');
}

/** None where only a key moves. */
function difference({ before, after }: FileChange['servers'][number]): string[] {
  const lines = [`- ${JSON.stringify(before)}`, `+ ${JSON.stringify(after)}`];
  return lines[0]!.slice(1) === lines[1]!.slice(1) ? [] : lines;
}

function notesOn(change: FileChange['servers'][number], put: boolean, file: string): string[] {
  const tool = 'cli' in change ? change.cli : change.tool;
  const keys = change.keys.join(', ');
  const gateway = 'cli' in change && put ? [`  It needs the gateway: culvert-wrap serve ${tool} --install`] : [];
  if (keys === '') return gateway;
  if (put) return [...gateway, `  Its ${keys} moves to an account of ${tool}, and back with \`mcp uninstall\`.`];
  return [`  Its ${keys} is written back into this file${exposure(file)}.`];
}

/** End of a sentence: the ways in which others may see what a file contains. */
function exposure(file: string): string {
  const target = realpathSync(file);
  const ways = [
    ...((statSync(target).mode & 0o044) !== 0 ? ['which others can read'] : []),
    ...(isInRepository(dirname(target)) ? ['which is in a repository'] : []),
  ];
  return ways.map(way => `, ${way}`).join('');
}

function isInRepository(directory: string): boolean {
  if (existsSync(join(directory, '.git'))) return true;
  return dirname(directory) !== directory && isInRepository(dirname(directory));
}
