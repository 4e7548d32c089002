// Keeps what `mcp install` has replaced in the address of an MCP server, until `mcp uninstall` restores it.
import type { Paths } from '../store/paths.ts';
import { updateGateway } from '../store/tokens.ts';
import { readText, withLock, writeAtomic } from '../system/files.ts';
import { isRecord, isText, shape } from '../system/shape.ts';

/** An address before, and the keys in it and in its header; `''` for none. References to accounts stand in the place of keys in the file. */
export interface Original {
  url: string;
  inUrl: string;
  inHeader: string;
}

/** An original, and the token that stands in its place. */
interface Kept extends Original {
  cli: string;
  token: string;
}

/** By the digest of the placeholder. */
export type Originals = Record<string, Kept>;

const isKept = shape<Kept>({ url: isText, inUrl: isText, inHeader: isText, cli: isText, token: isText });

/** All originals. Damaged ones are left out. */
export function readOriginals({ mcpOriginals: file }: Paths): Originals {
  try {
    const value: unknown = JSON.parse(readText(file) ?? '{}');
    const entries = isRecord(value) ? Object.entries(value) : [];
    return Object.fromEntries(entries.filter((entry): entry is [string, Kept] => isKept(entry[1])));
  } catch {
    return {};
  }
}

/** Keeps an original. */
export function keepOriginal(paths: Paths, digest: string, original: Kept): void {
  update(paths, originals => {
    originals[digest] = original;
  });
}

/** Forgets originals that have been restored, and revokes their tokens. */
export function forgetOriginals(paths: Paths, digests: readonly string[]): void {
  if (digests.length === 0) return;
  const ended = update(paths, originals => {
    for (const digest of digests) delete originals[digest];
  });
  for (const cli of new Set(digests.flatMap(digest => ended[digest]?.cli ?? []))) {
    updateGateway(paths, cli, gateway => {
      gateway.tokens = gateway.tokens.filter(({ digest }) => !digests.includes(digest));
    });
  }
}

/** @returns those before the change */
function update(paths: Paths, change: (originals: Originals) => void): Originals {
  const { mcpOriginals: file } = paths;
  return withLock(file, () => {
    const before = readOriginals(paths);
    const originals = { ...before };
    change(originals);
    writeAtomic(file, `${JSON.stringify(originals)}\n`);
    return before;
  });
}
