// Keeps what an MCP client and its server have asked each other and not answered, and what waits for the next server. Pure.
import type { Id, Message } from '../run/rules/mcp-messages.ts';

/** Requests that cost nothing and change nothing: they are made again when a server ended before it answered. */
const HARMLESS =
  /^(?:initialize|ping|server\/discover|subscriptions\/listen|(?:tools|prompts|resources)\/(?:templates\/)?list)$/;

/** Requests that wait for a server. The client is not read while there are more. */
const HELD_BYTES = 8 * 1024 * 1024;

/** A request of the client. */
export interface Call {
  message: Message;
  /** The bytes that make it again, where that is possible. */
  line: Buffer | undefined;
  started: number;
}

/** A request that waits for the next server, and the answer if that does not start. */
export interface Held {
  id: Id;
  line: Buffer;
  refusal?: Buffer;
}

/** The open requests of one client, by their ids. */
export class InFlight {
  readonly calls = new Map<Id, Call>();
  /** Requests of the server, and how many of their answers are for a process that is gone. */
  readonly #asked = new Set<Id>();
  readonly #stale = new Map<Id, number>();
  #held: Held[] = [];

  /** The server asks the client. */
  asked(id: Id): void {
    this.#asked.add(id);
  }

  /** The client answers the server. @returns whether the process that asked is still there */
  answered(id: Id): boolean {
    const stale = this.#stale.get(id) ?? 0;
    if (stale > 0) this.#stale.set(id, stale - 1);
    else this.#asked.delete(id);
    return stale === 0;
  }

  /** Progress of a call that is not made anymore would be taken for that of a later one with the same token. */
  isAwaited(token: Id | undefined): boolean {
    return [...this.calls.values()].some(({ message }) => message.token === token);
  }

  /** @returns false if no more should be held */
  hold(held: Held): boolean {
    this.#held.push(held);
    return this.#held.reduce((sum, { line }) => sum + line.length, 0) <= HELD_BYTES;
  }

  /** @returns whether the request was held */
  release(id: Id): boolean {
    const before = this.#held.length;
    this.#held = this.#held.filter(held => held.id !== id);
    return this.#held.length < before;
  }

  /** The lines that the next server gets, which are not held from now on. */
  takeHeld(): Buffer[] {
    const lines = this.#held.map(({ line }) => line);
    this.#held = [];
    return lines;
  }

  /** The answers of the held requests that have one, which are not held from now on. */
  takeRefusals(): Buffer[] {
    const refusals = this.#held.flatMap(({ refusal }) => refusal ?? []);
    this.#held = this.#held.filter(({ refusal }) => !refusal);
    return refusals;
  }

  /** The process of the server is gone: its calls wait for the next one if they cost nothing. @returns the others */
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

  /** All requests of the client. */
  get ids(): Id[] {
    return [...this.calls.keys(), ...this.#held.map(({ id }) => id)];
  }
}
