// Forwards one request: with the account whose turn it is, and with the next one after a limit, until the first byte goes out.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Turn, type Using } from '../run/turn.ts';
import { type CliState, REQUEST } from '../store/state.ts';
import { sha256 } from '../system/hash.ts';
import { deny, passAnswer, passError, readError } from './answer.ts';
import { briefly, entryFor, isBilled, namedIn, partsOf, verdictOf } from './messages.ts';
import { NoAnswer, type Route, readStart, type Start, send } from './upstream.ts';

/** A program that was told to ask again does so for up to 20 minutes. */
const REQUEST_MS = 1_200_000;

/** Forwards an admitted request, and ends its answer. */
export async function forward(req: IncomingMessage, res: ServerResponse, route: Route): Promise<void> {
  const { http, ledger, plan, consumer, consumers } = route;
  const method = req.method ?? 'GET';
  const path = pathOf(req);
  const gone = new AbortController();
  res.once('close', () => res.writableFinished || gone.abort());
  const body = await readStart(req, http.replay_bytes);
  const again = nameOf(req, body);
  const follower = entryFor(http.followers, method, path);
  const named = follower && body.isWhole ? namedIn(req.url ?? '', body.bytes.toString(), follower.id) : [];
  const turn = await turnFor(route, path, { again, named });
  let trying: { using: Using; started: number } | undefined;
  let used = { spent: 0, account: undefined as string | undefined };
  const hasBudget = consumers.begin(consumer, turn.cost);
  try {
    if (!hasBudget) return deny(res, 402, `The budget of "${consumer.name}" is used up.`);
    let using = await turn.take();
    if (!using) return deny(res, 401, 'No account can be used.');
    for (;;) {
      const started = ledger.context.now();
      trying = { using, started };
      const answer = await send(req, body, using, { ...route, signal: gone.signal });
      const status = answer.statusCode ?? 500;
      trying = undefined;
      used = { spent: 0, account: using.name };
      if (status < 400) {
        used.spent = turn.cost;
        turn.answered(using.name, true, started);
        if (again !== '' && hasKey(req)) turn.job(again, using.name);
        return await passAnswer(answer, res, { turn, using, route, creator: entryFor(http.creators, method, path) });
      }
      const error = await readError(answer);
      const text = error.bytes.toString();
      const verdict = verdictOf(
        { status, body: text, retryAfter: answer.headers['retry-after'] },
        http,
        plan.ownPatterns,
      );
      if (!verdict) {
        turn.answered(using.name, false, started);
        if (status === 408 && again !== '') turn.job(again, using.name);
        return await passError(answer, error, res, { using, route });
      }
      if (verdict.class === 'auth') ledger.forgetCredentials();
      const { more, rest } = await turn.refused(using, verdict, ledger.context.now() - started);
      const following = more && body.isWhole && !isBilled(text, http) ? await turn.take() : undefined;
      if (!following) return await passError(answer, error, res, { using, route, rest: rest ?? 0 });
      answer.destroy();
      using = following;
    }
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error;
    if (trying) turn.answered(trying.using.name, false, trying.started);
    // programs repeat a 502, and a request that was sent may have been billed
    const status = error.wasSent ? 500 : 502;
    deny(res, status, `The provider gave no answer: ${error.message}`);
  } finally {
    if (hasBudget) consumers.end(consumer, turn.cost, used);
    await turn.finish();
  }
}

/** The path without its query. */
export function pathOf(req: IncomingMessage): string {
  return (req.url ?? '/').split('?', 1)[0]!;
}

/** The accounts of a request, by its path and what it names. */
export function turnFor(
  { plan, ledger, consumer }: Route,
  path: string,
  { again = '', named = [] }: { again?: string; named?: string[] } = {},
): Promise<Turn> {
  const { costs } = plan.provider;
  const command =
    path
      .split('/')
      .slice(1, 3)
      .find(part => Object.hasOwn(costs, part)) ?? 'http';
  const jobs = [...named, ...partsOf(path)];
  const brief = [...jobs.map(briefly), again].filter(id => isRecent(ledger.state(), id, ledger.context.now()));
  const ids = [...jobs, ...brief];
  return Turn.open(plan, ledger.context, {
    command,
    ids,
    isRequest: true,
    book: ledger,
    consumer: consumer.name,
  });
}

/**
 * A name for what is asked, the same when a program asks again: by the key that it gives for this purpose, or by the body. What is
 * asked again goes to the account that may still work on it.
 */
function nameOf(req: IncomingMessage, { bytes, isWhole }: Start): string {
  const key = idempotencyKey(req);
  if (key !== undefined) return `${REQUEST}${sha256('key ', key)}`;
  return isWhole && bytes.length > 0
    ? `${REQUEST}${sha256(`${req.method} ${pathOf(req)} `, bytes.toString('latin1'))}`
    : '';
}

function idempotencyKey({ headers }: IncomingMessage): string | undefined {
  const key = headers['x-idempotency-key'] ?? headers['idempotency-key'];
  return typeof key === 'string' && key !== '' ? key : undefined;
}

function hasKey(req: IncomingMessage): boolean {
  return idempotencyKey(req) !== undefined;
}

function isRecent({ jobs }: CliState, id: string, now: number): boolean {
  return id !== '' && now - (jobs[id]?.at ?? 0) < REQUEST_MS;
}
