// Forwards one request with the account whose turn it is, and after a limit with the next account, until an answer goes out.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Tried, type Waiting, waitFor, withAccounts } from '../run/attempts.ts';
import type { Retry } from '../run/choose.ts';
import { errorInEvents, hasEvent, verdictOf } from '../run/rules/http-errors.ts';
import { noteText } from '../run/rules/refusal-causes.ts';
import type { Turn, Using } from '../run/turn.ts';
import type { Plan } from '../store/plan.ts';
import { say } from '../system/errors.ts';
import { deny, passAnswer, passError, readError, refusedByPool } from './answer.ts';
import { type Asked, readAsked, SESSION, textIn, turnFor } from './asked.ts';
import { isBilled, type Start } from './messages.ts';
import { passCall, SESSION_ENDED } from './tool-call.ts';
import { type Body, hasOtherKey, NoAnswer, type Route, send } from './upstream.ts';

/** Number of characters at the start of a stream to search for an error. */
const MAX_SEARCHED = 65_536;
/** Idempotent methods (RFC 9110, 9.2.2). */
const IDEMPOTENT = /^(?:GET|HEAD|OPTIONS|PUT|DELETE)$/;

/** A request under way. */
export interface Work extends Waiting {
  req: IncomingMessage;
  body?: Body;
  route: Route;
  turn: Turn;
  /** Start of its last attempt, in milliseconds since the epoch. */
  started: number;
  /** The last attempt: its account, the units that it spent, and its failure. */
  used: { spent: number; account: string | undefined; failure?: string };
}

/** An answer of the provider. An error also has its first bytes, and its meaning for the account. */
export interface Answered {
  answer: IncomingMessage;
  error?: Start;
  verdict?: ReturnType<typeof verdictOf>;
}

/** A request being forwarded. */
interface Forwarding extends Work {
  body: Body;
  program: ServerResponse;
  asked: Asked;
  /** Units wanted and left, if the account in use can do only part of the job. */
  lowered?: string | undefined;
}

/** Forwards an admitted request, and ends its answer. */
export async function forward(req: IncomingMessage, res: ServerResponse, route: Route): Promise<void> {
  const { consumer, consumers } = route;
  const asked = await readAsked(req, route);
  const { isWhole } = asked.body;
  if (!isWhole && req.destroyed) return;
  const turn = await turnFor(route, req, { ...asked, careful: !isWhole });
  const since = route.ledger.context.now();
  const used = { spent: 0, account: undefined };
  const work: Forwarding = { req, program: res, route, asked, body: asked.body, turn, since, started: 0, used };
  const hasBudget = consumers.begin(consumer, turn.parts.cost);
  try {
    if (!hasBudget) return refuse('budget', `The budget of "${consumer.name}" is used up.`, work);
    if (asked.unclear !== undefined && (consumers.hasBudget(consumer) || route.plan.capacity.reserve > 0))
      return refuse('unclear', `With a budget or a reserve, ${asked.unclear}.`, work, 413);
    if (asked.hasEnded) return refuse('session', SESSION_ENDED, work, 404);
    const tried = await askInTurn(
      work,
      using => sendWith(using, work),
      (text, verdict) => {
        work.used.failure = verdict.class;
        return !endsSession(asked, verdict) && asked.body.isKept && !isBilled(text, route.http);
      },
    );
    if (!tried) {
      const { status, headers, body } = refusedByPool(route, turn);
      return void res.writeHead(status, headers).end(body);
    }
    if (tried.result?.error) await passFailure(tried.result, tried, work);
    else if (tried.result) await passSuccess(tried.result.answer, tried.using, work);
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error;
    await endWithout(error, work);
  } finally {
    if (hasBudget) consumers.end(consumer, turn.parts.cost, work.used);
    await turn.finish();
  }
}

function refuse(
  why: 'budget' | 'reserve' | 'unclear' | 'session',
  message: string,
  { turn, program, req }: Forwarding,
  status = 402,
): undefined {
  turn.denied(why);
  // a retry would not help for a while
  deny(program, status, message, true);
  // a program may read the answer only once its body is sent
  req.resume();
}

