// Describes the rows for a tool's accounts and for the programs that use them through the gateway.
import type { Tool, ToolAccount, ToolAccountsChange } from '../../api/accounts.ts';
import { type Command, type Group, noteRow, type Question, type Row, type Tone } from '../form.ts';
import { formatAbout, formatCount, formatDate, formatIn, formatList } from '../format.ts';
import { fill, type Translator } from '../translator.ts';

/** Returns a command that changes tools or their accounts. */
export function accountsCommand(request: ToolAccountsChange, more: Omit<Command, 'ask'> = {}): Command {
  return { ask: { kind: 'tool-accounts', change: request }, ...more };
}

/** Returns the row of an account, and a second row to remove a disabled account or resume a paused account. */
export function accountRows({ cli }: Tool, account: ToolAccount, now: number, tr: Translator): Row[] {
  const { name, enabled } = account;
  const { _ } = tr;
  const paused = pausedUntil(account, now) !== undefined;
  const tone: Tone = account.problem !== null ? 'error' : paused ? 'warning' : 'neutral';
  const row: Row = {
    kind: 'switch',
    id: `account-${cli}-${name}`,
    title: name,
    subtitle: accountText(account, now, tr),
    tone,
    on: enabled,
    command: accountsCommand({ change: enabled ? 'disable' : 'enable', cli, name }),
  };
  if (!enabled) return [row, removeRow(cli, name, tr)];
  if (!paused) return [row];
  const wake: Row = {
    // Translators: %s is the name of an account
    kind: 'button',
    id: `wake-${cli}-${name}`,
    title: fill(_('“%s” is paused'), name),
    label: _('Use Now'),
    command: accountsCommand({ change: 'wake', cli, name }),
  };
  return [row, wake];
}

function removeRow(cli: string, name: string, { _ }: Translator): Row {
  const confirm: Question = {
    // Translators: %s is the name of an account
    heading: fill(_('Remove the account “%s”?'), name),
    body: _('The key that Culvert stored for it is deleted.'),
    accept: _('Remove'),
    destructive: true,
  };
  return {
    // Translators: %s is the name of an account
    kind: 'button',
    id: `remove-${cli}-${name}`,
    title: fill(_('“%s” is turned off'), name),
    label: _('Remove…'),
    command: accountsCommand({ change: 'remove', cli, name }, { confirm }),
  };
}

/** Returns the end of a pause in ms since the epoch; null if it lasts until the key changes, undefined without a pause. */
function pausedUntil({ paused }: ToolAccount, now: number): number | null | undefined {
  if (!paused) return undefined;
  if (paused.until === null) return null;
  const until = Date.parse(paused.until);
  return until > now ? until : undefined;
}

