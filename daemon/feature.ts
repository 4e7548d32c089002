// Defines a feature of the daemon by the requests that it answers, and loads the code of a feature on first use.
import type { BodyOf, QueryOf, RequestLine, ResponseOf } from './api/contract.ts';
import { reason } from './core/errors.ts';

/** First part of the path below `/api/`, common to all requests of a feature. */
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

/** The body and the query of a request, as in the contract. */
export interface Input<L extends RequestLine> {
  body: BodyOf<L>;
  query: QueryOf<L>;
}

/** A function for each request line; an object without one of these functions does not compile. */
export type HandlersOf<L extends RequestLine> = {
  [K in L]: (input: Input<K>) => ResponseOf<K> | Promise<ResponseOf<K>>;
};

/** A part of the daemon that answers requests; the `index.ts` of its folder creates it. */
export interface Feature<N extends FeatureName> {
  handlers: HandlersOf<LinesOf<N>>;
  /** Starts work that needs no request. The daemon calls `start` once, after it answers requests. */
  start?(): void;
  stop?(): void | Promise<void>;
}

/** Loads a part on the first call, and again only after a failure. */
export interface Lazy<T> {
  (): Promise<T>;
  /** Returns true if the part was loaded, or is being loaded. */
  wasCalled(): boolean;
  /** Returns the part; undefined before the first call, and if it could not be loaded. */
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
 * Loads a part and starts it. Reports a failure: replaced files of the program must not end the daemon.
 * @param name name of the part, for the report of a failure
 */
export function begin(name: string, load: () => Promise<{ start(): void }>, say: (line: string) => void): void {
  load()
    .then(loaded => loaded.start())
    .catch((error: Error) => say(`The part for the ${name} could not be loaded: ${reason(error)}. Restart Culvert.`));
}
