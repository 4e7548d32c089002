// Sums up and words what is left of the quotas of a tool's accounts.
import type { Tool, ToolAccount } from '../../api/accounts.ts';
import { formatCount } from '../format.ts';
import { fill, type Translator } from '../translator.ts';

/** Omits a figure from before the last reset, which says nothing about the present period. */
export function withoutOld(account: ToolAccount, now: number): ToolAccount {
  const [at, resets] = [account.at, account.resets].map(time => Date.parse(time ?? ''));
  return at! < resets! && resets! <= now ? { ...account, remaining: null } : account;
}

/** Words the remaining quota; null if it is unknown. */
export function leftText(
  { remaining, limit }: Pick<ToolAccount, 'remaining' | 'limit'>,
  tr: Translator,
): string | null {
  const { _ } = tr;
  if (remaining === null) return null;
  const left = formatCount(remaining, tr);
  // Translators: what is left of a quota; the first %s is a number, the second the whole
  return limit === null ? fill(_('%s left'), left) : fill(_('%s of %s left'), left, formatCount(limit, tr));
}

/**
 * Returns the sum of a tool's credits, without a limit unless each figure in the sum has one.
 * @param now ms since the epoch
 */
export function totalOf({ accounts, total }: Pick<Tool, 'accounts' | 'total'>, now: number): Tool['total'] {
  const isWhole = accounts
    .map(account => withoutOld(account, now))
    .every(({ enabled, remaining, limit }) => !enabled || (remaining === null) === (limit === null));
  return isWhole ? total : { ...total, limit: null };
}

/** Says for how many accounts in use no credits are known, which a sum does not contain; null without such an account. */
export function unknownText(accounts: readonly ToolAccount[], tr: Translator): string | null {
  const count = accounts.filter(({ enabled, remaining }) => enabled && remaining === null).length;
  // Translators: %d is a number of accounts; their credits are not in the number next to this text
  const text = tr.ngettext('%d account unknown', '%d accounts unknown', count);
  return count === 0 ? null : fill(text, formatCount(count, tr));
}

/** Returns the part that is left of a quota, from 0 to 1; null if it is unknown. */
export function levelOf({ remaining, limit }: Pick<ToolAccount, 'remaining' | 'limit'>): number | null {
  return remaining === null || limit === null || limit <= 0 ? null : Math.min(1, Math.max(0, remaining / limit));
}
