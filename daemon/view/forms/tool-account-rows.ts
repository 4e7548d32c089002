// Describes the rows for a tool's accounts, and the questions that add an account or replace its key.
import type { Tool, ToolAccount, ToolAccountsChange } from '../../api/accounts.ts';
import {
  type Command,
  type Group,
  type Mark,
  type MenuButton,
  type Question,
  type Row,
  type Tone,
  workCommand,
} from '../form.ts';
import { formatAbout, formatCount, formatIn, formatList } from '../format.ts';
import { fill, type Translator } from '../translator.ts';
import { leftText, levelOf, withoutOld } from './tool-credits.ts';

/** Returns a command that changes tools or their accounts. */
export function accountsCommand(request: ToolAccountsChange, more: Omit<Command, 'ask'> = {}): Command {
  return { ask: { kind: 'tool-accounts', change: request }, ...more };
}

/** The orders of accounts that the user asked for and the daemon has not confirmed yet. */
export interface Ordering {
  /** Names of accounts by tool. */
  asked: ReadonlyMap<string, readonly string[]>;
  ask(cli: string, names: readonly string[]): Promise<unknown>;
}

/** With at least this number of accounts, the page folds the empty accounts. */
const FOLDED_FROM = 8;

/**
 * Returns the rows of a tool's accounts in their order of use, and the order that the user can change: the user's last wish.
 * @param ordering absent if the client only shows the accounts
 */
export function accountRows(
  tool: Tool,
  now: number,
  tr: Translator,
  ordering?: Ordering,
): Pick<Group, 'rows' | 'order'> {
  const { cli } = tool;
  const accounts = inOrderOfUse(tool).map(account => withoutOld(account, now));
  const folded = accounts.length < FOLDED_FROM ? [] : accounts.filter(account => isEmpty(account, now));
  const shown = accounts.filter(account => !folded.includes(account));
  const asked = inAskedOrder(accounts, ordering?.asked.get(cli));
  const arrange = (names: string[]) =>
    ordering ? workCommand(() => ordering.ask(cli, names)) : accountsCommand({ change: 'order', cli, names });
  const order = orderOf(tool, asked, shown, arrange);
  const inUse = accounts.find(({ name }) => name === tool.next);
  const rowOf = (account: ToolAccount) => accountRow(account, { tool, asked, order, arrange, inUse, now }, tr);
  const rest: Row = {
    kind: 'expander',
    id: `empty-${cli}`,
    // Translators: %d is a number of accounts without credits
    title: fill(tr.ngettext('%d more is empty', '%d more are empty', folded.length), formatCount(folded.length, tr)),
    mark: 'waiting',
    rows: folded.map(rowOf),
  };
  return { rows: [...shown.map(rowOf), ...(folded.length > 0 ? [rest] : [])], ...(order && { order }) };
}

/** Returns the accounts from the default account on, with the disabled accounts just before it. */
function inOrderOfUse({ accounts, order }: Tool): readonly ToolAccount[] {
  if (order !== 'list') return accounts;
  let start = accounts.findIndex(account => account.default);
  while (start > 0 && !accounts[start - 1]!.enabled) start--;
  return start > 0 ? [...accounts.slice(start), ...accounts.slice(0, start)] : accounts;
}

function inAskedOrder(accounts: readonly ToolAccount[], names?: readonly string[]): readonly ToolAccount[] {
  if (!names) return accounts;
  const placeOf = ({ name }: ToolAccount) => (names.includes(name) ? names.indexOf(name) : names.length);
  return [...accounts].sort((a, b) => placeOf(a) - placeOf(b));
}

const rowId = (cli: string, name: string) => `account-${cli}-${name}`;

/** Returns the order of the shown accounts, or undefined if the user's order does not decide. */
function orderOf(
  { cli, order }: Tool,
  asked: readonly ToolAccount[],
  shown: readonly ToolAccount[],
  arrange: (names: string[]) => Command,
): Group['order'] {
  if (order !== 'list' || shown.length < 2) return undefined;
  const movable = asked.filter(each => shown.includes(each));
  return {
    ids: movable.map(({ name }) => rowId(cli, name)),
    move(id, to) {
      const moved = movable.find(({ name }) => rowId(cli, name) === id)!;
      const others = movable.filter(each => each !== moved);
      const names = asked.filter(each => each !== moved).map(({ name }) => name);
      const next = others[to];
      const place = next ? names.indexOf(next.name) : names.indexOf(others.at(-1)!.name) + 1;
      return arrange([...names.slice(0, place), moved.name, ...names.slice(place)]);
    },
  };
}

/** True if an account is known to have nothing left. */
function isEmpty(account: ToolAccount, now: number): boolean {
  return account.remaining === 0 || (pausedUntil(account, now) !== undefined && account.paused?.class === 'quota');
}

