// Reads the errors of an MCP server, whose meaning the catalog knows for some of its versions only.
import type { McpServer } from '../catalog/provider.ts';
import { verdictOf } from '../run/rules/mcp-errors.ts';
import { type Message, versionIn } from '../run/rules/mcp-messages.ts';
import { say } from '../system/errors.ts';
import { isTested } from './entry.ts';
import { type Setup, versionRequest } from './session.ts';

/** The errors of one server. Where it has no rules, they are not read: behind a gateway, that changes the account. */
export class ServerErrors {
  readonly #server: McpServer;
  #version: string | undefined;
  #hasAsked = false;
  #hasWarned = false;

  constructor(server: McpServer) {
    this.#server = server;
  }

  /** The request for the version that has to precede a call, if it is not known. */
  requestBefore(call: Message): Setup | undefined {
    if (this.#server.rules.length === 0 || this.#version !== undefined || this.#hasAsked) return undefined;
    const request = versionRequest(call);
    this.#hasAsked = request !== undefined;
    return request;
  }

  /** Learns the version from a result that names it. */
  learn({ result }: Message): void {
    this.#version = versionIn(result) ?? this.#version;
  }

  /** The verdict about an answer, or `undefined` where it says nothing about the account. */
  verdict(answer: Message): ReturnType<typeof verdictOf> {
    if (this.#server.rules.length === 0) return undefined;
    const version = this.#version;
    if (version !== undefined && isTested(this.#server, version)) return verdictOf(answer, this.#server);
    if (answer.failure && !this.#hasWarned) {
      say(`the errors of ${this.#server.package} ${version ?? ''} are not in the catalog; the account stays`);
      this.#hasWarned = true;
    }
    return undefined;
  }
}
