// Stands between an MCP client and its server: passes lines on as they are, and changes the account behind them.
import { randomUUID } from 'node:crypto';
import type { Writable } from 'node:stream';
import type { Context, End } from '../context.ts';
import type { Turn, Using } from '../run/turn.ts';
import { EXIT, say, WrapError } from '../system/errors.ts';
import { type Entry, isTested, verdictOf } from './entry.ts';
import { type Id, idOf, lineOf, type Message, readMessages, versionIn } from './messages.ts';
import { Server } from './server.ts';
import { Session, versionRequest } from './session.ts';

/** Requests that cost nothing and change nothing: they are made again when a server ended before it answered. */
const HARMLESS =
  /^(?:initialize|ping|server\/discover|subscriptions\/listen|(?:tools|prompts|resources)\/(?:templates\/)?list)$/;

/** A longer call is not kept for another account. */
const KEPT_BYTES = 1024 * 1024;
/** Requests that wait for a server. The client is not read while there are more. */
const HELD_BYTES = 8 * 1024 * 1024;
/** Time that other calls have to end before their server changes its account. */
const DRAIN_MS = 30_000;
const SETUP_MS = 30_000;
/** Most ends of a server in a row, with nothing answered in between. */
const MOST_ENDS = 5;
const BACK_OFF_MS = 200;

interface Call {
  message: Message;
  line: Buffer | undefined;
  started: number;
}

interface Options {
  command: readonly string[];
  entry: Entry;
  accounts: Pick<Turn, 'answered' | 'refused' | 'take'>;
  using: Using;
  context: Context;
  /** Lines for the client. */
  out: Writable;
  /** The client is to be read, or not. */
  read(on: boolean): void;
}

/** The proxy of one client. */
export class McpProxy {
  readonly #options: Options;
  readonly #session = new Session();
  readonly #calls = new Map<Id, Call>();
  /** Requests of the server that the client has not answered, and how many answers belong to a process that is gone. */
  readonly #asked = new Map<Id, number>();
  readonly #stale = new Map<Id, number>();
  /** The proxy's own requests. */
  readonly #own = new Map<Id, (message: Message | undefined) => void>();
  readonly #prefix = `culvert-wrap-${randomUUID()}-`;
  #ownCount = 0;
  /** Requests for the next server. */
  #held: { id: Id; call: Call; refusal?: Buffer }[] = [];
  #state: 'running' | 'draining' | 'starting' | 'ended' = 'running';
  #server: Server;
  #using: Using;
  #next: Using | undefined;
  #drained: (() => void) | undefined;
  readonly #stopping: Promise<void>[] = [];
  #version: string | undefined;
  #hasAskedVersion = false;
  #warned = false;
  #ends = 0;
  #hasAnswered = false;
  #finish!: (end: End) => void;
  /** Resolves when the client or the server is gone for good. */
  readonly end: Promise<End>;

