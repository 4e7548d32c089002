// Sends changes of the rules for networks, as changes of their document.
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
      if (change.do === 'add' && change.allow)
        await call('POST /api/networks/answer', { body: { rule: change.name, answer: 'always' } });
    }
  }
}

/** A rule for a document, without the text around it. */
interface Written {
  name: string;
  /** Lines of its table, without the name. */
  lines: readonly string[];
  /** Name of the rule that it replaces; null or absent for a new rule. */
  replaces?: string | null;
}

/** A document with a rule added or replaced. */
export function withRule(document: string, { name, lines, replaces = null }: Written): string {
  const table = `[[network]]\nname = ${quote(name)}\n${lines.join('\n')}\n`;
  const parts = partsOf(document);
  const at = replaces === null ? -1 : parts.findIndex(part => isRule(part, replaces));
  if (at >= 0) return parts.map((part, i) => (i === at ? table + (i < parts.length - 1 ? '\n' : '') : part)).join('');
  const start = document === '' || document.endsWith('\n') ? document : `${document}\n`;
  return `${start}${start === '' ? '' : '\n'}${table}`;
}

/** The lines of a rule's table, without its name. */
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

/** A basic string of TOML, which escapes one character more than JSON does. */
function quote(text: string): string {
  return JSON.stringify(text).replaceAll('\u007f', '\\u007f');
}

/** A document without a rule: its table goes with the comments in it. A name that is written otherwise stays. */
export function withoutRule(document: string, name: string): string {
  return partsOf(document)
    .filter(part => !isRule(part, name))
    .join('');
}

/** The tables of a document, and the text before the first one. */
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
