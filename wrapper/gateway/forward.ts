// Forwards one request: with the account whose turn it is, and with the next one after a limit, until the first byte goes out.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { HttpProvider } from '../catalog/provider.ts';
import { BODY } from '../run/jobs.ts';
import { errorInEvents, hasEvent, verdictOf } from '../run/rules/http-errors.ts';
import { noteText } from '../run/rules/notes.ts';
import { Turn, type Using } from '../run/turn.ts';
import { waitFor } from '../run/wait-for-account.ts';
import type { Plan } from '../store/plan.ts';
import { REQUEST } from '../store/state.ts';
import { say } from '../system/errors.ts';
import { sha256 } from '../system/hash.ts';
import { deny, passAnswer, passError, readError, refusedByPool } from './answer.ts';
import { isForMcp } from './key-places.ts';
import {
  amountIn,
  briefly,
  commandOf,
  entryFor,
  isAbout,
  isBilled,
  namedIn,
  partsOf,
  plainPath,
  toolCallIn,
  unclearIn,
} from './messages.ts';
import { ENDED, passCall, SESSION_ENDED } from './tool-call.ts';
import { Body, BrokenAnswer, hasOtherKey, NoAnswer, type Route, send } from './upstream.ts';

/** Names the session of an MCP client (protocol before 2026-07-28). */
const SESSION = 'mcp-session-id';

/** Length of an answer's start in which an error is looked for. */
const MOST_BEGUN = 65_536;
/** Requests that mean the same when they are made twice (RFC 9110, 9.2.2). */
const IDEMPOTENT = /^(?:GET|HEAD|OPTIONS|PUT|DELETE)$/;

type McpTool = NonNullable<HttpProvider['mcp']>['tools'][number];

/** Parts of a request that has begun. */
interface Asked {
  body: Body;
  /** A name for it, if a program may make it again and mean the same. */
  again: string;
  hasKey: boolean;
  creator: HttpProvider['creators'][number] | undefined;
  /** The tool of the MCP server that it calls, and what the catalog says about it. */
  tool: string | undefined;
  listed: McpTool | undefined;
  /** Field or argument with the amount that its job wants. */
  wants: string | undefined;
  /** Amount that its job wants, as it says or as the provider assumes. */
  wanted: number | undefined;
  /** Amount that it says. */
  given: number | undefined;
  /** Why the gateway can't read what it costs. */
  unclear: string | undefined;
  /** Jobs that its body or query names, and the session that it belongs to. */
  named: string[];
  /** The session of an MCP client with the server of one account. */
  session: string | undefined;
  hasEnded: boolean;
}

/** A request under way. */
interface Work {
  res: ServerResponse;
  route: Route;
  asked: Asked;
  turn: Turn;
  /** Start of the request, and of its last attempt, in milliseconds since the epoch. */
  since: number;
  started: number;
  /** The account of the last attempt, what it has spent, and the failure that it ended with. */
  used: { spent: number; account: string | undefined; failure?: string };
}

/** Forwards an admitted request, and ends its answer. */
export async function forward(req: IncomingMessage, res: ServerResponse, route: Route): Promise<void> {
  const { consumer, consumers } = route;
  const asked = await readAsked(req, route);
  const { isWhole } = asked.body;
  if (!isWhole && req.destroyed) return;
  const turn = await turnFor(route, req, { ...asked, careful: !isWhole });
  const since = route.ledger.context.now();
  const work: Work = { res, route, asked, turn, since, started: 0, used: { spent: 0, account: undefined } };
  const hasBudget = consumers.begin(consumer, turn.cost);
  try {
    if (!hasBudget) return refuse('budget', `The budget of "${consumer.name}" is used up.`, work);
    if (asked.unclear !== undefined && (consumers.hasBudget(consumer) || route.plan.capacity.reserve > 0))
      return refuse('unclear', `With a budget or a reserve, ${asked.unclear}.`, work, 413);
    if (asked.hasEnded) return refuse('session', SESSION_ENDED, work, 404);
    let using = await turn.take();
    if (!using) {
      const { status, headers, body } = refusedByPool(route, turn);
      return void res.writeHead(status, headers).end(body);
    }
    while (using) using = await tryWith(using, work);
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error;
    await endWithout(error, work);
  } finally {
    if (hasBudget) consumers.end(consumer, turn.cost, work.used);
    await turn.finish();
  }
}

