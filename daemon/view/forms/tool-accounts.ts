// Describes the page of tool accounts: the accounts that culvert-wrap holds for command-line tools, and their shims.
import type { Tool, ToolAccount, ToolAccounts, ToolAccountsChange, ToolRun } from '../../api/schema/accounts.ts';
import type { Command, Form, Group, Question, Row, Tone } from '../form.ts';
import { formatAbout, formatCount, formatDate, formatIn, formatList } from '../format.ts';
import { fill, type Translator } from '../translator.ts';
import { consumerGroup } from './tool-consumers.ts';

export interface ToolAccountsState {
  /** null until the daemon has answered. */
  answer: ToolAccounts | null;
  /** Why it could not be asked. */
  failed: string | null;
}

export const NO_TOOL_ACCOUNTS: ToolAccountsState = { answer: null, failed: null };

/** Clients that show the page read again after this time, because the daemon watches for two minutes only. */
export const READ_AGAIN_MS = 60_000;

/** Most people have npm for other work than publishing packages with several accounts. */
const NOT_OFFERED = 'npm';

/** @param now ms since the epoch */
export function toolAccountsForm(
  { answer, failed }: ToolAccountsState,
  { offline, now }: { offline: boolean; now: number },
  tr: Translator,
): Form {
  const { _ } = tr;
  const note = (title: string, subtitle: string | null = null, tone: Tone = 'neutral'): Form => ({
    groups: [{ id: 'none', rows: [{ kind: 'note', id: 'none', title, subtitle, tone }] }],
  });
  if (offline && !answer) return note(_('Not available now'));
  const problem = failed ?? answer?.problem ?? null;
  if (problem !== null) return note(_('Accounts can’t be shown'), problem, 'error');
  if (!answer) return note(_('Reading…'));
  const used = answer.tools.filter(isUsed);
  const others = answer.tools.filter(tool => !isUsed(tool) && tool.cli !== NOT_OFFERED);
  if (used.length + others.length === 0)
    return note(
      _('No known tool was found'),
      _('Culvert can switch between accounts of command-line tools such as firecrawl, tvly and netlify.'),
    );
  return {
    groups: [
      { id: 'left', rows: used.some(({ accounts }) => accounts.length > 0) ? [refreshRow(answer, tr)] : [] },
      ...used.flatMap(tool => toolGroups(tool, now, tr)),
      {
        id: 'others',
        title: _('Tools on this computer'),
        description: _('Runs the tool with one of your accounts.'),
        rows: others.map(tool => setUpRow(tool, tr)),
      },
    ],
  };
}

function isUsed({ accounts, shim }: Tool): boolean {
  return accounts.length > 0 || shim !== 'none';
}

function change(request: ToolAccountsChange, more: Omit<Command, 'ask'> = {}): Command {
  return { ask: { kind: 'tool-accounts', change: request }, ...more };
}

function refreshRow({ refreshing }: ToolAccounts, { _ }: Translator): Row {
  return {
    kind: 'button',
    id: 'refresh',
    title: _('What is left'),
    label: _('Ask Now'),
    busy: refreshing,
    subtitle: _('Asks each provider, with the account’s own key.'),
    command: change({ change: 'refresh' }),
  };
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
  return change({ change: 'install', cli }, { confirm, done: _('The shim is in place') });
}

function toolGroups(tool: Tool, now: number, tr: Translator): Group[] {
  const { cli, accounts, runs } = tool;
  return [
    {
      id: `tool-${cli}`,
      title: cli,
      description: `${scopeText(tool, tr)} ${termsText(tool, tr)}`,
      rows: [
        shimRow(tool, tr),
        ...firstRows(tool, tr),
        ...accounts.flatMap(account => accountRows(tool, account, now, tr)),
        ...totalRows(tool, tr),
        addRow(tool, tr),
        ...termsRows(tool, tr),
      ],
    },
    consumerGroup(tool, now, tr),
    {
      id: `runs-${cli}`,
      // Translators: %s is a command such as firecrawl
      title: fill(tr._('Last runs of %s'), cli),
      rows: runs.map((run, i) => runRow(tool, run, i, tr)),
    },
  ];
}

/** Whose quota it is, and so whether another account helps. */
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

function termsRows({ cli, terms }: Tool, { _ }: Translator): Row[] {
  if (terms.url === null) return [];
  return [
    {
      kind: 'button',
      id: `terms-${cli}`,
      title: _('Terms of the provider'),
      label: _('Open'),
      // Translators: %s is a date such as 2026-11-21
      subtitle: terms.read === null ? null : fill(_('Read on %s'), terms.read),
      command: { ask: { kind: 'open', uri: terms.url } },
    },
  ];
}

