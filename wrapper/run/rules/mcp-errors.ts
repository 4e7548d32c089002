// Says what the text of an error of an MCP server means for the account. Pure.
import type { McpServer } from '../../catalog/provider.ts';
import { cooldownOf, leftIn, type Verdict } from './classify.ts';
import { USER_PATTERN_MS, withTimeLimit } from './regex-limit.ts';

/**
 * The verdict about the text of an error, or `undefined` where it says nothing about the account.
 * A pattern is tried at the start of the text only: what follows may quote a page.
 */
export function verdictOf(
  text: string,
  { rules }: Pick<McpServer, 'rules'>,
): (Verdict & { kind: 'retry' }) | undefined {
  const start = text.slice(0, 4_000);
  return withTimeLimit(
    USER_PATTERN_MS,
    () => {
      for (const rule of rules) {
        const match = new RegExp(rule.text).exec(start);
        if (!match) continue;
        const text = match[0].slice(0, 200);
        const rest = cooldownOf(rule, rule.class, match, '');
        const left = rule.class === 'quota' ? leftIn(start) : {};
        return { kind: 'retry', class: rule.class, ...rest, text, scope: rule.scope, ...left };
      }
      return undefined;
    },
    undefined,
  );
}