function refuse(
  why: 'budget' | 'reserve' | 'unclear' | 'session',
  message: string,
  { turn, res }: Work,
  status = 402,
): undefined {
  turn.denied(why);
  // asking again is no use for a while
  deny(res, status, message, true);
  // a program may read the answer only once its body is sent
  res.req.resume();
}

/**
 * Makes a request with an account, and ends its answer, unless another account may help.
 * @returns that account
 * @throws NoAnswer
 */
async function tryWith(using: Using, work: Work): Promise<Using | undefined> {
  const { route, asked, turn, res } = work;
  const { plan, ledger } = route;
  const lowered = loweredFor(turn, using, asked, plan);
  if (lowered && plan.capacity.reserve > 0)
    return refuse('reserve', `No account has that much left above its reserve: ${lowered}.${adviceFor(asked)}`, work);
  work.started = ledger.context.now();
  work.used = { spent: 0, account: using.name };
  // a program that asks again with its key asks this account, even if no answer comes or the gateway is killed
  if (asked.hasKey) {
    await turn.job(asked.again, using.name);
    ledger.write();
  }
  const answer = await send(res, asked.body, { using, route });
  if ((answer.statusCode ?? 500) >= 400) return await afterError(answer, using, work);
  const opened = textIn(answer, SESSION);
  if (opened !== undefined && opened !== asked.session) {
    await turn.job(opened, using.name);
    await ledger.stored();
  }
  const { creator, tool, session } = asked;
  const { started } = work;
  if (tool !== undefined) {
    const isOurs = !hasOtherKey(res.req, { using, route }, asked.body);
    const isRefused = await passCall(answer, res, { turn, using, route, tool, session, started, isOurs });
    return isRefused ? undefined : succeed(using, work, lowered);
  }
  const isEvents = /^text\/event-stream\b/i.test(answer.headers['content-type'] ?? '');
  if (isEvents) return void (await passEvents(answer, using, work));
  succeed(using, work, lowered);
  if (lowered) say(`${plan.cli}: account "${using.name}" has too little for a job, which may be cut: ${lowered}`);
  return void (await passAnswer(answer, res, { turn, using, route, creator, lowered }));
}

/** Passes a stream of events. One that begins with an error is a failure, whatever its status. */
async function passEvents(answer: IncomingMessage, using: Using, work: Work): Promise<void> {
  const { route, turn, res, started } = work;
  let begun: string | undefined = '';
  const settle = () => {
    const code = errorInEvents(begun ?? '');
    begun = undefined;
    if (code === undefined) return succeed(using, work);
    work.used.failure = 'other';
    turn.answered(using.name, false, started);
    say(`${route.plan.cli}: an answer with status 200 began with an error (${code})`);
  };
  const write = async (chunk: Buffer) => {
    if (begun !== undefined) begun += chunk.toString('latin1');
    if (begun !== undefined && (begun.length > MOST_BEGUN || hasEvent(begun))) settle();
    return chunk;
  };
  await passAnswer(answer, res, { turn, using, route, reader: { write, end: () => Buffer.alloc(0) } });
  if (begun !== undefined) settle();
}

function succeed({ name }: Using, work: Work, lowered?: string): undefined {
  work.used.spent = work.turn.cost;
  work.turn.answered(name, true, work.started, lowered === undefined ? undefined : 'lowered');
}

/** Sends an error on, unless another account may help. @returns that account */
async function afterError(answer: IncomingMessage, using: Using, work: Work): Promise<Using | undefined> {
  const { route, asked, turn, res, started } = work;
  const { http, ledger, plan } = route;
  const status = answer.statusCode ?? 500;
  const error = await readError(answer);
  const text = error.bytes.toString();
  const verdict = verdictOf(
    { status, body: text, headers: answer.headers, at: ledger.context.now() },
    http,
    plan.ownPatterns,
  );
  if (verdict?.kind !== 'retry' || hasOtherKey(res.req, { using, route }, asked.body)) {
    if (verdict?.kind === 'final' && verdict.note) say(noteText(plan.cli, verdict.note));
    work.used.failure = 'other';
    turn.answered(using.name, false, started);
    if (status === 408 && asked.again !== '') await turn.mayGoOn(asked.again, using.name);
    return void (await passError(answer, error, res, { using, route }));
  }
  work.used.failure = verdict.class;
  if (verdict.class === 'auth') ledger.forgetCredentials();
  const after = await turn.refused(using, verdict, ledger.context.now() - started);
  if (asked.session !== undefined && verdict.class !== 'rate') return void deny(res, 404, SESSION_ENDED);
  const isBilledFor = isBilled(text, http);
  const isRepeatable = asked.body.isKept && !isBilledFor;
  let following = after.more && isRepeatable ? await turn.take() : undefined;
  if (!following && isRepeatable && (await waitFor(after, route, { since: work.since, program: res }))) {
    turn.waited();
    following = await turn.take();
  }
  if (following) answer.destroy();
  else {
    if (!isBilledFor) await forgetKey(work);
    await passError(answer, error, res, {
      using,
      route,
      pause: { class: verdict.class, after, isBilled: isBilledFor },
    });
  }
  return following;
}

