// `culvert why TARGET`: would this go through the tunnel, what decides that, and what does the kernel say?
import type { Why } from '../../../api/schema.ts';
import { printable } from '../../../system/printable.ts';
import { whyText } from '../../../view/routes/why.ts';
import { english } from '../../../view/translator.ts';
import { type Context, type Run, show } from '../../context.ts';
import { EXIT } from '../../errors.ts';

export const why: Run = async (context, [target]) => {
  const answer = await context.client.call('GET /api/why', { query: { target: target! } });
  show(context, answer, found => describe(context, found));
  return EXIT.ok;
};

function describe({ style }: Context, answer: Why): string {
  const { target, addresses, fallback, resolveProblem } = answer;
  const lines: string[] = [];
  if (fallback) {
    const by = fallback.resolvers.length ? fallback.resolvers.join(', ') : "the system's own name servers";
    lines.push(
      `${target.value} is resolved outside the tunnel by ${by}, because ${fallback.domain} is a fallback domain.`,
    );
  }
  if (resolveProblem) lines.push(style.yellow(`${target.value} could not be resolved: ${printable(resolveProblem)}.`));
  for (const address of addresses) {
    const { verdict, because, kernel, advice } = whyText(address, answer, english);
    const paint = address.tunnel === true ? style.green : address.tunnel === false ? style.yellow : style.dim;
    lines.push(
      `${style.bold(address.address)}  ${paint(verdict)}`,
      `  ${because}`,
      style.dim(`  ${printable(kernel)}`),
    );
    if (advice) lines.push(style.red(`  ${advice}`));
  }
  return lines.join('\n');
}
