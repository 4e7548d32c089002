// Decides whether clients offer the tool accounts page: only if culvert-wrap has something to do.
import { readdirSync } from 'node:fs';
import { readCatalogText, signedEntriesText } from '../../wrapper/catalog/files.ts';
import { findOnPath, readInstalls } from '../../wrapper/store/installs.ts';
import { type Paths, pathsFor } from '../../wrapper/store/paths.ts';
import type { FeatureContext } from '../controls.ts';
import { errno } from '../core/errors.ts';
import { dataDirectory } from '../system/installation.ts';

/** The shipped providers.toml. */
export const CATALOG = `${dataDirectory}/wrap/providers.toml`;

/** A tool that is no reason for the offer: most people don't use npm to publish packages with several accounts. */
const NOT_OFFERED = 'npm';
/** Lifetime of an answer. It keeps clients that connect often from causing a search each time. */
const KEPT_MS = 5_000;
/** A catalog line that names a command. Loading the whole catalog would slow down each start of the daemon. */
const COMMAND = /^\s*bin\s*=\s*["']([^"']+)["']/gm;

/** Commands of the tools in the catalogs, and in the text of a signed one; a missing catalog adds no commands. */
export function commandsIn(catalogs: readonly string[], signed = ''): string[] {
  const texts = [...catalogs.map(file => readCatalogText(file) ?? ''), signed];
  return texts.flatMap(text => [...text.matchAll(COMMAND)].map(([, command]) => command!));
}

/** @returns a function that publishes whether a shim is installed, or a tool of the catalogs is on the daemon's PATH */
export function createToolOffer(
  { env, state }: Pick<FeatureContext, 'env' | 'state'>,
  { catalog = CATALOG, keptMs = KEPT_MS } = {},
): { start(): void; refresh(): void } {
  const paths = pathsFor(env);
  let readAt = Number.NEGATIVE_INFINITY;
  const start = () => {
    readAt = performance.now();
    state.set('toolAccounts', { offered: isOffered(paths, catalog, env.PATH ?? '') });
  };
  return {
    start,
    refresh() {
      if (performance.now() - readAt >= keptMs) start();
    },
  };
}

function isOffered(paths: Paths, catalog: string, search: string): boolean {
  if (Object.keys(readInstalls(paths)).length > 0) return true;
  // looking for each command separately would cost 4 MB at startup
  const present = presentOn(search);
  return commandsIn([catalog, paths.userCatalog], signedEntriesText(paths.catalogUpdates)).some(
    command => command !== NOT_OFFERED && (present?.has(command) ?? true) && findOnPath(command, search) !== undefined,
  );
}

/** Returns the names in the directories of `PATH`, or null if one can't be listed. */
function presentOn(search: string): Set<string> | null {
  const names = new Set<string>();
  for (const directory of search.split(':')) {
    try {
      for (const name of readdirSync(directory || '.')) names.add(name);
    } catch (error) {
      if (errno(error) === 'EACCES') return null;
    }
  }
  return names;
}
