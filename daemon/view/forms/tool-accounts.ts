// Describes the page of tool accounts, which lists culvert-wrap's accounts for command-line tools, and the tools' shims.
import type { Tool, ToolAccounts, ToolRun } from '../../api/accounts.ts';
import { type Command, type Form, type Group, noteForm, noteRow, type Question, type Row } from '../form.ts';
import { formatDate } from '../format.ts';
import { fill, type Translator } from '../translator.ts';
import { accountRows, accountsCommand, addRow, consumerGroup, leftText } from './tool-account-rows.ts';

interface ToolAccountsState {
  /** null until the daemon has answered. */
  answer: ToolAccounts | null;
  /** Why the request failed; null if it did not. */
  failed: string | null;
}

/** Interval at which clients read again while they show the page: the daemon watches for only two minutes after a read. */
export const READ_AGAIN_MS = 60_000;

/** Most people who have npm do not publish packages with several accounts. */
const NOT_OFFERED = 'npm';

/** @param now ms since the epoch */
export function toolAccountsForm(
  { answer, failed }: ToolAccountsState,
  { offline, now }: { offline: boolean; now: number },
  tr: Translator,
): Form {
  const { _ } = tr;
  if (offline && !answer) return noteForm(_('Not available now'));
  const problem = failed ?? answer?.problem ?? null;
  if (problem !== null) return noteForm(_('Accounts can’t be shown'), problem, 'error');
  if (!answer) return noteForm(_('Reading…'));
  const used = answer.tools.filter(isUsed);
  const others = answer.tools.filter(tool => !isUsed(tool) && tool.cli !== NOT_OFFERED);
  if (used.length + others.length === 0)
    return noteForm(
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

function refreshRow({ refreshing }: ToolAccounts, { _ }: Translator): Row {
  return {
    kind: 'button',
    id: 'refresh',
    title: _('What is left'),
    label: _('Ask Now'),
    busy: refreshing,
    subtitle: _('Asks each provider, with the account’s own key.'),
    command: accountsCommand({ change: 'refresh' }),
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
  return accountsCommand({ change: 'install', cli }, { confirm, done: _('The shim is in place') });
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
        ? accountsCommand({ change: 'uninstall', cli }, { done: _('The original is back') })
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
      command: name => accountsCommand({ change: 'use', cli, name }),
    },
  ];
}

function totalRows({ cli, accounts, total }: Tool, tr: Translator): Row[] {
  const left = leftText(total, tr);
  if (left === null || accounts.length < 2) return [];
  return [{ kind: 'fact', id: `total-${cli}`, title: tr._('All accounts together'), value: left }];
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
  return noteRow(`run-${cli}-${i}`, command || cli, subtitle);
}
