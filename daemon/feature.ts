// Defines a feature of the daemon by the requests that it answers, and loads the larger part of one with its first use.
import type { BodyOf, QueryOf, RequestLine, ResponseOf } from './api/contract.ts';

/** The part of the path below `/api/` that all requests of a feature have. */
export type FeatureName =
  | 'accounts'
  | 'apps'
  | 'changes'
  | 'doctor'
  | 'history'
  | 'killswitch'
  | 'metrics'
  | 'networks'
  | 'routes'
  | 'settings'
  | 'trust'
  | 'update';

/** The request lines of the contract that a feature answers. */
export type LinesOf<N extends FeatureName> = Extract<
  RequestLine,
  `${string} /api/${N}` | `${string} /api/${N}/${string}`
>;

/** The body and the query of a request, as the contract has them. */
export interface Input<L extends RequestLine> {
  body: BodyOf<L>;
  query: QueryOf<L>;
}

/** A function for each request line; without one of them, the object does not compile. */
export type HandlersOf<L extends RequestLine> = {
  [K in L]: (input: Input<K>) => ResponseOf<K> | Promise<ResponseOf<K>>;
};

/** A part of the daemon that answers requests; the `index.ts` of its folder creates it. */
export interface Feature<N extends FeatureName> {
  handlers: HandlersOf<LinesOf<N>>;
  /** Starts what needs no request. The daemon calls it once, after it answers requests. */
  start?(): void;
  stop?(): void | Promise<void>;
}

/** A function that loads a part when it is first called, and again only after a failure. */
export interface Lazy<T> {
  (): Promise<T>;
  /** Reports whether the part was loaded, or is being loaded. */
  wasCalled(): boolean;
  /** The part; undefined before the first call, and if it could not be loaded. */
  loaded(): Promise<T | undefined>;
}

/** @param open imports the part and creates it */
export function lazy<T>(open: () => Promise<T>): Lazy<T> {
  let loading: Promise<T> | undefined;
  const load = () => {
    loading ??= open().catch(error => {
      loading = undefined;
      throw error;
    });
    return loading;
  };
  return Object.assign(load, {
    wasCalled: () => loading !== undefined,
    loaded: () => Promise.resolve(loading).catch(() => undefined),
  });
}

/**
 * Loads a part and starts it. A package may have replaced the program's files, which must not end the daemon.
 * @param name of the part, for the report of a failure
 */
export function begin(name: string, load: () => Promise<{ start(): void }>, say: (line: string) => void): void {
  load()
    .then(loaded => loaded.start())
    .catch((error: Error) => say(`The part for the ${name} could not be loaded: ${error.message}. Restart Culvert.`));
}