interface AccountContext {
  tool: Tool;
  /** The tool's accounts in the order that the user asked for last. */
  asked: readonly ToolAccount[];
  order: Group['order'];
  /** Returns the command that puts the accounts with these names in order. */
  arrange(names: string[]): Command;
  inUse: ToolAccount | undefined;
  now: number;
}

function accountRow(account: ToolAccount, context: AccountContext, tr: Translator): Row {
  const { tool, inUse, now } = context;
  const { name, enabled, problem } = account;
  const paused = pausedUntil(account, now) !== undefined;
  const refused = paused && account.paused?.class === 'auth';
  const waits = paused || isEmpty(account, now);
  // a refused key fails again once the account is turned on
  const [mark, tone] = ((): [Mark | undefined, Tone] => {
    if (refused || (enabled && problem !== null)) return ['problem', 'error'];
    if (!enabled) return ['off', 'neutral'];
    if (waits) return ['waiting', 'warning'];
    if (account === inUse) return ['active', 'neutral'];
    return [account.remaining === null ? undefined : 'fine', 'neutral'];
  })();
  const { button, menu } = accountCommands(account, context, tr);
  const common = {
    id: rowId(tool.cli, name),
    title: name,
    subtitle: accountText(account, context, tr),
    tone,
    mark,
    level: levelOf(account),
    menu,
  };
  return button ? { ...common, kind: 'button', ...button } : { ...common, kind: 'note' };
}

/** Returns the command that helps an account now, if any, and its other commands. */
function accountCommands(
  account: ToolAccount,
  context: AccountContext,
  tr: Translator,
): { button: Pick<MenuButton, 'label' | 'command'> | null; menu: MenuButton[] } {
  const { _ } = tr;
  const { tool, asked, order, now } = context;
  const { cli } = tool;
  const { name, enabled } = account;
  const paused = pausedUntil(account, now) !== undefined;
  const newKey = paused && account.paused?.class === 'auth' ? keyButton(tool, account, tr) : null;
  const wake = paused && enabled && { label: _('Use Now'), command: accountsCommand({ change: 'wake', cli, name }) };
  const choose = chooseButton(account, context, tr);
  const isLost = tool.order === 'default' && asked.every(each => !each.default);
  const button = newKey ?? ((enabled && (wake || (isLost ? choose : null))) || null);
  const place = order?.ids.indexOf(rowId(cli, name)) ?? -1;
  const move = (label: string, to: number): MenuButton => ({
    label,
    command: order!.move(rowId(cli, name), to),
    sensitive: to >= 0 && to < order!.ids.length,
  });
  const toggle = accountsCommand({ change: enabled ? 'disable' : 'enable', cli, name });
  const menu = [
    choose,
    wake || null,
    ...(place < 0 ? [] : [move(_('Move Up'), place - 1), move(_('Move Down'), place + 1)]),
    { label: enabled ? _('Turn Off') : _('Turn On'), command: toggle },
    keyButton(tool, account, tr),
    removeButton(cli, name, tr),
  ];
  return { button, menu: menu.filter(each => each !== null).filter(({ label }) => label !== button?.label) };
}

/** Returns the command that makes an account the first or the only account in use; null if a strategy chooses. */
function chooseButton(
  { name, enabled, default: chosen }: ToolAccount,
  { tool: { cli, order }, asked, arrange }: AccountContext,
  { _ }: Translator,
): MenuButton | null {
  if (asked.length < 2) return null;
  const sensitive = enabled && !chosen;
  if (order === 'default')
    return { label: _('Use This Account'), command: accountsCommand({ change: 'use', cli, name }), sensitive };
  if (order !== 'list') return null;
  const names = [name, ...asked.map(each => each.name).filter(each => each !== name)];
  return { label: _('Use First'), command: arrange(names), sensitive };
}

/** Returns the command that replaces a key; null if Culvert does not store it. */
function keyButton(
  { cli, variables }: Pick<Tool, 'cli' | 'variables'>,
  { name, sources, stored }: ToolAccount,
  { _ }: Translator,
): MenuButton | null {
  if (!stored || variables.length === 0) return null;
  const store = sources.includes('file') ? 'file' : 'keyring';
  const confirm: Question = {
    // Translators: %s is the name of an account
    heading: fill(_('New key for “%s”'), name),
    body:
      store === 'file'
        ? _('The key is stored in a file that only you can read. It is not shown again.')
        : _('The key is stored in the keyring. It is not shown again.'),
    accept: _('Replace'),
    secrets: variables,
  };
  const command = accountsCommand(
    { change: 'add', cli, name, credentials: [], store, replace: true },
    { confirm, done: _('Key replaced') },
  );
  return { label: _('New Key…'), command };
}

