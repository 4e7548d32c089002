// Sends the user's changes of network rules to the daemon, and edits the rules' document.
import type { Client } from '../../api/client.ts';
import type { NetworkRule } from '../../api/networks.ts';
import type { NetworksChange } from '../form.ts';

/** @throws ApiError, Unreachable */
export async function changeNetworks({ call }: Pick<Client, 'call'>, change: NetworksChange): Promise<void> {
  switch (change.do) {
    case 'answer':
      await call('POST /api/networks/answer', { body: { rule: change.rule, answer: change.answer } });
      return;
    case 'revert':
      await call('POST /api/networks/revert', { body: {} });
      return;
    case 'add':
    case 'remove': {
      const { document, revision } = await call('GET /api/networks');
      const text = change.do === 'add' ? withRule(document, change) : withoutRule(document, change.name);
      await call('POST /api/networks', { body: { document: text, ifRevision: revision } });
      if (change.do !== 'add' || change.allow === undefined) return;
      const answer = change.allow ? 'always' : 'never';
      await call('POST /api/networks/answer', { body: { rule: change.name, answer } });
    }
  }
}

/** A rule to write into a document. */
interface Written {
  name: string;
  /** Lines of the rule's table, without the name. */
  lines: readonly string[];
  /** Name of the rule to replace; null or absent for a new rule. */
  replaces?: string | null;
  /** Name of the rule that follows a new rule; null or absent for the end of the document. */
  before?: string | null;
}

/** Adds a rule to a document, or replaces a rule. */
export function withRule(document: string, { name, lines, replaces = null, before = null }: Written): string {
  const table = `[[network]]\nname = ${quote(name)}\n${lines.join('\n')}\n`;
  const parts = partsOf(document);
  const at = replaces === null ? -1 : parts.findIndex(part => isRule(part, replaces));
  if (at >= 0) return parts.map((part, i) => (i === at ? table + (i < parts.length - 1 ? '\n' : '') : part)).join('');
  const next = before === null ? -1 : parts.findIndex(part => isRule(part, before));
  if (next >= 0) return [...parts.slice(0, next), `${table}\n`, ...parts.slice(next)].join('');
  const start = document === '' || document.endsWith('\n') ? document : `${document}\n`;
  return `${start}${start === '' ? '' : '\n'}${table}`;
}

/** Returns the lines of a rule's table, without the name. */
export function linesOf({ match, effects }: Pick<NetworkRule, 'match' | 'effects'>): string[] {
  const { beacon, bssid, ...plain } = match;
  const { killSwitch, ...values } = effects;
  return [
    ...Object.entries(plain).map(([key, value]) => `${key} = ${quote(value)}`),
    ...(bssid ? [`bssid = [${bssid.map(quote).join(', ')}]`] : []),
    ...(beacon ? [`beacon = {address = ${quote(beacon.address)}, sha256 = ${quote(beacon.sha256)}}`] : []),
    ...Object.entries(values).map(([key, value]) => `${key} = ${quote(value)}`),
    ...(killSwitch ? ['kill_switch = true'] : []),
  ];
}

/** Returns the change that writes a rule as it is, with the user's answer. */
export function ruleChange(rule: NetworkRule) {
  const { name, allowed } = rule;
  return { do: 'add' as const, name, lines: linesOf(rule), ...(allowed !== null && { allow: allowed }) };
}

/** Returns a basic string of TOML, which escapes one more character than JSON. */
function quote(text: string): string {
  return JSON.stringify(text).replaceAll('\u007f', '\\u007f');
}

/** Removes a rule's table with its comments from a document. It does not find names in other TOML forms. */
export function withoutRule(document: string, name: string): string {
  return partsOf(document)
    .filter(part => !isRule(part, name))
    .join('');
}

/** Splits a document into its tables and the text before the first table. */
function partsOf(document: string): string[] {
  return document.split(/^(?=[ \t]*\[\[[ \t]*network[ \t]*\]\])/m);
}

function isRule(part: string, name: string): boolean {
  if (!/^[ \t]*\[\[/.test(part)) return false;
  const [, double, single] = /^[ \t]*name[ \t]*=[ \t]*(?:("(?:[^"\\]|\\.)*")|'([^']*)')/m.exec(part) ?? [];
  return (double === undefined ? single : textOf(double)) === name;
}

function textOf(quoted: string): string | undefined {
  try {
    return String(JSON.parse(quoted));
  } catch {
    return undefined;
  }
}
