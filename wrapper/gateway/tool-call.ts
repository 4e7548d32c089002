// Passes on the answer of an MCP server's tool, and searches the start of the answer for jobs and for errors about the account.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { McpServer } from '../catalog/programs.ts';
import type { Retry } from '../run/choose.ts';
import { readMessages, verdictOf } from '../run/rules/mcp-messages.ts';
import { USER_PATTERN_MS, withTimeLimit } from '../run/rules/patterns.ts';
import type { Turn } from '../run/turn.ts';
import { keepJobs, passAnswer } from './answer.ts';
import type { Passing } from './upstream.ts';

/** Maximum number of bytes searched in an answer, and of jobs found there. */
const MAX_BYTES = 65_536;
const MAX_JOBS = 20;
/** Maximum length of a match for a job's id across two chunks, in bytes. */
const MAX_ID_BYTES = 256;
const BLANK_LINE = /\r\n\r\n|\n\n|\r\r/;

/** Stored in place of a session's account after the session has ended. After status 404, a client begins another session. */
export const ENDED = '';
export const SESSION_ENDED = 'The session has ended with its account. Begin another one.';

/** A call to a tool of the provider's MCP server. */
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
    if (isRefused || bytes > MAX_BYTES) return chunk;
    bytes += chunk.length;
    const text = chunk.toString('latin1', 0, MAX_BYTES);
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

/** Returns a function that takes the next part of an answer (in Latin-1; may be an event stream), and finds an error in it. */
function errorFinder({ headers }: IncomingMessage, servers: readonly McpServer[]): (text: string) => Retry | undefined {
  const rules = servers.flatMap(server => server.rules);
  // the answer does not say which server's it is, so listed errors of one come first
  const isUsual = servers.length > 0 && servers.every(server => server.usual_errors);
  const isEvents = /^text\/event-stream\b/i.test(headers['content-type'] ?? '');
  let begun = '';
  return text => {
    begun += text;
    const ended = isEvents ? begun.split(BLANK_LINE) : [begun];
    if (isEvents) begun = ended.pop()!;
    for (const message of isEvents ? ended.map(dataOf) : ended) {
      // a result may contain a page that quotes an error, so rules match only an error's own text, from its start
      const [read] = message.trimEnd().endsWith('}') ? readMessages(Buffer.from(message, 'latin1')) : [];
      const verdict = read && verdictOf(read, { rules, usual_errors: isUsual });
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
    if (jobs === undefined || kept.size >= MAX_JOBS) return [];
    const text = `${last}${part}`;
    last = text.slice(-MAX_ID_BYTES);
    const find = () => [...text.matchAll(new RegExp(jobs, 'g'))].flatMap(match => match[1] ?? []);
    const found = plan.ownPatterns ? withTimeLimit(USER_PATTERN_MS, find, []) : find();
    const unknown = [...new Set(found)].filter(id => !kept.has(id)).slice(0, MAX_JOBS);
    for (const id of unknown) kept.add(id);
    return unknown;
  };
}
