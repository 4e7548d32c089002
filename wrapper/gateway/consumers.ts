// Keeps the programs that may use a gateway, and counts what each has used.
import type { Context } from '../context.ts';
import { gatewayStamp, isValid, readGateway, type Token, updateGateway } from '../store/tokens.ts';
import { oncePerTurn } from '../system/once-per-turn.ts';
import type { Consumer } from './admit.ts';

const WRITE_EVERY_MS = 1_000;
/** Another process may write as well; this one tries again later. */
const LOCK_MS = 50;

type Use = Pick<Token, 'used' | 'requests' | 'refused' | 'lastAt' | 'lastAccount'>;

/** The programs that may use the gateway of one provider. A token that is revoked counts from the next request on. */
export class Consumers {
  readonly #cli: string;
  readonly #context: Pick<Context, 'paths' | 'now'>;
  /** The program that the gateway was started for. */
  readonly #only: Consumer | undefined;
  readonly #currentStamp: () => string;
  #stamp = '';
  #tokens: readonly { token: Token; consumer: Consumer }[] = [];
  /** Use that is not stored yet, and cost of requests under way, by digest. */
  readonly #uses = new Map<string, Use>();
  readonly #underWay = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;

  constructor(cli: string, context: Pick<Context, 'paths' | 'now'>, only?: Consumer) {
    this.#cli = cli;
    this.#context = context;
    this.#only = only;
    this.#currentStamp = oncePerTurn(() => gatewayStamp(context.paths, cli));
  }

  /** Programs that may use it now. */
  get all(): readonly Consumer[] {
    if (this.#only) return [this.#only];
    this.#read();
    const now = this.#context.now();
    return this.#tokens.filter(({ token }) => isValid(token, now)).map(({ consumer }) => consumer);
  }

  /** Reports whether a consumer may still use it. */
  has(consumer: Consumer): boolean {
    return this.all.some(({ digest }) => digest.equals(consumer.digest));
  }

  /** Sets the cost of a request aside. @returns false where the budget has less */
  begin(consumer: Consumer, cost: number): boolean {
    const id = consumer.digest.toString('hex');
    const token = this.#tokens.find(each => each.token.digest === id)?.token;
    if (!token) return true;
    const use = this.#useOf(id);
    const underWay = this.#underWay.get(id) ?? 0;
    if (token.budget !== undefined && token.used + use.used + underWay + cost > token.budget) {
      use.refused += 1;
      return false;
    }
    this.#underWay.set(id, underWay + cost);
    return true;
  }

  /** Counts a request that `begin` has let through. Without an account, it did not go to the provider. */
  end(consumer: Consumer, cost: number, { spent, account }: { spent: number; account: string | undefined }): void {
    const id = consumer.digest.toString('hex');
    const underWay = this.#underWay.get(id);
    if (underWay === undefined) return;
    this.#underWay.set(id, underWay - cost);
    if (account === undefined) return;
    const use = this.#useOf(id);
    use.used += spent;
    use.requests += 1;
    use.lastAt = this.#context.now();
    use.lastAccount = account;
  }

  /** Stores what was used. */
  write(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#uses.size === 0) return;
    const { paths } = this.#context;
    try {
      const countAll = ({ tokens }: { tokens: Token[] }) => {
        for (const token of tokens) this.#count(token);
      };
      updateGateway(paths, this.#cli, countAll, LOCK_MS);
      this.#uses.clear();
    } catch {
      // counts here, and is stored with a later request
    }
    this.#stamp = '';
    this.#read();
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

  #useOf(id: string): Use {
    this.#timer ??= setTimeout(() => this.write(), WRITE_EVERY_MS);
    const use = this.#uses.get(id) ?? { used: 0, requests: 0, refused: 0 };
    this.#uses.set(id, use);
    return use;
  }

  #count(token: Token): void {
    const use = this.#uses.get(token.digest);
    if (!use) return;
    token.used += use.used;
    token.requests += use.requests;
    token.refused += use.refused;
    token.lastAt = use.lastAt ?? token.lastAt;
    token.lastAccount = use.lastAccount ?? token.lastAccount;
  }
}