  constructor(options: Options) {
    this.#options = options;
    this.#using = options.using;
    this.end = new Promise(resolve => {
      this.#finish = resolve;
    });
    options.out.on('drain', () => this.#server.resume());
    this.#server = this.#start();
  }

  /** A line of the client. */
  fromClient(line: Buffer): void {
    const messages = readMessages(line);
    // A batch is passed on whole, and its calls are not repeated.
    const kept = messages.length === 1 && line.length <= KEPT_BYTES ? line : undefined;
    for (const message of messages) if (!this.#accept(message, kept)) return;
    if (!this.#server.write(line)) this.#options.read(false);
  }

  /** The client has closed its end. */
  async clientGone(): Promise<void> {
    if (this.#state === 'ended') return;
    this.#state = 'ended';
    this.#drained?.();
    await Promise.all([...this.#stopping, this.#server.stop()]);
    this.#finish({ exit: 0, signal: null });
  }

  /** @returns whether the line goes to the server now */
  #accept(message: Message, line: Buffer | undefined): boolean {
    const { id, method, params } = message;
    if (id !== undefined && method !== undefined) {
      const call = { message, line, started: this.#options.context.now() };
      if (this.#state === 'draining' || this.#state === 'starting') {
        if (line) this.#hold(id, call);
        else this.#refuse(id, 'the server is changing its account; try again');
        return false;
      }
      this.#calls.set(id, call);
      if (method === 'tools/call' && this.#readsErrors) this.#learnVersion(message);
      if (method === 'subscriptions/listen' && line) this.#session.listens.set(id, line);
      return true;
    }
    if (method === 'notifications/cancelled') return this.#cancel(idOf(params?.requestId));
    if (method !== undefined) {
      this.#session.notified(method);
      return true;
    }
    if (id === undefined) return true;
    const stale = this.#stale.get(id) ?? 0;
    if (stale > 0) this.#stale.set(id, stale - 1);
    else this.#asked.delete(id);
    return stale === 0;
  }

  /** Behind a gateway, no error of the server is read: the gateway changes the account. */
  get #readsErrors(): boolean {
    return this.#options.entry.server.rules.length > 0;
  }

  /** Asks for the version, on which the meaning of an error depends. */
  #learnVersion(message: Message): void {
    const request = this.#version === undefined && !this.#hasAskedVersion ? versionRequest(message) : undefined;
    if (!request) return;
    this.#hasAskedVersion = true;
    this.#ask(request.method, request.params);
  }

  #hold(id: Id, call: Call, refusal?: Buffer): void {
    this.#held.push(refusal ? { id, call, refusal } : { id, call });
    if (this.#held.reduce((sum, held) => sum + held.call.line!.length, 0) > HELD_BYTES) this.#options.read(false);
  }

  #cancel(id: Id | undefined): boolean {
    if (id === undefined) return true;
    this.#session.listens.delete(id);
    const before = this.#held.length;
    this.#held = this.#held.filter(held => held.id !== id);
    // No answer comes, or the client ignores it.
    if (this.#calls.delete(id)) this.#checkDrained();
    return this.#held.length === before;
  }

  #fromServer(line: Buffer, server: Server): void {
    const messages = readMessages(line);
    for (const message of messages) if (!this.#deliver(message, line, messages.length === 1)) return;
    if (!this.#options.out.write(line)) server.pause();
  }

  /** @returns whether the line goes to the client now */
  #deliver(message: Message, line: Buffer, isAlone: boolean): boolean {
    const { id, method, token, result } = message;
    if (method === 'notifications/progress') return this.#isAwaited(token);
    if (method !== undefined) {
      if (id !== undefined) this.#asked.set(id, 1);
      return true;
    }
    if (id === undefined) return true;
    const own = this.#own.get(id);
    if (own) {
      this.#own.delete(id);
      this.#version = versionIn(result) ?? this.#version;
      own(message);
      return false;
    }
    const call = this.#calls.get(id);
    if (!call) return true;
    this.#ends = 0;
    this.#hasAnswered = true;
    this.#version = versionIn(result) ?? this.#version;
    this.#calls.delete(id);
    this.#session.listens.delete(id);
    if (message.failure === undefined) this.#session.answered(call.message, result);
    const isShown = call.message.method !== 'tools/call' || !this.#judge(id, call, message, isAlone ? line : undefined);
    this.#checkDrained();
    return isShown;
  }

  /** Progress of a call that is not made anymore would be taken for that of a later one with the same token. */
  #isAwaited(token: Id | undefined): boolean {
    return [...this.#calls.values()].some(({ message }) => message.token === token);
  }

  /** @returns whether the answer is kept back, because the call is made again */
  #judge(id: Id, call: Call, { failure }: Message, line: Buffer | undefined): boolean {
    const { accounts, entry, context } = this.#options;
    const { name } = this.#using;
    const verdict = failure === undefined ? undefined : this.#verdict(failure);
    if (!verdict) {
      accounts.answered(name, failure === undefined, call.started);
      return false;
    }
    const tool = String(call.message.params?.name);
    const repeated = call.line !== undefined && line !== undefined && !entry.server.once.includes(tool);
    // Others that were on their way with the same account meet the same limit.
    if (this.#state === 'draining') {
      if (repeated) this.#hold(id, call, line);
      return repeated;
    }
    if (this.#state !== 'running') return false;
    this.#state = 'draining';
    if (repeated) this.#hold(id, call, line);
    this.#change(verdict, context.now() - call.started).catch(error => this.#fail(error));
    return repeated;
  }

  #verdict(failure: string) {
    if (!this.#readsErrors) return undefined;
    const { server } = this.#options.entry;
    const version = this.#version;
    if (version !== undefined && isTested(server, version)) return verdictOf(failure, server);
    if (!this.#warned)
      say(`the errors of ${server.package} ${version ?? ''} are not in the catalog; the account stays`);
    this.#warned = true;
    return undefined;
  }

  /** Moves on to the next account, or answers with what the provider said. */
  async #change(verdict: Parameters<Turn['refused']>[1], ms: number): Promise<void> {
    const { accounts } = this.#options;
    const { more } = await accounts.refused(this.#using, verdict, ms);
    this.#next = more ? await accounts.take() : undefined;
    if (this.#isOver()) return;
    if (!this.#next) {
      say('no other account is left; the answer is passed on');
      for (const { refusal } of this.#held) if (refusal) this.#options.out.write(refusal);
      this.#held = this.#held.filter(({ refusal }) => !refusal);
      if (this.#server.hasEnded) await this.#restart();
      else this.#resume();
      return;
    }
    await this.#drain();
    if (this.#isOver()) return;
    say(`trying "${this.#next.name}"`);
    this.#using = this.#next;
    const old = this.#server;
    old.silence();
    this.#lose('its server changed the account; it was not repeated, because it may have been billed');
    this.#stopping.push(old.stop());
    await this.#restart();
  }

  /** Waits for the calls of the server that is to go. */
  async #drain(): Promise<void> {
    await new Promise<void>(resolve => {
      const timer = setTimeout(resolve, DRAIN_MS);
      this.#drained = () => {
        clearTimeout(timer);
        resolve();
      };
      this.#checkDrained();
    });
    this.#drained = undefined;
  }

  #checkDrained(): void {
    const open = [...this.#calls.keys()].filter(id => !this.#session.listens.has(id));
    if (open.length === 0) this.#drained?.();
  }

  /** Answers what was in flight for a process that is gone, and repeats only what costs nothing. */
  #lose(why: string): void {
    for (const [id, call] of this.#calls) {
      const { method = '' } = call.message;
      if (this.#session.listens.has(id)) continue;
      this.#calls.delete(id);
      if (HARMLESS.test(method) && call.line) this.#held.unshift({ id, call });
      else this.#refuse(id, why);
    }
    for (const id of this.#asked.keys()) this.#stale.set(id, (this.#stale.get(id) ?? 0) + 1);
    this.#asked.clear();
    for (const settle of this.#own.values()) settle(undefined);
    this.#own.clear();
  }

  #refuse(id: Id, message: string): void {
    this.#options.out.write(lineOf({ id, error: { code: -32_000, message: `culvert-wrap: ${message}` } }));
  }

  #start(): Server {
    const { command, context } = this.#options;
    const env = this.#using.environment();
    const { signals } = context;
    return new Server(
      command,
      { env, signals },
      {
        line: (line, server) => this.#fromServer(line, server),
        drain: () => this.#options.read(true),
        end: (server, end, error) => server === this.#server && this.#died(end, error),
      },
    );
  }

  /** Starts the next process, sets it up as the client had set up the last one, and gives it what waits. */
  async #restart(): Promise<void> {
    this.#state = 'starting';
    const server = this.#start();
    this.#server = server;
    for (const { method, params } of this.#session.setup) {
      const answer = await this.#ask(method, params);
      if (!answer || this.#server !== server) return;
      if (method === 'initialize' && this.#session.initialized) server.write(this.#session.initialized);
    }
    for (const line of this.#session.listens.values()) server.write(line);
    if (this.#isOver()) return;
    this.#resume();
    const tools = this.#session.toolsRequest;
    const listed = tools && (await this.#ask(tools.method, tools.params));
    if (!listed?.result || this.#server !== server) return;
    for (const line of this.#session.toolsChanged(listed.result)) this.#options.out.write(line);
  }

  /** @returns the answer of the server, or `undefined` where it ended or gave none in time */
  #ask(method: string, params: Record<string, unknown> | undefined): Promise<Message | undefined> {
    const id = `${this.#prefix}${this.#ownCount++}`;
    const server = this.#server;
    return new Promise(resolve => {
      const timer = setTimeout(() => {
        this.#own.delete(id);
        // one that does not answer is ended, and started again
        if (this.#state === 'starting') server.kill();
        resolve(undefined);
      }, SETUP_MS);
      this.#own.set(id, message => {
        clearTimeout(timer);
        resolve(message);
      });
      server.write(lineOf(params ? { id, method, params } : { id, method }));
    });
  }

  #resume(): void {
    this.#state = 'running';
    const held = this.#held;
    this.#held = [];
    this.#options.read(true);
    for (const { call } of held) this.fromClient(call.line!);
  }

  /** The server ended without a request to do so. */
  #died(end: End, error: Error | undefined): void {
    if (this.#state === 'ended') return;
    const { context, command } = this.#options;
    this.#ends++;
    const isStopped = context.signals.received !== undefined;
    const how = error?.message ?? (end.signal ? `by ${end.signal}` : `with exit status ${end.exit}`);
    if (isStopped || !this.#hasAnswered || this.#ends > MOST_ENDS) {
      this.#state = 'ended';
      if (!isStopped) say(`${command[0]} ended: ${how}`);
      for (const id of [...this.#calls.keys(), ...this.#held.map(held => held.id)])
        this.#refuse(id, 'the server has ended');
      this.#finish(error ? { exit: EXIT.unavailable, signal: null } : end);
      return;
    }
    say(`${command[0]} ended: ${how}; starting it again`);
    this.#lose('the server ended during this call; it was not repeated, because it may have been billed');
    this.#drained?.();
    if (this.#state === 'draining') return;
    this.#state = 'starting';
    const wait = this.#ends === 1 ? 0 : BACK_OFF_MS * 4 ** (this.#ends - 1);
    setTimeout(() => {
      if (!this.#isOver()) this.#restart().catch(problem => this.#fail(problem));
    }, wait);
  }

  #isOver(): boolean {
    return this.#state === 'ended';
  }

  #fail(error: unknown): void {
    this.#state = 'ended';
    this.#server.kill();
    say(error instanceof WrapError ? error.message : `unexpected error: ${String(error)}`);
    this.#finish({ exit: EXIT.software, signal: null });
  }
}
