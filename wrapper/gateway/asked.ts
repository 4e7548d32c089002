// Reads a program's request for its cost, jobs, session, and the name that identifies a repetition.
import type { IncomingMessage } from 'node:http';
import { sha256 } from '../../daemon/core/hash.ts';
import type { HttpProvider } from '../catalog/programs.ts';
import { BODY } from '../run/book.ts';
import { invocationOfRequest } from '../run/invocation.ts';
import { Turn } from '../run/turn.ts';
import { REQUEST } from '../store/state.ts';
import { isForMcp } from './key-places.ts';
import {
  amountIn,
  briefly,
  commandOf,
  entryFor,
  isAbout,
  namedIn,
  partsOf,
  plainPath,
  toolCallIn,
  unclearIn,
} from './messages.ts';
import { ENDED } from './tool-call.ts';
import { Body, type Route } from './upstream.ts';

/** Header with the session of an MCP client (protocol before 2026-07-28). */
export const SESSION = 'mcp-session-id';

/** Contents of a request that has begun. */
export interface Asked {
  body: Body;
  /** Name that identifies a repetition of the request; empty if there is none. */
  again: string;
  hasKey: boolean;
  creator: HttpProvider['creators'][number] | undefined;
  /** The MCP server's tool that the request calls, and the tool's entry in the catalog. */
  tool: string | undefined;
  listed: NonNullable<HttpProvider['mcp']>['tools'][number] | undefined;
  /** Field or argument with the size of the job. */
  wants: string | undefined;
  /** Size of the job, as given or as the provider assumes. */
  wanted: number | undefined;
  /** Size of the job, if the request gives it. */
  given: number | undefined;
  /** The reason why the gateway can't read the cost. */
  unclear: string | undefined;
  /** Jobs in the body or query, and the request's session. */
  named: string[];
  /** The session between an MCP client and the server, which belongs to one account. */
  session: string | undefined;
  hasEnded: boolean;
}

/** Reads a request, and its body up to the size that can be kept. */
export async function readAsked(req: IncomingMessage, { http, placeholder, ledger }: Route): Promise<Asked> {
  const method = req.method ?? 'GET';
  const path = plainPath(pathOf(req));
  const creator = entryFor(http.creators, method, path);
  const follower = entryFor(http.followers, method, path);
  const isOfMcp = method === 'POST' && isForMcp(req.url ?? '', http, placeholder);
  const isNeeded = isOfMcp || (creator ?? follower ?? http.key_field) !== undefined;
  const body = await Body.read(req, http.replay_bytes, isNeeded);
  const text = body.isWhole && (isOfMcp || (creator?.wants ?? follower)) ? body.bytes.toString() : '';
  const call = isOfMcp ? toolCallIn(text) : undefined;
  const listed = http.mcp?.tools.find(({ names }) => call !== undefined && names.includes(call.tool));
  const job = listed ?? creator;
  const place = listed ? `params.arguments.${listed.wants}` : job?.wants;
  const given = job?.wants === undefined ? undefined : amountIn(text, place!);
  const session = textIn(req, SESSION);
  const hasEnded = session !== undefined && ledger.state().jobs[session]?.account === ENDED;
  const named = follower ? namedIn(req.url ?? '', text, follower.id) : (call?.named ?? []);
  return {
    body,
    again: nameOf(req, body),
    hasKey: idempotencyKey(req) !== undefined,
    creator,
    tool: call?.tool,
    listed,
    wants: job?.wants,
    wanted: given ?? job?.wants_default,
    given,
    unclear: unclearIn(req.headers, body, {
      http,
      creator,
      isOfMcp,
      isListed: call === undefined || listed !== undefined,
    }),
    named: session === undefined || hasEnded ? named : [...named, session],
    session,
    hasEnded,
  };
}

/** Opens the turn of a request, which chooses its accounts by its path and the names in it. */
export function turnFor(
  { plan, http, ledger, consumer, placeholder }: Route,
  req: IncomingMessage,
  { again = '', named = [], listed, wanted, given, careful = false }: Partial<Asked & { careful: boolean }> = {},
): Promise<Turn> {
  const path = plainPath(pathOf(req));
  const isAboutJob = isAbout(http.creators, req.method ?? 'GET', path);
  const jobs = [...named, ...partsOf(pathOf(req)).filter(part => part !== placeholder)];
  const command = isAboutJob
    ? 'http'
    : (listed?.command ?? commandOf({ ...plan.provider.costs, ...plan.capacity.costs }, path));
  return Turn.open(plan, ledger.context, {
    kind: 'request',
    invocation: invocationOfRequest(command),
    ids: [...jobs, ...jobs.map(briefly), ...(again === '' ? [] : [again])],
    book: ledger,
    consumer: consumer.name,
    cost: isAboutJob ? 0 : (listed?.cost ?? given),
    wanted,
    careful,
  });
}

/** Returns the path without the query. */
function pathOf(req: IncomingMessage): string {
  return (req.url ?? '/').split('?', 1)[0]!;
}

/**
 * Names a request by its idempotency key or its body. A repetition has the same name, and uses the account that may still be
 * working on the request.
 */
function nameOf(req: IncomingMessage, { bytes, isWhole }: Body): string {
  const key = idempotencyKey(req);
  if (key !== undefined) return `${REQUEST}${sha256('key ', key)}`;
  return isWhole && bytes.length > 0 ? `${BODY}${sha256(`${req.method} ${pathOf(req)} `, bytes)}` : '';
}

function idempotencyKey(req: IncomingMessage): string | undefined {
  return textIn(req, 'x-idempotency-key') ?? textIn(req, 'idempotency-key');
}

/** Returns the value of a header, or `undefined` if it is empty. */
export function textIn({ headers }: IncomingMessage, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}