/**
 * Sends a request with an account.
 * @returns the answer; `undefined` if the gateway refused the request because the account has too little left
 * @throws NoAnswer
 */
async function sendWith(using: Using, work: Forwarding): Promise<Answered | undefined> {
  const { route, asked, turn, program } = work;
  const { plan, ledger } = route;
  const lowered = loweredFor(turn, using, asked, plan);
  if (lowered && plan.capacity.reserve > 0)
    return refuse('reserve', `No account has that much left above its reserve: ${lowered}.${adviceFor(asked)}`, work);
  work.lowered = lowered;
  work.started = ledger.context.now();
  work.used = { spent: 0, account: using.name };
  // a repetition with the same key goes to this account, even if no answer comes or the gateway is killed
  if (asked.hasKey) {
    await turn.job(asked.again, using.name);
    ledger.write();
  }
  const answer = await send(program, asked.body, { using, route });
  return (answer.statusCode ?? 500) >= 400 ? await readFailure(answer, route) : { answer };
}

/** Passes a good answer on. */
async function passSuccess(answer: IncomingMessage, using: Using, work: Forwarding): Promise<void> {
  const { req, program, route, asked, turn, started, lowered } = work;
  const { plan, ledger } = route;
  const opened = textIn(answer, SESSION);
  if (opened !== undefined && opened !== asked.session) {
    await turn.job(opened, using.name);
    await ledger.stored();
  }
  const { creator, tool, session, body } = asked;
  if (tool !== undefined) {
    const isOurs = !hasOtherKey(req, { using, route }, body);
    const isRefused = await passCall(answer, program, { turn, using, route, tool, session, started, isOurs });
    if (!isRefused) succeed(using, work, lowered);
    return;
  }
  const isEvents = /^text\/event-stream\b/i.test(answer.headers['content-type'] ?? '');
  if (isEvents) return await passEvents(answer, using, work);
  succeed(using, work, lowered);
  if (lowered) say(`${plan.cli}: account "${using.name}" has too little for a job, which may be cut: ${lowered}`);
  await passAnswer(answer, program, { turn, using, route, creator, lowered });
}

/** Passes a stream of events. A stream that begins with an error is a failure, whatever its status. */
async function passEvents(answer: IncomingMessage, using: Using, work: Forwarding): Promise<void> {
  const { route, turn, program, started } = work;
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
    if (begun !== undefined && (begun.length > MAX_SEARCHED || hasEvent(begun))) settle();
    return chunk;
  };
  await passAnswer(answer, program, { turn, using, route, reader: { write, end: () => Buffer.alloc(0) } });
  if (begun !== undefined) settle();
}

function succeed({ name }: Using, work: Forwarding, lowered?: string): void {
  work.used.spent = work.turn.parts.cost;
  work.turn.answered(name, true, work.started, lowered === undefined ? {} : { class: 'lowered' });
}

/** Passes an error on. A refusal gets here only if no other account could take the request. */
async function passFailure(failed: Answered, { using, refusal }: Tried<unknown>, work: Forwarding): Promise<void> {
  const { route, asked, turn, program, started } = work;
  const { answer, verdict } = failed;
  const error = failed.error!;
  if (!refusal) {
    if (verdict?.kind === 'final' && verdict.note) say(noteText(route.plan.cli, verdict.note));
    work.used.failure = 'other';
    turn.answered(using.name, false, started);
    if (answer.statusCode === 408 && asked.again !== '') await turn.mayGoOn(asked.again, using.name);
    return await passError(answer, error, program, { using, route });
  }
  if (endsSession(asked, refusal.verdict)) return deny(program, 404, SESSION_ENDED);
  const isBilledFor = isBilled(error.bytes.toString(), route.http);
  if (!isBilledFor) await forgetKey(work);
  await passError(answer, error, program, { using, route, pause: { ...refusal, isBilled: isBilledFor } });
}

