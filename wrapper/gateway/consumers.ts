// Keeps the list of programs that may use a gateway, and counts their requests and costs.
import type { Context } from '../context.ts';
import type { AuditEntry } from '../store/audit.ts';
import {
  type GatewayFile,
  gatewayStamp,
  isValid,
  type Program,
  readGateway,
  type Token,
  updateGateway,
} from '../store/tokens.ts';
import type { Consumer, TurnedAway } from './admit.ts';
import { oncePerTurn } from './ledger.ts';

const WRITE_EVERY_MS = 1_000;
/** Longest wait for another process's lock; after it, this process tries again later. */
const LOCK_MS = 50;
/** Interval of log entries about refused requests, which keeps web pages and other users from filling the log. */
const LOG_EVERY_MS = 60_000;
/** Maximum number of stored programs without a token. */
const MAX_PROGRAMS = 100;

type Use = Omit<Program, 'name'>;

/** Adds a line about requests that were not forwarded to the audit log. */
export type Log = (why: NonNullable<AuditEntry['why']>, more: Pick<AuditEntry, 'consumer' | 'count'>) => void;

/** Result of a forwarded request: its cost, its last account, and the class of failure that the program received. */
interface Used {
  spent: number;
  account: string | undefined;
  failure?: string | undefined;
}

interface Options {
  /** The program that the gateway was started for. */
  only?: Consumer | undefined;
  log: Log;
}

/** The programs that may use the gateway of one provider. A revocation takes effect with the next request. */
export class Consumers {
  readonly #cli: string;
  readonly #context: Pick<Context, 'paths' | 'now'>;
  /** The program that the gateway was started for. */
  readonly #only: Consumer | undefined;
  readonly #log: Log;
  readonly #currentStamp: () => string;
  #stamp = '';
  #tokens: readonly { token: Token; consumer: Consumer }[] = [];
  #turnedAway = 0;
  /** Numbers of refused requests that are not in the audit log yet, by reason. */
  readonly #unlogged = new Map<TurnedAway, number>();
  #loggedAt = Number.NEGATIVE_INFINITY;
  /** Use that is not stored yet, and the cost of current requests, by digest. */
  readonly #uses = new Map<string, Use>();
  readonly #underWay = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;

  constructor(cli: string, context: Pick<Context, 'paths' | 'now'>, { only, log }: Options) {
    this.#cli = cli;
    this.#context = context;
    this.#only = only;
    this.#log = log;
    this.#currentStamp = oncePerTurn(() => gatewayStamp(context.paths, cli));
  }

  /** The programs that may use the gateway now. */
  get all(): readonly Consumer[] {
    if (this.#only) return [this.#only];
    this.#read();
    const now = this.#context.now();
    return this.#tokens.filter(({ token }) => isValid(token, now)).map(({ consumer }) => consumer);
  }

  /** Reports whether a program may still use the gateway. */
  has(consumer: Consumer): boolean {
    return this.all.some(({ digest }) => digest.equals(consumer.digest));
  }

  /** Reports whether a consumer has a budget. */
  hasBudget(consumer: Consumer): boolean {
    return this.#tokenOf(consumer)?.budget !== undefined;
  }

  /** Reserves the cost of a request. @returns false if the budget is too small */
  begin(consumer: Consumer, cost: number): boolean {
    const id = consumer.digest.toString('hex');
    const token = this.#tokenOf(consumer);
    const use = this.#useOf(id);
    const underWay = this.#underWay.get(id) ?? 0;
    if (token?.budget !== undefined && token.used + use.used + underWay + cost > token.budget) {
      use.refused += 1;
      return false;
    }
    this.#underWay.set(id, underWay + cost);
    return true;
  }

  /** Counts a request that `begin` accepted. A request without an account was not forwarded. */
  end(consumer: Consumer, cost: number, { spent, account, failure }: Used): void {
    const id = consumer.digest.toString('hex');
    const underWay = this.#underWay.get(id);
    if (underWay === undefined) return;
    this.#underWay.set(id, underWay - cost);
    const use = this.#useOf(id);
    if (account === undefined) {
      use.refused += 1;
      return;
    }
    use.used += spent;
    use.requests += 1;
    use.accounts = withCounts(use.accounts, { [account]: 1 });
    if (failure !== undefined) use.failures = withCounts(use.failures, { [failure]: 1 });
    use.lastAt = this.#context.now();
    use.lastAccount = account;
  }

  /** Counts a request that was turned away. */
  turnAway(why: TurnedAway): void {
    this.#turnedAway += 1;
    this.#unlogged.set(why, (this.#unlogged.get(why) ?? 0) + 1);
    this.#writeSoon();
  }

  /** Stores the counted use. */
  write(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (Math.abs(this.#context.now() - this.#loggedAt) >= LOG_EVERY_MS) this.#logTurnedAway();
    if (this.#uses.size === 0 && this.#turnedAway === 0) return;
    const { paths } = this.#context;
    try {
      updateGateway(paths, this.#cli, gateway => this.#countAll(gateway), LOCK_MS);
      this.#uses.clear();
      this.#turnedAway = 0;
    } catch {
      // the use stays in memory, and is stored later
    }
    this.#stamp = '';
    this.#read();
  }

  /** Stores the remaining counts. */
  close(): void {
    this.#logTurnedAway();
    this.write();
  }

  #logTurnedAway(): void {
    if (this.#unlogged.size === 0) return;
    for (const [why, count] of this.#unlogged) this.#log(why, { count });
    this.#unlogged.clear();
    this.#loggedAt = this.#context.now();
  }

  #tokenOf({ digest }: Consumer): Token | undefined {
    const id = digest.toString('hex');
    return this.#tokens.find(({ token }) => token.digest === id)?.token;
  }

  #read(): void {
    const stamp = this.#currentStamp();
    if (stamp === this.#stamp) return;
    this.#stamp = stamp;
    this.#tokens = readGateway(this.#context.paths, this.#cli).tokens.map(token => ({
      token,
      consumer: { name: token.name, digest: Buffer.from(token.digest, 'hex') },
    }));
  }

  #writeSoon(): void {
    this.#timer ??= setTimeout(() => this.write(), WRITE_EVERY_MS);
  }

  #useOf(id: string): Use {
    this.#writeSoon();
    const use = this.#uses.get(id) ?? { used: 0, requests: 0, refused: 0 };
    this.#uses.set(id, use);
    return use;
  }

  #countAll(gateway: GatewayFile): void {
    gateway.turnedAway += this.#turnedAway;
    for (const token of gateway.tokens) count(token, this.#uses.get(token.digest));
    if (!this.#only) return;
    const { name, digest } = this.#only;
    const program = gateway.programs.find(each => each.name === name) ?? { name, used: 0, requests: 0, refused: 0 };
    count(program, this.#uses.get(digest.toString('hex')));
    gateway.programs = [...gateway.programs.filter(each => each !== program), program].slice(-MAX_PROGRAMS);
  }
}

function count(program: Program, use: Use | undefined): void {
  if (!use) return;
  program.used += use.used;
  program.requests += use.requests;
  program.accounts = withCounts(program.accounts, use.accounts);
  if (use.failures) program.failures = withCounts(program.failures, use.failures);
  program.refused += use.refused;
  program.lastAt = use.lastAt ?? program.lastAt;
  program.lastAccount = use.lastAccount ?? program.lastAccount;
}

function withCounts(counts: Record<string, number> = {}, more: Record<string, number> = {}): Record<string, number> {
  const all = { ...counts };
  for (const [name, number] of Object.entries(more)) all[name] = (all[name] ?? 0) + number;
  return all;
}
