// Passes on the answer of an MCP server's tool, and finds jobs and errors about the account at the answer's start.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { McpServer } from '../catalog/programs.ts';
import type { Retry } from '../run/choose.ts';
import { readMessages, verdictOf } from '../run/rules/mcp-messages.ts';
import { USER_PATTERN_MS, withTimeLimit } from '../run/rules/patterns.ts';
import type { Turn } from '../run/turn.ts';
import { keepJobs, passAnswer } from './answer.ts';
import type { Passing } from './upstream.ts';

/** Largest number of bytes read from an answer, and of jobs in it. */
const MOST_BYTES = 65_536;
const MOST_JOBS = 20;
/** Largest size of a match for a job's id across two chunks, in bytes. */
const LONGEST_ID = 256;
const BLANK_LINE = /\r\n\r\n|\n\n|\r\r/;

/** Stored instead of a session's account after the session has ended. A client begins another session after status 404. */
export const ENDED = '';
export const SESSION_ENDED = 'The session has ended with its account. Begin another one.';

/** A call of a tool of the provider's MCP server. */
interface Call extends Passing {
  turn: Turn;
  tool: string;
  session: string | undefined;
  /** True if the request contains no key besides the account's. */
  isOurs: boolean;
  /** Start of the call, in milliseconds since the epoch. */
  started: number;
}

/**
 * Passes on the answer to `tools/call`. An error about the account pauses the account, so the next call uses another account.
 * @returns true if the answer has such an error
 */
export async function passCall(answer: IncomingMessage, res: ServerResponse, call: Call): Promise<boolean> {
  const { turn, using, route, session, isOurs, started } = call;
  const findJobs = jobFinder(call);
  const findError = errorFinder(answer, route.plan.provider.mcp);
  let bytes = 0;
  let isRefused = false;
  const write = async (chunk: Buffer) => {
    if (isRefused || bytes > MOST_BYTES) return chunk;
    bytes += chunk.length;
    const text = chunk.toString('latin1', 0, MOST_BYTES);
    await keepJobs(findJobs(text), { turn, using, route });
    const verdict = findError(text);
    if (!verdict || !isOurs) return chunk;
    isRefused = true;
    if (verdict.class === 'auth') route.ledger.forgetCredentials();
    await turn.refused(using, verdict, { ms: route.ledger.context.now() - started });
    if (session !== undefined && verdict.class !== 'rate') await turn.job(session, ENDED);
    return chunk;
  };
  await passAnswer(answer, res, { turn, using, route, reader: { write, end: () => Buffer.alloc(0) } });
  return isRefused;
}

/** Returns a function that finds an error in the parts of an answer, given in Latin-1, which may be a stream of events. */
function errorFinder({ headers }: IncomingMessage, servers: readonly McpServer[]): (text: string) => Retry | undefined {
  const rules = servers.flatMap(server => server.rules);
  const isEvents = /^text\/event-stream\b/i.test(headers['content-type'] ?? '');
  let begun = '';
  return text => {
    begun += text;
    const ended = isEvents ? begun.split(BLANK_LINE) : [begun];
    if (isEvents) begun = ended.pop()!;
    for (const message of isEvents ? ended.map(dataOf) : ended) {
      // a page in a result may quote an error, so only an error's own text is matched, from its start
      const [read] = message.trimEnd().endsWith('}') ? readMessages(Buffer.from(message, 'latin1')) : [];
      const verdict = read && verdictOf(read, { rules });
      if (verdict) return verdict;
    }
    return undefined;
  };
}

/** Returns the data of an event (HTML, 9.2.6). */
function dataOf(event: string): string {
  return event
    .split(/\r\n|\n|\r/)
    .filter(line => line.startsWith('data:'))
    .map(line => line.slice('data:'.length))
    .join('\n');
}

/** Returns a function that finds each job once, even across chunks. */
function jobFinder({ tool, route: { http, plan } }: Call): (text: string) => string[] {
  const jobs = http.mcp?.jobs?.tools.includes(tool) ? http.mcp.jobs.id : undefined;
  const kept = new Set<string>();
  let last = '';
  return part => {
    if (jobs === undefined || kept.size >= MOST_JOBS) return [];
    const text = `${last}${part}`;
    last = text.slice(-LONGEST_ID);
    const find = () => [...text.matchAll(new RegExp(jobs, 'g'))].flatMap(match => match[1] ?? []);
    const found = plan.ownPatterns ? withTimeLimit(USER_PATTERN_MS, find, []) : find();
    const unknown = [...new Set(found)].filter(id => !kept.has(id)).slice(0, MOST_JOBS);
    for (const id of unknown) kept.add(id);
    return unknown;
  };
}