async function endWithout(error: NoAnswer, work: Work): Promise<void> {
  const { asked, turn, res, started, used, route } = work;
  used.failure = 'other';
  if (used.account !== undefined) turn.answered(used.account, false, started);
  if (!error.wasSent) await forgetKey(work);
  else if (asked.again !== '' && used.account !== undefined) await turn.mayGoOn(asked.again, used.account);
  // programs repeat a 502, and a request that was sent may have been billed
  const mayBeBilled = error.wasSent && !IDEMPOTENT.test(res.req.method ?? '') && !asked.hasKey;
  if (error instanceof BrokenAnswer)
    return deny(res, 502, `The provider gave a broken answer: ${error.message}.`, mayBeBilled);
  const { provider } = route.plan;
  // an account that is only selected: the program decides, as it would without a gateway
  if (mayBeBilled && provider.accounts === 'one-per-person') return void res.destroy();
  deny(res, error.wasSent ? 500 : 502, `The provider gave no answer: ${error.message}`, mayBeBilled);
}

/** Any account may take a request that none has done, when it is made again with its key. */
async function forgetKey({ asked, turn }: Work): Promise<void> {
  if (asked.hasKey && !turn.isOfJob) await turn.forgetJob(asked.again);
}

async function readAsked(req: IncomingMessage, { http, placeholder, ledger }: Route): Promise<Asked> {
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

/** Figures of a job that wants more than there is: the provider would do less, and answer as if nothing were wrong. */
function loweredFor(turn: Turn, { name }: Using, { wanted, given }: Asked, { capacity }: Plan): string | undefined {
  const left = turn.left(name);
  if (wanted === undefined || left === undefined || left - capacity.reserve >= wanted) return undefined;
  const figures = `wanted=${wanted}, left=${Math.max(0, left - capacity.reserve)}`;
  return given === undefined ? `${figures}, no limit given` : figures;
}

/** A job that says less than the provider assumes may fit. */
function adviceFor({ wants, given }: Asked): string {
  return given === undefined ? ` Give the job a smaller "${wants}".` : '';
}

/** The path without its query. */
function pathOf(req: IncomingMessage): string {
  return (req.url ?? '/').split('?', 1)[0]!;
}

/** The accounts of a request, by its path and what it names. */
export function turnFor(
  { plan, http, ledger, consumer, placeholder }: Route,
  req: IncomingMessage,
  { again = '', named = [], listed, wanted, given, careful = false }: Partial<Asked & { careful: boolean }> = {},
): Promise<Turn> {
  const path = plainPath(pathOf(req));
  const isAboutJob = isAbout(http.creators, req.method ?? 'GET', path);
  const jobs = [...named, ...partsOf(pathOf(req)).filter(part => part !== placeholder)];
  const ids = [...jobs, ...jobs.map(briefly), ...(again === '' ? [] : [again])];
  return Turn.open(plan, ledger.context, {
    command: isAboutJob
      ? 'http'
      : (listed?.command ?? commandOf({ ...plan.provider.costs, ...plan.capacity.costs }, path)),
    ids,
    isRequest: true,
    book: ledger,
    consumer: consumer.name,
    cost: isAboutJob ? 0 : (listed?.cost ?? given),
    wanted,
    careful,
  });
}

/**
 * A name for what is asked, the same when a program asks again: by the key that it gives for this purpose, or by the body. What is
 * asked again goes to the account that may still work on it.
 */
function nameOf(req: IncomingMessage, { bytes, isWhole }: Body): string {
  const key = idempotencyKey(req);
  if (key !== undefined) return `${REQUEST}${sha256('key ', key)}`;
  return isWhole && bytes.length > 0 ? `${BODY}${sha256(`${req.method} ${pathOf(req)} `, bytes)}` : '';
}

function idempotencyKey(req: IncomingMessage): string | undefined {
  return textIn(req, 'x-idempotency-key') ?? textIn(req, 'idempotency-key');
}

/** A header that has a value. */
function textIn({ headers }: IncomingMessage, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}
