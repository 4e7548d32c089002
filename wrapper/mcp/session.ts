// Tracks the setup, open requests and errors of an MCP client and its server, and the requests that the proxy makes.
import { randomUUID } from 'node:crypto';
import { sha256 } from '../../daemon/core/hash.ts';
import { isRecord } from '../../daemon/core/shape.ts';
import type { McpServer } from '../catalog/programs.ts';
import { type Id, lineOf, type Message, verdictOf, versionIn } from '../run/rules/mcp-messages.ts';
import { say } from '../system/errors.ts';
import { isTested } from './entry.ts';

type Params = Record<string, unknown>;

/** A request that the proxy makes itself. */
export interface Setup {
  method: string;
  params: Params | undefined;
}

/** The state of a client with its server. With protocol version 2026-07-28 it consists of open subscriptions only. */
export class Session {
  /** Lines of open `subscriptions/listen` requests, by request id. */
  readonly listens = new Map<Id, Buffer>();
  readonly #subscriptions = new Map<string, Params>();
  #initialize: Params | undefined;
  #isInitialized = false;
  #logLevel: Params | undefined;
  #listTools: Params | undefined;
  #tools: string | undefined;
  /** Tools that the server says to change nothing, or nothing more if called again. */
  readonly repeatable = new Set<string>();

  /** Learns from a request that was answered without an error. */
  answered({ method, params = {} }: Pick<Message, 'method' | 'params'>, result: Params | undefined): void {
    const uri = String(params.uri);
    if (method === 'initialize') this.#initialize = params;
    else if (method === 'logging/setLevel') this.#logLevel = params;
    else if (method === 'resources/subscribe') this.#subscriptions.set(uri, params);
    else if (method === 'resources/unsubscribe') this.#subscriptions.delete(uri);
    if (method === 'tools/list') this.#learnTools(result, params.cursor === undefined);
    if (method === 'tools/list' && params.cursor === undefined) {
      this.#listTools = withoutToken(params);
      this.#tools = digest(result);
    }
  }

