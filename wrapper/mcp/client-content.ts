// Reads the files of clients, and finds the entries of servers in them.
import { readdirSync } from 'node:fs';
import { readRegular } from '../../daemon/core/files.ts';
import { isRecord } from '../../daemon/core/shape.ts';
import type { ClientFile } from './client-list.ts';
import { type Configuration, openConfiguration } from './documents/document.ts';
import { type CommandLine, lineIn } from './entry.ts';
import { usualEntry } from './entry-form.ts';
import { digestOfLine } from './record.ts';

/** A client's file with its entries. */
export interface ClientContent {
  file: ClientFile;
  /** Why the entries are not known. */
  problem?: 'missing' | 'unreadable';
  /** Text of the file, also if it does not have its format; empty if the file is missing or can't be read. */
  text: string;
  entries: {
    server: string;
    /** Missing if the entry has no command line. */
    line: CommandLine | undefined;
    /** Digests of the place of the command line, one for each name of the file. */
    digests: string[];
  }[];
}

/** A client's file that has been read. */
interface OpenedFile {
  read: Buffer;
  document: Configuration;
}

/**
 * Opens a client's file, or returns `undefined` without the file.
 * @throws Error if it can't be read, or does not have its format
 */
export function openClientFile({ file, format }: ClientFile): OpenedFile | undefined {
  // a directory that could not be listed is named even where its files, if it has any, could be opened
  const [directory, name] = file.split('/*/');
  if (name !== undefined) readdirSync(directory!);
  const read = readRegular(file);
  if (read === undefined) return undefined;
  const text = read.toString();
  // other bytes would be written back as replacement characters
  if (!Buffer.from(text).equals(read)) throw new Error('it is not UTF-8');
  return { read, document: openConfiguration(text, format) };
}

/** Reads the entries of a client's file. */
export function readContent(file: ClientFile): ClientContent {
  const content: ClientContent = { file, text: '', entries: [] };
  try {
    content.text = readRegular(file.file)?.toString() ?? '';
    const opened = openClientFile(file);
    if (!opened) return { ...content, problem: 'missing' };
    const { text, value } = opened.document;
    const tables = file.places.flatMap(place => tablesAt(value, place));
    const entries = tables.flatMap(({ path, entries: own }) =>
      Object.entries(own).flatMap(([server, entry]) => {
        if (!isRecord(entry)) return [];
        const line = lineIn(usualEntry(structuredClone(entry), file.fields).fields);
        return [{ server, line, digests: file.names.map(name => digestOfLine([name, ...path, server])) }];
      }),
    );
    return { file, text, entries };
  } catch {
    return { ...content, problem: 'unreadable' };
  }
}

/** Tables of servers with their paths. */
interface ServerTable {
  path: readonly string[];
  entries: Record<string, unknown>;
}

/** Returns the tables of servers at a place, such as `projects.*.mcpServers`. */
export function tablesAt(value: unknown, place: string): ServerTable[] {
  return tablesBelow(value, place.split('.'), []);
}

function tablesBelow(value: unknown, [key, ...rest]: readonly string[], path: readonly string[]): ServerTable[] {
  if (!isRecord(value)) return [];
  if (key === undefined) return [{ path, entries: value }];
  const names = key === '*' ? Object.keys(value) : [key];
  return names.flatMap(name => (Object.hasOwn(value, name) ? tablesBelow(value[name], rest, [...path, name]) : []));
}
