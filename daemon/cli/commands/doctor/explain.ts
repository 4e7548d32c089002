// `culvert explain`: what a code or a reason of the tunnel client means, its causes, and what to try; without a network.
import { type Code, explain, knowledgeDirectories, loadKnowledge, sourceLink } from '../../../doctor/knowledge.ts';
import { dataDirectory } from '../../../system/install-paths.ts';
import { printable } from '../../../system/printable.ts';
import type { Style } from '../../../system/terminal.ts';
import { type Context, type Run, show } from '../../context.ts';
import { EXIT, Failure } from '../../errors.ts';
import { columns } from '../../terminal/columns.ts';

export const explainCode: Run = async (context, words) => {
  const { codes, problems } = loadKnowledge(
    knowledgeDirectories(`${dataDirectory}/knowledge`, context.paths.userConfig),
  );
  for (const problem of problems) context.say(problem);
  if (codes.length === 0) throw new Failure('The file with the codes is missing. Install Culvert again.');
  if (words.length === 0) {
    show(context, { codes }, () =>
      columns(
        codes.map(({ code, title }) => [code, title]),
        text => text,
        context.width,
      ),
    );
    return EXIT.ok;
  }
  const explanations = explain(codes, words.join(' '));
  if (explanations.length === 0)
    throw new Failure(`"${words.join(' ')}" is not known.`, { hint: 'List all codes with: culvert explain' });
  show(context, { codes: explanations }, () => describeAll(explanations, context));
  return EXIT.ok;
};

/** A few in full; of many, only the names. */
function describeAll(codes: readonly Code[], { style }: Context): string {
  if (codes.length <= 3) return codes.map(code => describe(code, style)).join('\n\n');
  return codes.map(({ code, title }) => `${style.bold(printable(code))}: ${printable(title)}`).join('\n');
}

function describe({ code, also, title, meaning, causes, try: steps, check, source }: Code, style: Style): string {
  const list = (head: string, lines: readonly string[], mark: (at: number) => string) =>
    lines.length > 0 ? [head, ...lines.map((line, at) => `  ${mark(at)} ${printable(line)}`)] : [];
  const link = sourceLink(source);
  return [
    `${style.bold(printable(code))}: ${printable(title)}`,
    ...(also.length > 0 ? [style.dim(`Also shown as: ${also.map(printable).join(', ')}`)] : []),
    printable(meaning),
    ...list('Likely causes:', causes, at => `${at + 1}.`),
    ...list('What to try:', steps, at => `${at + 1}.`),
    ...(check && check !== 'none' ? [`How to check: ${printable(check)}`] : []),
    ...(link ? [style.dim(`Source: ${link}`)] : []),
  ].join('\n');
}