  #learnTools(result: Params | undefined, isFirst: boolean): void {
    if (isFirst) this.repeatable.clear();
    for (const tool of Array.isArray(result?.tools) ? result.tools : []) {
      const hints = isRecord(tool) && isRecord(tool.annotations) ? tool.annotations : {};
      const isRepeatable = hints.readOnlyHint === true || hints.idempotentHint === true;
      if (isRecord(tool) && typeof tool.name === 'string' && isRepeatable) this.repeatable.add(tool.name);
    }
  }

  notified(method: string): void {
    if (method === 'notifications/initialized') this.#isInitialized = true;
  }

  /** The requests that set up a new process, in order. The client does not get the answers. */
  get setup(): Setup[] {
    if (!this.#initialize) return [];
    return [
      { method: 'initialize', params: withoutToken(this.#initialize) },
      ...(this.#logLevel ? [{ method: 'logging/setLevel', params: this.#logLevel }] : []),
      ...[...this.#subscriptions.values()].map(params => ({ method: 'resources/subscribe', params })),
    ];
  }

  /** The notification to send after `initialize` is answered, if the client sent it to the first process. */
  get initialized(): Buffer | undefined {
    return this.#isInitialized ? lineOf({ method: 'notifications/initialized' }) : undefined;
  }

  /** The request that shows whether the tools have changed, if the client has listed them. */
  get toolsRequest(): Setup | undefined {
    return this.#listTools && { method: 'tools/list', params: this.#listTools };
  }

  /** Returns the notifications for the client if its list of tools has changed. */
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

/** Returns the request for a server's version. Clients of the stateless protocol may call without it. */
function versionRequest({ params = {} }: Pick<Message, 'params'>): Setup | undefined {
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

/** Requests that cost nothing and change nothing: the proxy repeats them if the server ended before it answered. */
const HARMLESS =
  /^(?:initialize|ping|server\/discover|subscriptions\/listen|(?:tools|prompts|resources)\/(?:templates\/)?list)$/;

/** Maximum size of requests that wait for a server. The proxy stops reading the client above this limit. */
const HELD_BYTES = 8 * 1024 * 1024;

/** A request of the client. */
export interface Call {
  message: Message;
  /** The line that repeats the request, where that is possible. */
  line: Buffer | undefined;
  started: number;
}

/** A request that waits for the next server, and the answer in case the server does not start. */
export interface Held {
  id: Id;
  line: Buffer;
  refusal?: Buffer;
}

/** The open requests of one client, by request id. */
export class InFlight {
  readonly calls = new Map<Id, Call>();
  /** Open requests of the current server process. */
  readonly #asked = new Set<Id>();
  /** Number of expected answers to processes that have ended, by request id. */
  readonly #stale = new Map<Id, number>();
  #held: Held[] = [];

  /** Notes a request of the server to the client. */
  asked(id: Id): void {
    this.#asked.add(id);
  }

  /** Notes an answer of the client. @returns true if the process that asked is still running */
  answered(id: Id): boolean {
    const stale = this.#stale.get(id) ?? 0;
    if (stale > 0) this.#stale.set(id, stale - 1);
    else this.#asked.delete(id);
    return stale === 0;
  }

  /** Reports whether an open call has this token: late progress would be taken for a later call with the same token. */
  isAwaited(token: Id | undefined): boolean {
    return [...this.calls.values()].some(({ message }) => message.token === token);
  }

  /** @returns false if the limit for held requests is exceeded */
  hold(held: Held): boolean {
    this.#held.push(held);
    return this.#held.reduce((sum, { line }) => sum + line.length, 0) <= HELD_BYTES;
  }

  /** @returns true if the request was held */
  release(id: Id): boolean {
    const before = this.#held.length;
    this.#held = this.#held.filter(held => held.id !== id);
    return this.#held.length < before;
  }

  /** Removes the held requests, and returns their lines for the next server. */
  takeHeld(): Buffer[] {
    const lines = this.#held.map(({ line }) => line);
    this.#held = [];
    return lines;
  }

  /** Removes the held requests that have a refusal, and returns the refusals. */
  takeRefusals(): Buffer[] {
    const refusals = this.#held.flatMap(({ refusal }) => refusal ?? []);
    this.#held = this.#held.filter(({ refusal }) => !refusal);
    return refusals;
  }

  /** Holds the harmless calls of a process that ended for the next one. @returns the ids of the lost calls */
  lose(listens: ReadonlyMap<Id, Buffer>): Id[] {
    const lost: Id[] = [];
    for (const [id, { message, line }] of this.calls) {
      if (listens.has(id)) continue;
      this.calls.delete(id);
      if (HARMLESS.test(message.method ?? '') && line) this.#held.unshift({ id, line });
      else lost.push(id);
    }
    for (const id of this.#asked) this.#stale.set(id, (this.#stale.get(id) ?? 0) + 1);
    this.#asked.clear();
    return lost;
  }

  /** Ids of all open and held requests of the client. */
  get ids(): Id[] {
    return [...this.calls.keys(), ...this.#held.map(({ id }) => id)];
  }
}

const ANSWER_MS = 30_000;

/** The open requests that a proxy has made itself. */
export class OwnRequests {
  readonly #prefix = `culvert-wrap-${randomUUID()}-`;
  readonly #waiting = new Map<Id, (message: Message | undefined) => void>();
  #count = 0;

  /**
   * Sends a request to a server.
   * @param late called when the server does not answer in time
   * @returns the answer, or `undefined` if the server ended or did not answer in time
   */
  ask(
    server: { write(line: Buffer): unknown },
    { method, params }: Setup,
    late?: () => void,
  ): Promise<Message | undefined> {
    const id = `${this.#prefix}${this.#count++}`;
    return new Promise(resolve => {
      const timer = setTimeout(() => {
        this.#waiting.delete(id);
        late?.();
        resolve(undefined);
      }, ANSWER_MS);
      this.#waiting.set(id, message => {
        clearTimeout(timer);
        resolve(message);
      });
      server.write(lineOf(params ? { id, method, params } : { id, method }));
    });
  }

  /** @returns true if the message answers a request of the proxy */
  settle(id: Id, message: Message): boolean {
    const settle = this.#waiting.get(id);
    this.#waiting.delete(id);
    settle?.(message);
    return settle !== undefined;
  }

  /** Resolves all open requests without an answer, because the server process has ended. */
  drop(): void {
    for (const settle of this.#waiting.values()) settle(undefined);
    this.#waiting.clear();
  }
}

/** Judges the errors of one server. Ignores those of a server without rules and usual errors: its gateway switches accounts. */
export class ServerErrors {
  readonly #server: McpServer;
  #version: string | undefined;
  #hasAsked = false;
  #hasWarned = false;

  constructor(server: McpServer) {
    this.#server = server;
  }

  get #isJudged(): boolean {
    return this.#server.rules.length > 0 || this.#server.usual_errors;
  }

  /** Returns the version request that must precede a call while the version is unknown. */
  requestBefore(call: Message): Setup | undefined {
    const isKnown = !this.#server.versions || this.#version !== undefined;
    if (!this.#isJudged || isKnown || this.#hasAsked) return undefined;
    const request = versionRequest(call);
    this.#hasAsked = request !== undefined;
    return request;
  }

  /** Learns the server's version from a result that names it. */
  learn({ result }: Message): void {
    this.#version = versionIn(result) ?? this.#version;
  }

  /** Returns the verdict on an answer, or `undefined` if the answer says nothing about the account. */
  verdict(answer: Message): ReturnType<typeof verdictOf> {
    if (!this.#isJudged) return undefined;
    const version = this.#version;
    if (isTested(this.#server, version)) return verdictOf(answer, this.#server);
    if (answer.failure && !this.#hasWarned) {
      say(`the errors of ${this.#server.package} ${version ?? ''} are not in the catalog; the account stays`);
      this.#hasWarned = true;
    }
    return undefined;
  }
}
