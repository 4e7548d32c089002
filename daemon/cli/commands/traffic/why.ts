// `culvert why TARGET`: does this go through the tunnel, as the kernel says, and what should decide that?
import type { Why } from '../../../api/schema.ts';
import { printable } from '../../../system/printable.ts';
import { nameText, wayOf, whyText } from '../../../view/routes/why.ts';
import { english } from '../../../view/translator.ts';
import { type Context, type Run, show } from '../../context.ts';
import { EXIT, usage } from '../../errors.ts';

export const why: Run = async (context, [target]) => {
  if (!target?.trim()) throw usage('The target is empty.', 'Name an address, a host name or a URL.');
  const answer = await context.client.call('POST /api/why', { body: { target } });
  show(context, answer, why => describe(context, why));
  // an entry that names a host answers as well
  return answer.addresses.length > 0 || answer.nameEntry ? EXIT.ok : EXIT.failure;
};

function describe({ style }: Context, answer: Why): string {
  const { target, addresses, fallback } = answer;
  const lines: string[] = [];
  if (fallback) {
    const by = fallback.resolvers.length ? fallback.resolvers.join(', ') : "the system's own name servers";
    lines.push(
      `${target.value} is resolved outside the tunnel by ${by}, because ${fallback.domain} is a fallback domain.`,
    );
  }
  lines.push(...nameText(answer, english).map(line => style.yellow(printable(line))));
  for (const address of addresses) {
    const { verdict, because, kernel, advice } = whyText(address, answer, english);
    const way = wayOf(address);
    const paint = way === null ? style.dim : way ? style.green : style.yellow;
    lines.push(
      `${style.bold(address.address)}  ${paint(verdict)}`,
      `  ${printable(kernel)}`,
      style.dim(`  ${because}`),
    );
    if (advice) lines.push(style.red(`  ${advice}`));
  }
  return lines.join('\n');
}
