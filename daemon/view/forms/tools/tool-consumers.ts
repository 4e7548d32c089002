// Describes the programs that use a tool's accounts through the gateway, for the page of tool accounts.
import type { Tool } from '../../../api/accounts.ts';
import type { Group, Row } from '../../form.ts';
import { formatCount, formatDate, formatIn } from '../../format.ts';
import { fill, type Translator } from '../../translator.ts';

/** Programs behind a gateway; without rows if there are none. @param now ms since the epoch */
export function consumerGroup({ cli, consumers, turnedAway }: Tool, now: number, tr: Translator): Group {
  return {
    id: `consumers-${cli}`,
    // Translators: %s is a command such as firecrawl
    title: fill(tr._('Programs that use %s through the gateway'), cli),
    rows: [
      ...consumers.map(consumer => ({
        kind: 'note' as const,
        id: `consumer-${cli}-${consumer.name}`,
        title: consumer.name,
        subtitle: consumerText(consumer, now, tr),
        tone: consumer.refused > 0 ? ('warning' as const) : ('neutral' as const),
      })),
      ...(turnedAway > 0 ? [turnedAwayRow(cli, turnedAway, tr)] : []),
    ],
  };
}

function turnedAwayRow(cli: string, turnedAway: number, tr: Translator): Row {
  return {
    kind: 'note',
    id: `turned-away-${cli}`,
    title: tr._('Turned away'),
    // Translators: %d is a number of requests; a placeholder stands in for a key
    subtitle: fill(
      tr.ngettext(
        '%d request without a valid placeholder, from a web page or from another user',
        '%d requests without a valid placeholder, from web pages or from other users',
        turnedAway,
      ),
      formatCount(turnedAway, tr),
    ),
    tone: 'warning',
  };
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

/** Requests by account, the most first. */
function countsText(accounts: Record<string, number>, tr: Translator): string {
  const sorted = Object.entries(accounts).sort(([, a], [, b]) => b - a);
  return sorted.map(([name, count]) => `${name} ${formatCount(count, tr)}`).join(', ');
}

function endText(ends: number, now: number, tr: Translator): string {
  // Translators: when a token ends; %s is such as: in 3 hours
  return ends > now ? fill(tr._('Ends %s'), formatIn((ends - now) / 1000, tr)) : tr._('Its token has ended');
}
