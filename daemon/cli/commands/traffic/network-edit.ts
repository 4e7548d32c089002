// `culvert network edit|apply`: change the rules for networks as a document, after showing what they do here.
import type { NetworksRequest } from '../../../api/networks.ts';
import { type Context, type Run, show } from '../../context.ts';
import { editDocument } from '../../edit-document.ts';
import { Failure, usage } from '../../errors.ts';
import { askToKeep, type Keeping, keepingOf, limited } from '../../keep.ts';
import { readDocument } from '../../read-document.ts';
import { confirm, isAttended } from '../../terminal/prompt.ts';
import { invalidText, triedText } from './network.ts';

export const edit: Run = async (context, _, options) => {
  if (!isAttended(context))
    throw usage('An editor needs a terminal.', 'Give the rules as a file instead: culvert network apply FILE');
  const keeping = keepingOf(context, options);
  const { document, revision } = await context.client.call('GET /api/networks');
  return editDocument(context, {
    document,
    file: ['networks', 'toml'],
    command: 'culvert network apply',
    async apply(text) {
      const { invalid, decision, rules } = await context.client.call('POST /api/networks/what-if', {
        body: { document: text },
      });
      for (const each of invalid) context.say(invalidText(each));
      if (invalid.length > 0) return null;
      context.say(`Here: ${triedText(decision, rules)}`);
      if (!(await confirm(context, 'Set these rules?'))) throw new Failure('Nothing was changed.');
      return apply(context, { document: text, ifRevision: revision }, keeping);
    },
  });
};

export const applyFile: Run = async (context, [file], options) =>
  apply(context, { document: await readDocument(context, file) }, keepingOf(context, options));

async function apply(context: Context, request: NetworksRequest, keeping: Keeping): Promise<number> {
  const body = { ...request, ...limited(keeping) };
  const networks = await context.client.call('POST /api/networks', { body });
  if (context.json) show(context, networks, () => '');
  const count = networks.rules.length;
  context.say(count === 1 ? '1 rule is set.' : `${count} rules are set.`);
  if (networks.problem !== null) throw new Failure(networks.problem);
  return askToKeep(context, undefined, keeping);
}
