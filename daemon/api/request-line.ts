// A request line names an endpoint in the contract: `POST /api/action`.

/** Takes a request line apart into its method and its path. */
export function splitRequestLine<M extends string, P extends string>(line: `${M} ${P}`): { method: M; path: P } {
  const space = line.indexOf(' ');
  return { method: line.slice(0, space) as M, path: line.slice(space + 1) as P };
}