/** Lists facts about an account, the most important first. */
function accountText(account: ToolAccount, now: number, tr: Translator): string {
  const { _ } = tr;
  const { sharedWith, problem, emptyAt, resets } = account;
  const secondsUntil = (at: string) => (Date.parse(at) - now) / 1000;
  const parts = [
    leftText(account, tr),
    coolingText(account, now, tr),
    problem,
    // Translators: a forecast for a quota; %s is such as: 3 hours
    emptyAt && secondsUntil(emptyAt) > 0 ? fill(_('Lasts about %s'), formatAbout(secondsUntil(emptyAt), tr)) : null,
    // Translators: when a quota resets; %s is such as: in 3 hours
    resets && secondsUntil(resets) > 0 ? fill(_('Renews %s'), formatIn(secondsUntil(resets), tr)) : null,
    // Translators: %s is a list of names of accounts
    sharedWith.length ? fill(_('Same quota as %s'), formatList(sharedWith, tr)) : null,
  ].filter(part => part !== null);
  return parts.length ? parts.join(' · ') : sourceText(account, tr);
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

function coolingText(account: ToolAccount, now: number, tr: Translator): string | null {
  const { _ } = tr;
  const until = pausedUntil(account, now);
  if (until === undefined) return null;
  const why = {
    quota: _('Quota used up'),
    rate: _('Too many requests'),
    auth: _('Key refused'),
  }[account.paused!.class];
  return until === null
    ? // Translators: %s is such as: Key refused
      fill(_('%s, not used until its key changes'), why)
    : // Translators: the first %s is such as: Quota used up; the second such as: in 12 minutes
      fill(_('%s, used again %s'), why, formatIn((until - now) / 1000, tr));
}

function sourceText({ sources }: ToolAccount, tr: Translator): string {
  const { _ } = tr;
  const texts: Record<ToolAccount['sources'][number], string> = {
    env: _('Key in a variable'),
    keyring: _('Key in the keyring'),
    pass: _('Key in pass'),
    command: _('Key from a command'),
    file: _('Key in a file'),
  };
  return formatList(
    sources.map(source => texts[source]),
    tr,
  );
}

const NAME = /^(?!\.+$|__proto__$)[A-Za-z0-9_.][A-Za-z0-9_.-]{0,63}$/;

/** Returns the row that adds an account to a tool. */
export function addRow({ cli, accounts, variables }: Tool, tr: Translator): Row {
  const { _ } = tr;
  return {
    kind: 'entry',
    id: `add-${cli}`,
    label: _('Add…'),
    placeholder: 'team-b',
    // Translators: %s is a command such as firecrawl
    title: fill(_('Name of another account of %s'), cli),
    check: name => {
      if (name === '') return null;
      if (!NAME.test(name)) return _('Letters, digits, “.”, “_” and “-” only.');
      return accounts.some(account => account.name === name) ? _('An account with this name already exists.') : null;
    },
    command: name =>
      accountsCommand(
        { change: 'add', cli, name, credentials: [], store: 'keyring' },
        {
          confirm: {
            // Translators: the first %s is the name of an account, the second a command such as firecrawl
            heading: fill(_('Add “%s” to %s'), name, cli),
            body: _('The key is stored in the keyring. It is not shown again.'),
            accept: _('Add'),
            secrets: variables,
          },
          done: _('Added'),
        },
      ),
  };
}

/** Lists the programs that use a gateway; the group may have no rows. @param now ms since the epoch */
export function consumerGroup({ cli, consumers, turnedAway }: Tool, now: number, tr: Translator): Group {
  return {
    id: `consumers-${cli}`,
    // Translators: %s is a command such as firecrawl
    title: fill(tr._('Programs that use %s through the gateway'), cli),
    rows: [
      ...consumers.map(consumer => {
        const tone = consumer.refused > 0 ? 'warning' : 'neutral';
        return noteRow(`consumer-${cli}-${consumer.name}`, consumer.name, consumerText(consumer, now, tr), tone);
      }),
      ...(turnedAway > 0 ? [turnedAwayRow(cli, turnedAway, tr)] : []),
    ],
  };
}

function turnedAwayRow(cli: string, turnedAway: number, tr: Translator): Row {
  // Translators: %d is a number of requests; a placeholder stands in for a key
  const text = tr.ngettext(
    '%d request without a valid placeholder, from a web page or from another user',
    '%d requests without a valid placeholder, from web pages or from other users',
    turnedAway,
  );
  return noteRow(`turned-away-${cli}`, tr._('Turned away'), fill(text, formatCount(turnedAway, tr)), 'warning');
}

function consumerText(
  { requests, accounts, refused, used, budget, last, account, ends }: Tool['consumers'][number],
  now: number,
  tr: Translator,
): string {
  const { _, ngettext } = tr;
  const parts = [
    // Translators: %d is a number of requests to a provider
    fill(ngettext('%d request', '%d requests', requests), formatCount(requests, tr)),
    account !== null && last !== null
      ? // Translators: the first %s is the name of an account, the second a date and time
        fill(_('Last by “%s”, %s'), account, formatDate(last, tr))
      : null,
    Object.keys(accounts).length > 1 ? countsText(accounts, tr) : null,
    refused > 0
      ? // Translators: %d is a number of requests that were not sent, for example because a budget was used up
        fill(ngettext('%d refused', '%d refused', refused), formatCount(refused, tr))
      : null,
    budget !== null
      ? // Translators: %s are numbers: the part of a budget that is used up, and all of it
        fill(_('%s of its budget of %s used'), formatCount(used, tr), formatCount(budget, tr))
      : null,
    ends !== null ? endText(Date.parse(ends), now, tr) : null,
  ];
  return parts.filter(part => part !== null).join(' · ');
}

/** Lists each account with its number of requests, the largest number first. */
function countsText(accounts: Record<string, number>, tr: Translator): string {
  const sorted = Object.entries(accounts).sort(([, a], [, b]) => b - a);
  return sorted.map(([name, count]) => `${name} ${formatCount(count, tr)}`).join(', ');
}

function endText(ends: number, now: number, tr: Translator): string {
  // Translators: when a token ends; %s is such as: in 3 hours
  return ends > now ? fill(tr._('Ends %s'), formatIn((ends - now) / 1000, tr)) : tr._('Its token has ended');
}
