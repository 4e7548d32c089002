// Describes the page of tool accounts: a group for each command-line tool with its accounts, and the tools to set up.
import type { Tool, ToolAccount, ToolAccounts } from '../../api/accounts.ts';
import {
  type Command,
  type Form,
  type Group,
  noteForm,
  type Question,
  type Row,
  statusForm,
  workCommand,
} from '../form.ts';
import { formatAbout, formatAgo } from '../format.ts';
import { fill, type Translator } from '../translator.ts';
import { accountRows, accountsCommand, addRow, type Ordering } from './tool-account-rows.ts';
import { leftText, levelOf, totalOf, unknownText, withoutOld } from './tool-credits.ts';
import { consumersRows, runsRows } from './tool-usage.ts';

interface ToolAccountsState {
  /** null until the daemon has answered. */
  answer: ToolAccounts | null;
  /** Why the request failed; null if it did not. */
  failed: string | null;
  /** Reads the accounts again. */
  again?: () => Promise<unknown>;
  /** Absent if the client only shows the accounts. */
  ordering?: Ordering;
}

/** Interval at which clients read again while they show the page: the daemon watches for only two minutes after a read. */
export const READ_AGAIN_MS = 60_000;

/** Most people who have npm do not publish packages with several accounts. */
const NOT_OFFERED = 'npm';

/** @param now ms since the epoch */
export function toolAccountsForm(
  { answer, failed, again, ordering }: ToolAccountsState,
  { offline, now }: { offline: boolean; now: number },
  tr: Translator,
): Form {
  const { _ } = tr;
  if (offline && !answer) return noteForm(_('Not available now'));
  const problem = failed ?? answer?.problem ?? null;
  if (problem !== null)
    return statusForm({
      icon: 'org.culvert.Culvert-unable-symbolic',
      tone: 'error',
      title: _('Accounts can’t be shown'),
      sentence: problem,
      buttons: again ? [{ label: _('Try Again'), sensitive: !offline, command: workCommand(again) }] : [],
    });
  if (!answer) return noteForm(_('Reading…'));
  const used = answer.tools.filter(isUsed);
  const others = answer.tools.filter(tool => !isUsed(tool) && tool.cli !== NOT_OFFERED);
  if (used.length + others.length === 0) return noToolForm(tr);
  return {
    groups: [
      ...used.map(tool => toolGroup(tool, now, tr, ordering)),
      { id: 'credits', rows: refreshRows(used, { refreshing: answer.refreshing, now }, tr) },
      {
        id: 'others',
        title: _('Tools on this computer'),
        description: _('Runs the tool with one of your accounts.'),
        rows: others.map(tool => setUpRow(tool, tr)),
      },
    ],
  };
}

/** The first steps in a terminal, as in the README of culvert-wrap. */
const FIRST_STEPS = [
  'npm install -g firecrawl-cli',
  'culvert-wrap install firecrawl',
  'culvert-wrap accounts add firecrawl team-a',
].join('\n');

function noToolForm({ _ }: Translator): Form {
  const confirm: Question = {
    heading: _('Accounts for command-line tools'),
    body: _('Install a tool. It is then on this page, with a button that sets it up. Or set it up in a terminal:'),
    accept: _('Copy Commands'),
    text: FIRST_STEPS,
  };
  const command: Command = {
    ask: { kind: 'copy', text: FIRST_STEPS },
    confirm,
    done: _('Copied. Paste it into a terminal.'),
  };
  return statusForm({
    icon: 'culvert-console-symbolic',
    tone: 'neutral',
    title: _('No command-line tool with accounts found'),
    sentence: _('Works with firecrawl, tvly and netlify.'),
    buttons: [{ label: _('How'), command }],
  });
}

function isUsed({ accounts, shim }: Tool): boolean {
  return accounts.length > 0 || shim !== 'none';
}

function setUpRow(tool: Tool, tr: Translator): Row {
  return {
    kind: 'button',
    id: `set-up-${tool.cli}`,
    title: tool.cli,
    subtitle: tool.path,
    label: tr._('Set Up…'),
    command: installCommand(tool, tr),
  };
}

function installCommand({ cli, path }: Tool, { _ }: Translator): Command {
  const confirm: Question = {
    // Translators: %s is a command such as firecrawl
    heading: fill(_('Put a shim in place of “%s”?'), cli),
    body: fill(
      // Translators: %s is the path of a file
      _('%s then starts the tool with one of your accounts. Removing the shim restores the original.'),
      path ?? cli,
    ),
    accept: _('Install'),
  };
  return accountsCommand({ change: 'install', cli }, { confirm, done: _('The shim is in place') });
}

function toolGroup(tool: Tool, now: number, tr: Translator, ordering?: Ordering): Group {
  const { cli, terms } = tool;
  const { _ } = tr;
  const { rows, order } = accountRows(tool, now, tr, ordering);
  const rules = `${scopeText(tool, tr)} ${termsText(tool, tr)}`;
  return {
    id: `tool-${cli}`,
    title: cli,
    description: ruleText(tool, tr) || undefined,
    ...(terms.url !== null && {
      menu: [{ label: _('Terms of the provider'), command: { ask: { kind: 'open', uri: terms.url } } }],
    }),
    ...(order && { order }),
    rows: [
      shimRow(tool, now, tr),
      ...rows,
      addRow(tool, rules, tr),
      ...consumersRows(tool, now, tr),
      ...runsRows(tool, tr),
    ],
  };
}