function shimRow(tool: Tool, tr: Translator): Row {
  const { cli, shim, path } = tool;
  const { _ } = tr;
  return {
    // Translators: %s is a command such as firecrawl
    kind: 'switch',
    id: `shim-${cli}`,
    title: fill(_('Use these accounts for “%s”'), cli),
    subtitle:
      shim === 'replaced'
        ? _('An upgrade has replaced the shim, so no account is used.')
        : (path ?? _('The command was not found.')),
    tone: shim === 'replaced' ? 'warning' : 'neutral',
    on: shim === 'installed',
    sensitive: path !== null,
    command:
      shim === 'installed'
        ? change({ change: 'uninstall', cli }, { done: _('The original is back') })
        : installCommand(tool, tr),
  };
}

function firstRows({ cli, accounts }: Tool, { _ }: Translator): Row[] {
  const enabled = accounts.filter(account => account.enabled);
  const first = enabled.find(account => account.default);
  if (enabled.length < 2 || !first) return [];
  return [
    {
      kind: 'select',
      id: `first-${cli}`,
      title: _('First account'),
      value: first.name,
      options: enabled.map(({ name }) => ({ value: name, label: name })),
      command: name => change({ change: 'use', cli, name }),
    },
  ];
}

function accountRows({ cli }: Tool, account: ToolAccount, now: number, tr: Translator): Row[] {
  const { name, enabled } = account;
  const { _ } = tr;
  const resting = restingUntil(account, now) !== undefined;
  const tone: Tone = account.problem !== null ? 'error' : resting ? 'warning' : 'neutral';
  const row: Row = {
    kind: 'switch',
    id: `account-${cli}-${name}`,
    title: name,
    subtitle: accountText(account, now, tr),
    tone,
    on: enabled,
    command: change({ change: enabled ? 'disable' : 'enable', cli, name }),
  };
  if (!enabled) return [row, removeRow(cli, name, tr)];
  if (!resting) return [row];
  const wake: Row = {
    // Translators: %s is the name of an account
    kind: 'button',
    id: `wake-${cli}-${name}`,
    title: fill(_('“%s” is paused'), name),
    label: _('Use Now'),
    command: change({ change: 'wake', cli, name }),
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
    command: change({ change: 'remove', cli, name }, { confirm }),
  };
}

/** The end of a cooldown in ms since the epoch, null for one until the key changes, undefined for none. */
function restingUntil({ coolingDown }: ToolAccount, now: number): number | null | undefined {
  if (!coolingDown) return undefined;
  if (coolingDown.until === null) return null;
  const until = Date.parse(coolingDown.until);
  return until > now ? until : undefined;
}

/** Facts about an account, the most important first. */
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

function leftText({ remaining, limit }: Pick<ToolAccount, 'remaining' | 'limit'>, tr: Translator): string | null {
  const { _ } = tr;
  if (remaining === null) return null;
  const left = formatCount(remaining, tr);
  // Translators: what is left of a quota; the first %s is a number, the second the whole
  return limit === null ? fill(_('%s left'), left) : fill(_('%s of %s left'), left, formatCount(limit, tr));
}

function coolingText(account: ToolAccount, now: number, tr: Translator): string | null {
  const { _ } = tr;
  const until = restingUntil(account, now);
  if (until === undefined) return null;
  const why = {
    quota: _('Quota used up'),
    rate: _('Too many requests'),
    auth: _('Key refused'),
  }[account.coolingDown!.class];
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

function totalRows({ cli, accounts, total }: Tool, tr: Translator): Row[] {
  const left = leftText(total, tr);
  if (left === null || accounts.length < 2) return [];
  return [{ kind: 'fact', id: `total-${cli}`, title: tr._('All accounts together'), value: left }];
}

const NAME = /^(?!\.+$|__proto__$)[A-Za-z0-9_.][A-Za-z0-9_.-]{0,63}$/;

function addRow({ cli, accounts, variables }: Tool, tr: Translator): Row {
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
      change(
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

function runRow(
  { cli }: Tool,
  { at, command, account, outcome, class: failure }: ToolRun,
  i: number,
  tr: Translator,
): Row {
  const { _ } = tr;
  const texts: Record<ToolRun['outcome'], string> = {
    ok: _('Succeeded'),
    unobserved: _('Ran'),
    original: _('Ran'),
    failed: _('Failed'),
    left: _('Changed to another account'),
    skipped: _('Account skipped'),
    queued: _('Put into the queue'),
    refused: _('Not started'),
  };
  const result = failure === null ? texts[outcome] : `${texts[outcome]} (${failure})`;
  const subtitle = [formatDate(at, tr), account ?? _('No account'), result].join(' · ');
  return { kind: 'note', id: `run-${cli}-${i}`, title: command || cli, subtitle };
}
