// Explains each mistake in a file with its line, its key and the allowed values.
import { TomlError } from 'smol-toml';
import * as z from 'zod/mini';
// `z.core` would bundle all of zod and its 50 languages: 300 kB in the wrapper and in the daemon
import { toDotPath } from 'zod/v4/core';
import en from 'zod/v4/locales/en.js';

z.config(en());

/**
 * Describes the issues of a failed parse. Omits values, because a value may be a misplaced credential.
 * @param text the TOML text, for line numbers; without it, only keys are named
 * @param within path of the parsed value in the text
 */
export function explainIssues(error: z.core.$ZodError, text?: string, within: readonly PropertyKey[] = []): string {
  return error.issues
    .map(issue => {
      const path = issue.code === 'unrecognized_keys' ? [...issue.path, issue.keys[0]!] : issue.path;
      const line = text === undefined ? undefined : lineOf(text, [...within, ...path]);
      const place = path.length > 0 ? toDotPath(path) : 'the file';
      return `${line === undefined ? '' : `line ${line}: `}${place}: ${messageOf(issue)}`;
    })
    .join('; ');
}

/** Explains why TOML is invalid, with the line, but without the text: it may hold a key. */
export function explainToml(error: unknown): string {
  const why = (error instanceof Error ? error.message : String(error)).split('\n')[0] ?? '';
  return error instanceof TomlError ? `line ${error.line}: ${why}` : why;
}

function messageOf(issue: z.core.$ZodIssue): string {
  if (issue.code === 'unrecognized_keys') return 'there is no such key';
  if (issue.code === 'invalid_union') return issue.errors.map(each => each[0]?.message ?? '').join(', or: ');
  return issue.message;
}

/** Returns the line, from 1, of the deepest part of `path` that has its own line in the text. */
function lineOf(text: string, path: readonly PropertyKey[]): number | undefined {
  const keys = path.map(String);
  let best: { line: number; depth: number } | undefined;
  let table: string[] = [];
  const counts = new Map<string, number>();
  for (const [index, line] of text.split('\n').entries()) {
    const header = /^\s*(\[\[?)\s*([^\]]+?)\s*\]/.exec(line);
    const assignment = /^\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=/.exec(line);
    let here: string[];
    if (header) {
      table = keysOf(header[2]!);
      if (header[1] === '[[') {
        const id = table.join('\0');
        const count = counts.get(id) ?? 0;
        counts.set(id, count + 1);
        table = [...table, String(count)];
      } else table = withIndexes(table, counts);
      here = table;
    } else if (assignment) here = [...table, ...keysOf(assignment[1]!)];
    else continue;
    const depth = here.length;
    if (here.every((key, i) => key === keys[i]) && depth <= keys.length && depth > (best?.depth ?? 0)) {
      best = { line: index + 1, depth };
    }
  }
  return best?.line;
}

/** Adds array indexes: `[a.b]` below the latest `[[a]]` is `a.N.b`. */
function withIndexes(keys: readonly string[], counts: ReadonlyMap<string, number>): string[] {
  const result: string[] = [];
  for (const [i, key] of keys.entries()) {
    result.push(key);
    const count = counts.get(keys.slice(0, i + 1).join('\0'));
    if (count !== undefined) result.push(String(count - 1));
  }
  return result;
}

function keysOf(text: string): string[] {
  return [...text.matchAll(/"([^"]*)"|'([^']*)'|([\w-]+)/g)].map(match => match[1] ?? match[2] ?? match[3]!);
}
