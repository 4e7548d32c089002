// Reads request lines, which name the endpoints of the contract, and names the media type of the metrics. Free of zod.

/** Takes a request line apart into its method and its path. */
export function splitRequestLine<M extends string, P extends string>(line: `${M} ${P}`): { method: M; path: P } {
  const space = line.indexOf(' ');
  return { method: line.slice(0, space) as M, path: line.slice(space + 1) as P };
}

/** OpenMetrics 1.0. */
export const METRICS_TYPE = 'application/openmetrics-text; version=1.0.0; charset=utf-8';
