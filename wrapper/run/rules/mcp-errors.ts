// Says what an answer of an MCP server means for the account. Pure.
import type { McpServer } from '../../catalog/provider.ts';
import { at, leftIn, pauseOf, type Verdict } from './classify.ts';
import { isForeignText } from './foreign.ts';
import { inBody } from './http-errors.ts';
import { type Message, type Said, saidIn } from './mcp-messages.ts';
import { firstToCome, readMoment } from './moments.ts';
import { causeOfFailure } from './refusal-causes.ts';
import { USER_PATTERN_MS, withTimeLimit } from './regex-limit.ts';

type Rule = McpServer['rules'][number];
type Retry = Verdict & { kind: 'retry' };

/** Length of a text's start that is read. What follows may quote a page. */
const START = 4_000;

/**
 * The verdict about the answer to a call, or `undefined` where it says nothing about the account. Rules about structured fields come
 * before those about words. A result without `isError` is read only where the catalog says that the server omits it.
 */
export function verdictOf(
  { failure, result }: Pick<Message, 'failure' | 'result'>,
  { rules }: Pick<McpServer, 'rules'>,
  now = Date.now(),
): Retry | undefined {
  const own = failure ? rules : rules.filter(({ unflagged }) => unflagged);
  const words = failure ?? (own.length > 0 && result ? saidIn(result) : undefined);
  // without `isError`, a long text is content
  if (!words || (!failure && words.text.length > START)) return undefined;
  const ordered = [...own.filter(({ json }) => json), ...own.filter(({ json }) => !json)];
  return withTimeLimit(
    USER_PATTERN_MS,
    () => {
      for (const rule of ordered) {
        const match = matchOf(rule, words);
        if (!match) continue;
        const start = words.text.slice(0, START);
        // a page in between, the network or a missing right says nothing about the account
        const isOther = isForeignText(start) || causeOfFailure(rule.class, words.fields, start) !== undefined;
        return isOther ? undefined : verdictBy(rule, match, words, now);
      }
      return undefined;
    },
    undefined,
  );
}

function matchOf({ json, text }: Rule, words: Said): RegExpExecArray | null {
  const paths = json ? [json.path].flat() : [];
  const found = paths.map(path => at(words.fields, path)).filter(value => /^(?:string|number)$/.test(typeof value));
  const ofFields = json && found.map(value => new RegExp(json.matches).exec(String(value))).find(match => match);
  if (json && !ofFields) return null;
  return text === undefined ? (ofFields ?? null) : new RegExp(text).exec(words.text.slice(0, START));
}

function verdictBy(rule: Rule, match: RegExpExecArray, { text, fields }: Said, now: number): Retry {
  const { class: kind, scope } = rule;
  const start = text.slice(0, START);
  const left = kind === 'quota' ? leftIn(start) : {};
  const named = { kind: 'retry', class: kind, text: match[0].slice(0, 200), scope, ...left } as const;
  const stated = firstToCome([readMoment(match.groups?.rest), ...inBody(start, fields)], now);
  return { ...named, ...pauseOf(rule, kind, stated) };
}
