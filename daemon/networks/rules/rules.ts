// Parses the TOML document of network rules, with one `[[network]]` table per rule. Pure.
import { parse, TomlError } from 'smol-toml';
import * as z from 'zod/mini';
import { type InvalidRule, NetworkEffects, NetworkMatch, type NetworkRule } from '../../api/networks.ts';
import type { Message } from '../../api/values.ts';
import { reason } from '../../core/errors.ts';
import { sha256 } from '../../core/hash.ts';
import { message, quoted, wordMessage } from '../../view/message.ts';
import { english } from '../../view/translator.ts';

/** A rule as written, without the user's answers about it. */
export type Rule = Pick<NetworkRule, 'name' | 'match' | 'effects'>;

const MAX_RULES = 100;
const KILL_SWITCH = 'kill_switch';
const Name = z.string().check(z.minLength(1), z.maxLength(64));
const Lowered = z.catch(
  z.pipe(
    z.string(),
    z.transform(text => text.toLowerCase()),
  ),
  '',
);
const File = z.strictObject({ network: z.optional(z.array(z.record(z.string(), z.unknown()))) });

/** The document in use until the user writes one. */
export const EMPTY_DOCUMENT = `# Rules for networks. See: culvert network --help
#
# [[network]]
# name = "cafes"
# any = "unknown-wifi"
# warp = "connect"
`;

/** Parses a document. `invalid` lists the rules with errors. */
export function parseRules(toml: string): { rules: Rule[]; invalid: InvalidRule[] } {
  let tables: Record<string, unknown>[];
  try {
    const file = z.safeParse(File, parse(toml));
    if (!file.success)
      return { rules: [], invalid: [invalidAt(null, message('Only tables [[network]] are allowed.'))] };
    tables = file.data.network ?? [];
  } catch (error) {
    const line = error instanceof TomlError ? error.line : null;
    return { rules: [], invalid: [invalidAt(line, quoted(reason(error).split('\n')[0]!))] };
  }
  if (tables.length > MAX_RULES)
    return { rules: [], invalid: [invalidAt(null, message('At most %d rules are allowed.', MAX_RULES))] };
  const lines = toml.split('\n').flatMap((text, at) => (/^\s*\[\[\s*network\s*\]\]/.test(text) ? [at + 1] : []));
  const rules: Rule[] = [];
  const invalid: InvalidRule[] = [];
  for (const [at, table] of tables.entries()) {
    const rule = ruleOf(table);
    if ('text' in rule) invalid.push(invalidAt(lines[at] ?? null, rule));
    else if (rules.some(({ name }) => name === rule.name))
      invalid.push(invalidAt(lines[at] ?? null, message('Another rule has the name %s.', rule.name)));
    else rules.push(rule);
  }
  return { rules, invalid };
}

function invalidAt(line: number | null, why: Message): InvalidRule {
  return { line, reason: wordMessage(why, english), message: why };
}

/** Returns the rule of a table, or a message about its error. */
function ruleOf(table: Record<string, unknown>): Rule | Message {
  const match: Record<string, unknown> = {};
  const effects: Record<string, unknown> = {};
  let name: unknown = null;
  for (const [key, value] of Object.entries(table)) {
    if (key === 'name') name = value;
    else if (key === 'bssid') match.bssid = [value].flat().map(lowered);
    else if (key === 'gateway') match.gateway = lowered(value);
    else if (key === 'beacon') match.beacon = beaconOf(value);
    else if (Object.hasOwn(NetworkMatch.shape, key)) match[key] = value;
    else if (key === KILL_SWITCH) effects.killSwitch = value;
    else if (key !== 'killSwitch' && Object.hasOwn(NetworkEffects.shape, key)) effects[key] = value;
    else return message('%s is not a key of a rule.', key);
  }
  if (!z.safeParse(Name, name).success) return message('A rule needs a name of at most %d characters.', 64);
  for (const [schema, values] of [
    [NetworkMatch, match],
    [NetworkEffects, effects],
  ] as const) {
    const { error } = z.safeParse(schema as z.ZodMiniType, values);
    const key = String(error?.issues[0]?.path[0] ?? '');
    if (key === 'killSwitch')
      return message('%s can only be true: a rule never turns the kill switch off.', KILL_SWITCH);
    if (error) return message('The value of %s is not valid.', key);
  }
  if (Object.keys(match).length === 0) return message('A rule needs a network to be for, such as %s.', 'ssid = "Home"');
  if (Object.keys(effects).length === 0)
    return message('A rule needs something that holds, such as %s.', 'warp = "connect"');
  return { name: name as string, match: match as NetworkMatch, effects: effects as NetworkEffects };
}

const lowered = (value: unknown) => z.parse(Lowered, value);

const BeaconTable = z.strictObject({ address: z.string(), sha256: z.string() });

/** Reads `{address = "…", sha256 = "AA:BB…"}`, with the digest as openssl(1) prints it or without colons. */
function beaconOf(value: unknown): unknown {
  const { success, data } = z.safeParse(BeaconTable, value);
  return success ? { address: data.address, sha256: lowered(data.sha256).replaceAll(':', '') } : null;
}

/** Returns a key of a rule's content. An answer holds only for the same content. */
export function keyOf({ match, effects }: Rule): string {
  return sha256(JSON.stringify([match, effects])).slice(0, 32);
}

/** Returns a hash that identifies a document. */
export function revisionOf(document: string): string {
  return sha256(document).slice(0, 16);
}
