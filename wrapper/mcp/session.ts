// Remembers what a client has set up with a server, so that the next process of the server can be set up the same way. Pure.

import { type Id, lineOf, type Message } from '../run/rules/mcp-messages.ts';
import { sha256 } from '../system/hash.ts';

type Params = Record<string, unknown>;

/** A request that the proxy makes itself. */
export interface Setup {
  method: string;
  params: Params | undefined;
}

/** The state of a client with its server. The protocol of 2026-07-28 has open subscriptions only. */
export class Session {
  /** Lines of open `subscriptions/listen`, by their ids. */
  readonly listens = new Map<Id, Buffer>();
  readonly #subscriptions = new Map<string, Params>();
  #initialize: Params | undefined;
  #isInitialized = false;
  #logLevel: Params | undefined;
  #listTools: Params | undefined;
  #tools: string | undefined;

  /** Learns from a request that was answered without an error. */
  answered({ method, params = {} }: Pick<Message, 'method' | 'params'>, result: Params | undefined): void {
    const uri = String(params.uri);
    if (method === 'initialize') this.#initialize = params;
    else if (method === 'logging/setLevel') this.#logLevel = params;
    else if (method === 'resources/subscribe') this.#subscriptions.set(uri, params);
    else if (method === 'resources/unsubscribe') this.#subscriptions.delete(uri);
    else if (method === 'tools/list' && params.cursor === undefined) {
      this.#listTools = withoutToken(params);
      this.#tools = digest(result);
    }
  }

  notified(method: string): void {
    if (method === 'notifications/initialized') this.#isInitialized = true;
  }

  /** The requests that set up another process, in their order. The answers are not for the client. */
  get setup(): Setup[] {
    if (!this.#initialize) return [];
    return [
      { method: 'initialize', params: withoutToken(this.#initialize) },
      ...(this.#logLevel ? [{ method: 'logging/setLevel', params: this.#logLevel }] : []),
      ...[...this.#subscriptions.values()].map(params => ({ method: 'resources/subscribe', params })),
    ];
  }

  /** Follows the answer to `initialize`, if the client said so to the first process. */
  get initialized(): Buffer | undefined {
    return this.#isInitialized ? lineOf({ method: 'notifications/initialized' }) : undefined;
  }

  /** The request that shows whether the tools are still the same, if the client has asked for them. */
  get toolsRequest(): Setup | undefined {
    return this.#listTools && { method: 'tools/list', params: this.#listTools };
  }

  /** Notifications for a client whose list of tools has changed. */
  toolsChanged(result: Params): Buffer[] {
    if (digest(result) === this.#tools) return [];
    this.#tools = digest(result);
    const method = 'notifications/tools/list_changed';
    if (this.#initialize) return [lineOf({ method })];
    return [...this.listens.keys()].map(id =>
      lineOf({ method, params: { _meta: { 'io.modelcontextprotocol/subscriptionId': id } } }),
    );
  }
}

/** The request for a server's version, which clients of the stateless protocol need not make before a call. */
export function versionRequest({ params = {} }: Pick<Message, 'params'>): Setup | undefined {
  const { _meta: meta } = withoutToken(params);
  const isStateless = typeof meta === 'object' && meta !== null && 'io.modelcontextprotocol/protocolVersion' in meta;
  return isStateless ? { method: 'server/discover', params: { _meta: meta } } : undefined;
}

function digest(result: Params | undefined): string {
  return sha256(JSON.stringify(result?.tools ?? null));
}

function withoutToken(params: Params): Params {
  const { _meta: meta, ...others } = params;
  if (typeof meta !== 'object' || meta === null) return params;
  const { progressToken: _, ...kept } = meta as Params;
  return { ...others, _meta: kept };
}
