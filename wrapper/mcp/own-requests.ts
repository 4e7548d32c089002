// Makes requests of the proxy itself to an MCP server, whose answers are not for the client.
import { randomUUID } from 'node:crypto';
import { type Id, lineOf, type Message } from '../run/rules/mcp-messages.ts';
import type { Server } from './server.ts';
import type { Setup } from './session.ts';

const ANSWER_MS = 30_000;

/** The requests that a proxy has made itself. */
export class OwnRequests {
  readonly #prefix = `culvert-wrap-${randomUUID()}-`;
  readonly #waiting = new Map<Id, (message: Message | undefined) => void>();
  #count = 0;

  /**
   * Asks a server.
   * @param late called when it gives no answer in time
   * @returns its answer, or `undefined` where it ended or gave none
   */
  ask(server: Server, { method, params }: Setup, late?: () => void): Promise<Message | undefined> {
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

  /** @returns whether the message answers a request of the proxy */
  settle(id: Id, message: Message): boolean {
    const settle = this.#waiting.get(id);
    this.#waiting.delete(id);
    settle?.(message);
    return settle !== undefined;
  }

  /** The process that was asked is gone. */
  drop(): void {
    for (const settle of this.#waiting.values()) settle(undefined);
    this.#waiting.clear();
  }
}
