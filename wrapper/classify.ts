// What an attempt's end means, decided by the catalog's rules alone: pure, so that recordings can be replayed through it.
import type { Rule } from './catalog.ts';
import { parseDuration } from './duration.ts';

export type FailureClass = 'quota' | 'rate' | 'auth' | 'usage' | 'other';

/** How an upstream process ended. `stdout` and `stderr` may be cut to what was held. */
export interface Outcome {
  exit: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
  /** The subcommand as words: `search`, `r2 bucket list`. */
  command: string;
}

/** `period`: until the quota starts anew; `credential`: until the credential changes. */
export type Rest = { until: 'period' } | { until: 'credential' } | { until: 'elapsed'; ms: number };

export type Verdict =
  | { kind: 'success' }
  | { kind: 'retry'; class: 'quota' | 'rate' | 'auth'; rest: Rest; text: string }
  | { kind: 'final'; class: 'usage' | 'other' };

const DEFAULT_REST: Record<'quota' | 'rate' | 'auth', Rest> = {
  quota: { until: 'period' },
  rate: { until: 'elapsed', ms: 60_000 },
  auth: { until: 'credential' },
};

/**
 * The first rule that matches decides. Without one, exit 0 is success and everything else final.
 * @param rules the provider's rules, in the order of the catalog
 */
export function classify(outcome: Outcome, rules: readonly Rule[]): Verdict {
  const starts: Partial<Record<'stdout' | 'stderr', string[]>> = {};
  for (const rule of rules) {
    const match = matchRule(rule, outcome, stream => (starts[stream] ??= lineStarts(outcome[stream])));
    if (!match) continue;
    if (rule.class === 'usage') return { kind: 'final', class: 'usage' };
    return { kind: 'retry', class: rule.class, rest: restOf(rule, match), text: (match[0] ?? '').slice(0, 200) };
  }
  return outcome.exit === 0 ? { kind: 'success' } : { kind: 'final', class: 'other' };
}

/** Whether `command` is one of `names`, or a subcommand of one (`r2` covers `r2 bucket list`). */
export function isCommandIn(command: string, names: readonly string[]): boolean {
  return names.some(name => command === name || command.startsWith(`${name} `));
}

/** Text without terminal control sequences (ECMA-48 CSI, OSC) and the markers that readline wraps them in. */
export function stripAnsi(text: string): string {
  return text.replace(/\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-Z\\-_]|[\x01\x02]/g, '');
}

function matchRule(
  rule: Rule,
  outcome: Outcome,
  startsOf: (stream: 'stdout' | 'stderr') => string[],
): string[] | undefined {
  if (rule.commands && !isCommandIn(outcome.command, rule.commands)) return undefined;
  if (rule.exit ? !rule.exit.includes(outcome.exit ?? -1) : outcome.exit === 0) return undefined;
  let match: string[] = [''];
  for (const stream of ['stdout', 'stderr'] as const) {
    const source = rule[stream];
    if (source === undefined) continue;
    const found = firstMatch(source, startsOf(stream));
    if (!found) return undefined;
    match = found;
  }
  if (rule.json) {
    const value = at(parseJson(outcome.stdout), rule.json.path);
    const found = value === undefined ? null : new RegExp(rule.json.matches).exec(String(value));
    if (!found) return undefined;
    match = found;
  }
  return match;
}

function restOf(rule: Rule, match: string[] & { groups?: Record<string, string | undefined> }): Rest {
  const seconds = Number(match.groups?.rest);
  if (Number.isFinite(seconds) && seconds > 0) return { until: 'elapsed', ms: seconds * 1_000 };
  if (rule.rest === 'period' || rule.rest === 'credential') return { until: rule.rest };
  if (rule.rest) return { until: 'elapsed', ms: parseDuration(rule.rest) };
  return DEFAULT_REST[rule.class as keyof typeof DEFAULT_REST];
}

/**
 * The text from each line's start on, with white space collapsed: CLIs wrap their messages at the terminal's width, so
 * a phrase may run over lines, while a rule must still be anchored at the start of one.
 */
function lineStarts(text: string): string[] {
  const lines = stripAnsi(text)
    .split(/[\r\n]+/)
    .map(line => line.replace(/\s+/g, ' ').trim())
    .filter(line => line !== '')
    .slice(-200);
  return lines.map((_, index) => lines.slice(index, index + 40).join(' '));
}

function firstMatch(source: string, starts: string[]): RegExpExecArray | undefined {
  const expression = new RegExp(source);
  for (const start of starts) {
    const match = expression.exec(start);
    if (match) return match;
  }
  return undefined;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The value at a dotted path (`data.remainingCredits`, `errors.0.code`), or `undefined`. */
export function at(value: unknown, path: string): unknown {
  let current = value;
  for (const key of path.split('.')) {
    if (typeof current !== 'object' || current === null || !Object.hasOwn(current, key)) return undefined;
    current = (current as Record<string, unknown>)[key];
  }
  return current;
}
