// Passes lines between an MCP client and its server, and restarts the server with another account after a limit.
import type { Writable } from 'node:stream';
import type { Context, End } from '../context.ts';
import type { Refused } from '../run/attempts.ts';
import { type Id, idOf, lineOf, type Message, readFromServer, readMessages } from '../run/rules/mcp-messages.ts';
import type { Turn, Using } from '../run/turn.ts';
import { EXIT, say, WrapError } from '../system/errors.ts';
import type { Entry } from './entry.ts';
import { Server } from './server.ts';
import { type Call, type Held, InFlight, OwnRequests, ServerErrors, Session, type Setup } from './session.ts';

/** Maximum size of a call that the proxy keeps, to repeat it with another account. */
const KEPT_BYTES = 1024 * 1024;
/** Time for other calls to end before the server changes its account. */
const DRAIN_MS = 30_000;
/** Maximum number of times that the server may end in a row without an answer in between. */
const MAX_ENDS = 5;
const BACK_OFF_MS = 200;

interface Options extends Pick<Turn, 'answered'> {
  command: readonly string[];
  entry: Entry;
  using: Using;
  environment(using: Using): NodeJS.ProcessEnv;
  context: Context;
  /** Output for the client. */
  out: Writable;
  /** Resumes or pauses reading from the client. */
  read(on: boolean): void;
}

/** The proxy of one client. */
export class McpProxy {
  readonly #options: Options;
  readonly #session = new Session();
  readonly #inFlight = new InFlight();
  readonly #own = new OwnRequests();
  readonly #errors: ServerErrors;
  #state: 'running' | 'draining' | 'starting' | 'ended' = 'running';
  #server: Server;
  #using: Using;
  #refused: (refused: Refused) => void = () => {};
  #drained: (() => void) | undefined;
  readonly #stopping: Promise<void>[] = [];
  #ends = 0;
  #hasAnswered = false;
  #finish!: (end: End) => void;
  /** Resolves when the client or the server is gone for good. */
  readonly end: Promise<End>;

