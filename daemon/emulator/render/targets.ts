// `target list`: the table as in Cloudflare's documentation.
import type { Target } from '../client/state.ts';

const HEADINGS = ['Target ID', 'Protocol', 'Port', 'Attributes', 'IP (Virtual Network)', 'Usernames'];

export function targetTable(targets: Target[]): string {
  const rows = targets.map(each => [
    each.id,
    each.protocol,
    String(each.port),
    each.attributes,
    `${each.ip} (${each.vnet})`,
    each.usernames.join(', '),
  ]);
  const widths = HEADINGS.map((heading, at) => Math.max(heading.length, ...rows.map(row => row[at]!.length)));
  const line = (cells: string[]) => `│ ${cells.map((cell, at) => cell.padEnd(widths[at]!)).join(' │ ')} │\n`;
  const rule = (left: string, middle: string, right: string) =>
    `${left}${widths.map(width => '─'.repeat(width + 2)).join(middle)}${right}\n`;
  const between = rule('├', '┼', '┤');
  return rule('╭', '┬', '╮') + [HEADINGS, ...rows].map(line).join(between) + rule('╰', '┴', '╯');
}