/** Returns the row that asks all providers; none without an account. */
function refreshRows(
  tools: readonly Tool[],
  { refreshing, now }: { refreshing: boolean; now: number },
  tr: Translator,
) {
  const { _ } = tr;
  const accounts = tools.flatMap(tool => tool.accounts);
  if (accounts.length === 0) return [];
  const asked = Math.max(...accounts.map(({ at }) => (at === null ? 0 : Date.parse(at))));
  const how = _('Asks each provider, with the account’s own key.');
  // Translators: %s is such as: 5 minutes ago
  const when = asked > 0 ? fill(_('Last asked %s.'), formatAgo((now - asked) / 1000, tr)) : null;
  const row: Row = {
    kind: 'button',
    id: 'refresh',
    title: _('Refresh the credits of all tools'),
    subtitle: [how, when].filter(text => text !== null).join(' '),
    label: _('Refresh'),
    busy: refreshing,
    command: accountsCommand({ change: 'refresh' }),
  };
  return [row];
}

/** Says what decides which account is used; empty if the order of the rows does, and another account helps. */
function ruleText(tool: Tool, tr: Translator): string {
  const { scope, terms, accounts, order } = tool;
  const { _ } = tr;
  const texts: Record<Tool['order'], string | null> = {
    list: null,
    default: terms.accounts === 'one-per-person' ? null : _('Only the account that you choose is used.'),
    'most-remaining': _('The account with the most credits is used first.'),
    'soonest-reset': _('The account that renews first is used first.'),
    'drain-first': _('The account with the fewest credits is used first.'),
    'round-robin': _('The accounts are used in turn.'),
  };
  const rules = [
    scope === 'ip' ? scopeText(tool, tr) : null,
    terms.accounts === 'one-per-person' ? termsText(tool, tr) : null,
    accounts.length > 1 ? texts[order] : null,
  ];
  return rules.filter(text => text !== null).join(' ');
}

/** Says who shares a quota, which decides whether another account helps. */
function scopeText({ scope }: Tool, { _ }: Translator): string {
  const texts: Record<Tool['scope'], string> = {
    key: _('Each key has its own quota.'),
    project: _('Keys of one project share its quota.'),
    team: _('Keys of one team share its quota.'),
    ip: _('The limit applies to this computer’s address, so another account does not help.'),
  };
  return texts[scope];
}

function termsText({ terms }: Tool, { _ }: Translator): string {
  if (terms.read === null && terms.accounts !== 'one-per-person')
    return _('Check whether the provider’s terms allow several accounts.');
  const texts: Record<Tool['terms']['accounts'], string> = {
    allowed: _('The provider’s terms allow several accounts.'),
    'per-team': _('The provider’s terms allow one account for each team.'),
    'one-per-person': _(
      'The provider’s terms allow one account per person: you choose it, and a failure never changes that.',
    ),
  };
  return texts[terms.accounts];
}

/** Returns the row with the credits of all accounts, and the switch that decides whether the tool uses them. */
function shimRow(tool: Tool, now: number, tr: Translator): Row {
  const { cli, shim, path } = tool;
  const accounts = tool.accounts.map(account => withoutOld(account, now));
  const total = totalOf(tool, now);
  const { _ } = tr;
  // Translators: %s is a command such as firecrawl
  const name = fill(_('Use these accounts for “%s”'), cli);
  const left = leftText(total, tr);
  const problem =
    shim === 'replaced'
      ? _('An upgrade has replaced the shim, so no account is used.')
      : path === null
        ? _('The command was not found.')
        : null;
  const facts =
    left === null
      ? accounts.length > 0
        ? [_('Credits unknown')]
        : []
      : [...totalTexts({ accounts, total }, now, tr), name];
  return {
    kind: 'switch',
    id: `shim-${cli}`,
    title: left ?? name,
    name,
    // next to credits, the path would be noise
    subtitle: [problem, ...facts, left === null ? path : null].filter(text => text !== null).join(' · '),
    tone: shim === 'replaced' || total.remaining === 0 ? 'warning' : 'neutral',
    level: levelOf(total),
    on: shim === 'installed',
    sensitive: path !== null,
    command:
      shim === 'installed'
        ? accountsCommand({ change: 'uninstall', cli }, { done: _('The original is back') })
        : installCommand(tool, tr),
  };
}

/** Says how long all accounts together last, and how many of them are not in the sum. */
function totalTexts({ accounts, total }: Pick<Tool, 'accounts' | 'total'>, now: number, tr: Translator): string[] {
  const enabled = accounts.filter(account => account.enabled);
  const unknown = unknownText(accounts, tr);
  const seconds = secondsLeft(enabled, total.remaining ?? 0, now);
  return [
    // Translators: a forecast for a quota; %s is such as: 3 hours
    ...(seconds === null ? [] : [fill(tr._('Lasts about %s'), formatAbout(seconds, tr))]),
    ...(unknown === null ? [] : [unknown]),
  ];
}

/** Forecasts how long the credits of all accounts last at the present rates; null if no rate is known. */
function secondsLeft(enabled: readonly ToolAccount[], left: number, now: number): number | null {
  const rates = enabled.flatMap(({ remaining, emptyAt, sharedWith }, i) => {
    const seconds = emptyAt === null ? 0 : (Date.parse(emptyAt) - now) / 1000;
    // a quota that several accounts share counts once
    const isCounted = enabled.slice(0, i).some(other => sharedWith.includes(other.name));
    return remaining !== null && seconds > 0 && !isCounted ? [remaining / seconds] : [];
  });
  const rate = rates.reduce((sum, each) => sum + each, 0);
  return rate > 0 && left > 0 ? left / rate : null;
}
