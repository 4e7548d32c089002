// `culvert why TARGET`: would this go through the tunnel, what decides that, and what does the kernel say?
import type { Why } from '../../../api/schema.ts';
import { printable } from '../../../system/printable.ts';
import { whyText } from '../../../view/routes/why.ts';
import { english } from '../../../view/translator.ts';
import { type Context, type Run, show } from '../../context.ts';
import { EXIT, usage } from '../../errors.ts';

export const why: Run = async (context, [target]) => {
  if (!target?.trim()) throw usage('The target is empty.', 'Name an address, a host name or a URL.');
  const answer = await context.client.call('POST /api/why', { body: { target } });
  show(context, answer, why => describe(context, why));
  return answer.addresses.length > 0 ? EXIT.ok : EXIT.failure;
};

/** The rule for a name that has no address. */
function ruleOf({ nameEntry, list, target }: Why): string {
  if (!nameEntry) return `No entry of the split tunnel names ${target.value}; its addresses would decide.`;
  const verb = list === 'include' ? 'includes' : 'excludes';
  return `The split tunnel ${verb} ${nameEntry}, whatever its addresses are.`;
}

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
  if (resolveProblem && answer.nameEntry !== undefined) lines.push(ruleOf(answer));
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
