// Holds what server and clients share about requests: their lines, limits and media type. Free of zod, so that the guard can load it.

/** Maximum request body, in bytes. */
const BODY_BYTES = 65_536;
/** Maximum length of a routes document, in characters: 5,000 entries have about 100,000. */
export const MAX_DOCUMENT = 1 << 20;
/** Bytes of the bodies that hold a document. Line ends take two in JSON, other letters up to three. */
export const DOCUMENT_BODY = 2 * MAX_DOCUMENT;
const LARGE_BODIES: ReadonlyMap<string, number> = new Map([
  ['/api/routes', DOCUMENT_BODY],
  ['/api/routes/preview', DOCUMENT_BODY],
  ['/api/settings/diff', DOCUMENT_BODY],
  ['/api/settings/apply', DOCUMENT_BODY],
]);

/** Longest run of culvert-wrap for a change of accounts, in ms: a keyring may ask its user for a password. */
export const TOOL_CHANGE_MS = 60_000;
/** Changes of accounts that may wait for the one under way. */
export const TOOL_CHANGES_WAITING = 16;

/** @param target of a request, such as `/api/action` @returns bytes that its body has at most */
export function bodyLimit(target: string): number {
  return LARGE_BODIES.get(target) ?? BODY_BYTES;
}

/** Takes a request line apart into its method and its path. */
export function splitRequestLine<M extends string, P extends string>(line: `${M} ${P}`): { method: M; path: P } {
  const space = line.indexOf(' ');
  return { method: line.slice(0, space) as M, path: line.slice(space + 1) as P };
}

/** OpenMetrics 1.0. */
export const METRICS_TYPE = 'application/openmetrics-text; version=1.0.0; charset=utf-8';