  constructor(options: Options) {
    this.#options = options;
    this.#using = options.using;
    this.#errors = new ServerErrors(options.entry.server);
    this.end = new Promise(resolve => {
      this.#finish = resolve;
    });
    options.out.on('drain', () => this.#server.resume());
    this.#server = this.#start();
  }

  /**
   * Serves the client until the provider refuses the account.
   * @param using the next account, or the last one if no other is left
   * @returns the refusal; `undefined` when the client or the server is gone for good
   */
  serve(using: Using): Promise<Refused | undefined> {
    const refused = new Promise<Refused>(resolve => {
      this.#refused = resolve;
    });
    if (this.#state === 'draining') this.#goOn(using).catch(error => this.fail(error));
    return Promise.race([refused, this.end.then(() => undefined)]);
  }

  /** Handles a line from the client. */
  fromClient(line: Buffer): void {
    const messages = readMessages(line);
    // Pass on a batch whole, and never repeat its calls.
    const kept = messages.length === 1 && line.length <= KEPT_BYTES ? line : undefined;
    for (const message of messages) if (!this.#accept(message, kept)) return;
    if (!this.#server.write(line)) this.#options.read(false);
  }

  /** Stops the server after the client has closed its end. */
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
        if (line) this.#hold({ id, line });
        else this.#refuse(id, 'the server is changing its account; try again');
        return false;
      }
      this.#inFlight.calls.set(id, call);
      const request = method === 'tools/call' ? this.#errors.requestBefore(message) : undefined;
      if (request) this.#ask(request);
      if (method === 'subscriptions/listen' && line) this.#session.listens.set(id, line);
      return true;
    }
    if (method === 'notifications/cancelled') return this.#cancel(idOf(params?.requestId));
    if (method !== undefined) {
      this.#session.notified(method);
      return true;
    }
    return id === undefined || this.#inFlight.answered(id);
  }

  #hold(held: Held): void {
    if (!this.#inFlight.hold(held)) this.#options.read(false);
  }

  #cancel(id: Id | undefined): boolean {
    if (id === undefined) return true;
    this.#session.listens.delete(id);
    // The server sends no answer to a canceled call, or the client ignores the answer.
    if (this.#inFlight.calls.delete(id)) this.#checkDrained();
    return !this.#inFlight.release(id);
  }

  #fromServer(line: Buffer, server: Server): void {
    const messages = readFromServer(line);
    for (const message of messages) if (!this.#deliver(message, line, messages.length === 1)) return;
    if (!this.#options.out.write(line)) server.pause();
  }

  /** @returns whether the line goes to the client now */
  #deliver(message: Message, line: Buffer, isAlone: boolean): boolean {
    const { id, method, token, result } = message;
    if (method === 'notifications/progress') return this.#inFlight.isAwaited(token);
    if (method !== undefined) {
      if (id !== undefined) this.#inFlight.asked(id);
      return true;
    }
    if (id === undefined) return true;
    this.#errors.learn(message);
    if (this.#own.settle(id, message)) return false;
    const call = this.#inFlight.calls.get(id);
    if (!call) return true;
    this.#ends = 0;
    this.#hasAnswered = true;
    this.#inFlight.calls.delete(id);
    this.#session.listens.delete(id);
    if (message.failure === undefined) this.#session.answered(call.message, result);
    const isShown = call.message.method !== 'tools/call' || !this.#judge(id, call, message, isAlone ? line : undefined);
    this.#checkDrained();
    return isShown;
  }

  /** @returns whether the answer is held, because the call may be repeated */
  #judge(id: Id, call: Call, answer: Message, line: Buffer | undefined): boolean {
    const { answered, entry, context } = this.#options;
    const verdict = this.#errors.verdict(answer);
    if (!verdict) {
      answered(this.#using.name, answer.failure === undefined, call.started);
      return false;
    }
    const tool = String(call.message.params?.name);
    const isOnce = entry.server.once.includes(tool) || (verdict.usual && !this.#session.repeatable.has(tool));
    const held = call.line && line && !isOnce ? { id, line: call.line, refusal: line } : undefined;
    const isFirst = this.#state === 'running';
    // Other calls in progress with the same account hit the same limit.
    if (!isFirst && this.#state !== 'draining') return false;
    if (held) this.#hold(held);
    if (isFirst) {
      this.#state = 'draining';
      this.#refused({ verdict, end: { ms: context.now() - call.started } });
    }
    return held !== undefined;
  }

  /** Moves on to the next account, or passes on the provider's answer. */
  async #goOn(next: Using): Promise<void> {
    if (this.#isOver()) return;
    if (next === this.#using) {
      say('no other account is left; the answer is passed on');
      for (const refusal of this.#inFlight.takeRefusals()) this.#options.out.write(refusal);
      return this.#server.hasEnded ? this.#restart() : this.#resume();
    }
    await this.#drain();
    if (this.#isOver()) return;
    say(`trying "${next.name}"`);
    this.#using = next;
    const old = this.#server;
    old.silence();
    this.#lose('its server changed the account; it was not repeated, because it may have been billed');
    this.#stopping.push(old.stop());
    await this.#restart();
  }

  /** Waits for the calls of the old server. */
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
    const open = [...this.#inFlight.calls.keys()].filter(id => !this.#session.listens.has(id));
    if (open.length === 0) this.#drained?.();
  }

  /** Answers the open requests of a process that ended, but repeats requests that cost nothing. */
  #lose(why: string): void {
    for (const id of this.#inFlight.lose(this.#session.listens)) this.#refuse(id, why);
    this.#own.drop();
  }

  #refuse(id: Id, message: string): void {
    this.#options.out.write(lineOf({ id, error: { code: -32_000, message: `culvert-wrap: ${message}` } }));
  }

  #start(): Server {
    const { command, environment, context, read } = this.#options;
    const options = { env: environment(this.#using), signals: context.signals };
    return new Server(command, options, {
      line: (line, server) => this.#fromServer(line, server),
      drain: () => read(true),
      end: (server, end, error) => server === this.#server && this.#died(end, error),
    });
  }

  /** Starts the next process, repeats the client's setup, and sends the held calls. */
  async #restart(): Promise<void> {
    this.#state = 'starting';
    const server = this.#start();
    this.#server = server;
    for (const request of this.#session.setup) {
      const answer = await this.#ask(request);
      if (!answer || this.#server !== server) return;
      if (request.method === 'initialize' && this.#session.initialized) server.write(this.#session.initialized);
    }
    for (const line of this.#session.listens.values()) server.write(line);
    if (this.#isOver()) return;
    this.#resume();
    const tools = this.#session.toolsRequest;
    const listed = tools && (await this.#ask(tools));
    if (!listed?.result || this.#server !== server) return;
    for (const line of this.#session.toolsChanged(listed.result)) this.#options.out.write(line);
  }

  /** @returns the server's answer, or `undefined` if the server ended or did not answer in time */
  #ask(request: Setup): Promise<Message | undefined> {
    const server = this.#server;
    // kill a starting server that does not answer, which leads to another start
    return this.#own.ask(server, request, () => {
      if (this.#state === 'starting') server.kill();
    });
  }

  #resume(): void {
    this.#state = 'running';
    this.#options.read(true);
    for (const line of this.#inFlight.takeHeld()) this.fromClient(line);
  }

  /** Handles an unexpected end of the server. */
  #died(end: End, error: Error | undefined): void {
    if (this.#state === 'ended') return;
    const { context, command } = this.#options;
    this.#ends++;
    const isStopped = context.signals.received !== undefined;
    const how = error?.message ?? (end.signal ? `by ${end.signal}` : `with exit status ${end.exit}`);
    if (isStopped || !this.#hasAnswered || this.#ends > MAX_ENDS) {
      this.#state = 'ended';
      if (!isStopped) say(`${command[0]} ended: ${how}`);
      for (const id of this.#inFlight.ids) this.#refuse(id, 'the server has ended');
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
      if (!this.#isOver()) this.#restart().catch(problem => this.fail(problem));
    }, wait);
  }

  #isOver(): boolean {
    return this.#state === 'ended';
  }

  fail(error: unknown): void {
    this.#state = 'ended';
    this.#server.kill();
    say(error instanceof WrapError ? error.message : `unexpected error: ${String(error)}`);
    this.#finish({ exit: EXIT.software, signal: null });
  }
}