function removeButton(cli: string, name: string, { _ }: Translator): MenuButton {
  const confirm: Question = {
    // Translators: %s is the name of an account
    heading: fill(_('Remove the account “%s”?'), name),
    body: _('The key that Culvert stored for it is deleted.'),
    accept: _('Remove'),
    destructive: true,
  };
  return {
    label: _('Remove…'),
    command: accountsCommand({ change: 'remove', cli, name }, { confirm }),
    style: 'destructive',
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
function accountText(account: ToolAccount, { tool, inUse, now }: AccountContext, tr: Translator): string {
  const { _ } = tr;
  const { enabled, remaining, paused, sharedWith, problem, emptyAt, resets } = account;
  const secondsUntil = (at: string) => (Date.parse(at) - now) / 1000;
  const pause = coolingText(account, now, tr);
  const empty = isEmpty(account, now) && !remaining;
  const isFixedElsewhere = pause !== null && paused?.class === 'auth' && keyButton(tool, account, tr) === null;
  const parts = [
    enabled ? null : _('Turned off'),
    account === inUse ? _('In use') : null,
    pause ?? (empty ? _('Empty') : null),
    empty ? null : leftText(account, tr),
    remaining === null && pause === null ? _('Credits unknown') : null,
    problem,
    // Translators: a forecast for a quota; %s is such as: 3 hours
    emptyAt && secondsUntil(emptyAt) > 0 ? fill(_('Lasts about %s'), formatAbout(secondsUntil(emptyAt), tr)) : null,
    // Translators: when a quota resets; %s is such as: in 3 hours
    resets && secondsUntil(resets) > 0 ? fill(_('Renews %s'), formatIn(secondsUntil(resets), tr)) : null,
    // Translators: %s is a list of names of accounts that have one quota together
    sharedWith.length ? fill(_('Shares with %s'), formatList(sharedWith, tr)) : null,
    (remaining === null && pause === null) || isFixedElsewhere ? sourceText(account, tr) : null,
  ];
  return parts.filter(part => part !== null && part !== '').join(' · ');
}

function coolingText(account: ToolAccount, now: number, tr: Translator): string | null {
  const { _ } = tr;
  const until = pausedUntil(account, now);
  if (until === undefined) return null;
  const why = {
    quota: account.remaining ? _('Not enough left') : _('Empty'),
    rate: _('Too many requests'),
    auth: _('Key refused'),
  }[account.paused!.class];
  // Translators: the first %s is such as: Empty; the second such as: in 12 minutes
  return until === null ? why : fill(_('%s, back %s'), why, formatIn((until - now) / 1000, tr));
}

function sourceText({ sources }: ToolAccount, tr: Translator): string | null {
  const { _ } = tr;
  const texts: Record<ToolAccount['sources'][number], string> = {
    env: _('Key in a variable'),
    keyring: _('Key in the keyring'),
    pass: _('Key in pass'),
    command: _('Key from a command'),
    file: _('Key in a file'),
  };
  if (sources.length === 0) return null;
  return formatList(
    sources.map(source => texts[source]),
    tr,
  );
}

const NAME = /^(?!\.+$|__proto__$)[A-Za-z0-9_.][A-Za-z0-9_.-]{0,63}$/;

/**
 * Returns the row that adds an account to a tool: it asks for a name and the key.
 * @param rules says who shares a quota, and what the provider's terms allow
 */
export function addRow({ cli, accounts, variables, terms }: Tool, rules: string, tr: Translator): Row {
  const { _ } = tr;
  const isFirst = accounts.length === 0;
  // Translators: %s is a command such as firecrawl
  const title = fill(_('New account for %s'), cli);
  const confirm: Question = {
    heading: title,
    body: `${isFirst ? _('The name is only for you.') : rules} ${_('The key is stored in the keyring. It is not shown again.')}`,
    accept: _('Add'),
    secrets: variables,
    links: terms.url === null ? [] : [{ label: _('Terms of the provider'), uri: terms.url }],
    field: {
      label: _('Name'),
      placeholder: isFirst ? 'team-a' : 'team-b',
      check: name => {
        if (name === '') return null;
        if (!NAME.test(name)) return _('Letters, digits, “.”, “_” and “-” only.');
        return accounts.some(account => account.name === name) ? _('An account with this name already exists.') : null;
      },
    },
  };
  const command = (name: string) =>
    accountsCommand(
      { change: 'add', cli, name, credentials: [], store: 'keyring' },
      {
        undo: { kind: 'tool-accounts', change: { change: 'remove', cli, name } },
        done: _('Added'),
      },
    );
  return {
    kind: 'button',
    label: _('Add…'),
    id: `add-${cli}`,
    title,
    command: { ask: { kind: 'answer', command }, confirm },
  };
}