/** An MCP client's session ends when its account is refused for more than a rate limit. */
function endsSession({ session }: Asked, { class: failure }: Retry): boolean {
  return session !== undefined && failure !== 'rate';
}

async function endWithout(error: NoAnswer, work: Forwarding): Promise<void> {
  const { asked, turn, req, program, started, used, route } = work;
  used.failure = 'other';
  if (used.account !== undefined) turn.answered(used.account, false, started);
  if (!error.wasSent) await forgetKey(work);
  else if (asked.again !== '' && used.account !== undefined) await turn.mayGoOn(asked.again, used.account);
  // programs retry after a 502, but a request that was sent may have been billed
  const mayBeBilled = error.wasSent && !IDEMPOTENT.test(req.method ?? '') && !asked.hasKey;
  if (error.kind === 'broken')
    return deny(program, 502, `The provider gave a broken answer: ${error.message}.`, mayBeBilled);
  const { provider } = route.plan;
  // the gateway never switches these accounts, so the program decides, as it would without a gateway
  if (mayBeBilled && provider.accounts === 'one-per-person') return void program.destroy();
  deny(program, error.wasSent ? 500 : 502, `The provider gave no answer: ${error.message}`, mayBeBilled);
}

/** Lets any account take a repetition with the same key, because no account has done the request. */
async function forgetKey({ asked, turn }: Forwarding): Promise<void> {
  if (asked.hasKey && turn.parts.choice.by !== 'job') await turn.job(asked.again, undefined);
}

/** Units of a job that wants more than is left: the provider would do less, without reporting an error. */
function loweredFor(turn: Turn, { name }: Using, { wanted, given }: Asked, { capacity }: Plan): string | undefined {
  const left = turn.left(name);
  if (wanted === undefined || left === undefined || left - capacity.reserve >= wanted) return undefined;
  const figures = `wanted=${wanted}, left=${Math.max(0, left - capacity.reserve)}`;
  return given === undefined ? `${figures}, no limit given` : figures;
}

/** Advice for a job that gives no limit: one with a lower limit than the provider's default may fit. */
function adviceFor({ wants, given }: Asked): string {
  return given === undefined ? ` Give the job a smaller "${wants}".` : '';
}

/**
 * Asks the provider with one account after another.
 * @param ask asks once, and returns `undefined` if the program already has its answer
 * @returns the last answer; `undefined` if no account can be used
 * @throws NoAnswer
 */
export function askInTurn<A extends Answered>(
  work: Work,
  ask: (using: Using) => Promise<A | undefined>,
  isRepeatable = (_text: string, _verdict: Retry) => true,
): Promise<Tried<A | undefined> | undefined> {
  const { req, route, turn, body } = work;
  const { ledger } = route;
  let refused: IncomingMessage | undefined;
  return withAccounts<A | undefined>(turn, {
    attempt: using => {
      refused?.destroy();
      return ask(using);
    },
    judge: (answered, using) => {
      const verdict = answered?.verdict;
      if (verdict?.kind !== 'retry' || hasOtherKey(req, { using, route }, body)) return undefined;
      if (verdict.class === 'auth') ledger.forgetCredentials();
      refused = answered!.answer;
      return { verdict, end: { ms: ledger.context.now() - work.started } };
    },
    obstacle: (answered, { verdict }) =>
      isRepeatable(String(answered?.error?.bytes), verdict) ? undefined : 'it can be made once only',
    wait: after => waitFor(after, route, work),
  });
}

/** Reads an error of the provider. */
export async function readFailure(answer: IncomingMessage, { http, plan, ledger }: Route) {
  const error = await readError(answer);
  const seen = {
    status: answer.statusCode ?? 500,
    body: error.bytes.toString(),
    headers: answer.headers,
    at: ledger.context.now(),
  };
  return { answer, error, verdict: verdictOf(seen, http, plan.ownPatterns) };
}
