// Describes the rows for a tool's last runs, and for the programs that use its accounts through the gateway.
import type { Tool, ToolRun } from '../../api/accounts.ts';
import { noteRow, type Row } from '../form.ts';
import { formatCount, formatDate, formatIn } from '../format.ts';
import { fill, type Translator } from '../translator.ts';

/** Returns a folded row with the last runs of a tool; an empty list without runs. */
export function runsRows(tool: Tool, tr: Translator): Row[] {
  const { cli, runs } = tool;
  if (runs.length === 0) return [];
  return [
    {
      kind: 'expander',
      id: `runs-${cli}`,
      // Translators: %s is a command such as firecrawl
      title: fill(tr._('Last runs of %s'), cli),
      rows: runs.map((run, i) => runRow(tool, run, i, tr)),
    },
  ];
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

/**
 * Returns a folded row with the programs that use a gateway; an empty list without programs.
 * @param now ms since the epoch
 */
export function consumersRows({ cli, consumers, turnedAway }: Tool, now: number, tr: Translator): Row[] {
  const rows = consumers.map(consumer => {
    const tone = consumer.refused > 0 ? 'warning' : 'neutral';
    return noteRow(`consumer-${cli}-${consumer.name}`, consumer.name, consumerText(consumer, now, tr), tone);
  });
  if (turnedAway > 0) rows.push(turnedAwayRow(cli, turnedAway, tr));
  if (rows.length === 0) return [];
  const warns = rows.some(({ tone }) => tone === 'warning');
  return [
    {
      kind: 'expander',
      id: `consumers-${cli}`,
      // Translators: %s is a command such as firecrawl
      title: fill(tr._('Programs that use %s through the gateway'), cli),
      ...(warns && { tone: 'warning', mark: 'hint' }),
      rows,
    },
  ];
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
