// Defines request lines, limits and a media type for server and clients. Free of zod, so that the guard can load it.

/** Maximum size of a request body, in bytes. */
const BODY_BYTES = 65_536;
/** Maximum length of a routes document, in characters: 5,000 entries have about 100,000. */
export const MAX_DOCUMENT = 1 << 20;
/** Maximum size of a body with a document, in bytes. In JSON, a line end takes two bytes, other letters up to three. */
export const DOCUMENT_BODY = 2 * MAX_DOCUMENT;
const LARGE_BODIES: ReadonlyMap<string, number> = new Map([
  ['/api/routes', DOCUMENT_BODY],
  ['/api/routes/preview', DOCUMENT_BODY],
  ['/api/settings/diff', DOCUMENT_BODY],
  ['/api/settings/apply', DOCUMENT_BODY],
]);

/** Time limit of culvert-wrap for a change of accounts, in ms: a keyring may ask its user for a password. */
export const TOOL_CHANGE_MS = 60_000;
/** Maximum number of account changes that wait for the running change. */
export const TOOL_CHANGES_WAITING = 16;

/** Returns the maximum body size of a request, in bytes. @param target such as `/api/action` */
export function bodyLimit(target: string): number {
  return LARGE_BODIES.get(target) ?? BODY_BYTES;
}

/** Splits a request line into method and path. */
export function splitRequestLine<M extends string, P extends string>(line: `${M} ${P}`): { method: M; path: P } {
  const space = line.indexOf(' ');
  return { method: line.slice(0, space) as M, path: line.slice(space + 1) as P };
}

/** The media type of OpenMetrics 1.0. */
export const METRICS_TYPE = 'application/openmetrics-text; version=1.0.0; charset=utf-8';
