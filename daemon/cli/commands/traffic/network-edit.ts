// `culvert network edit|apply`: change the rules for networks as a document, after showing what they do here.
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { NetworksRequest } from '../../../api/schema/traffic/networks.ts';
import { type Context, type Run, show } from '../../context.ts';
import { edited } from '../../edit-document.ts';
import { EXIT, Failure, usage } from '../../errors.ts';
import { askToKeep, type Keeping, keepingOf, limited } from '../../keep.ts';
import { readDocument } from '../../read-document.ts';
import { confirm, isAttended } from '../../terminal/prompt.ts';
import { triedText } from './network.ts';

export const edit: Run = async (context, _, options) => {
  if (!isAttended(context))
    throw usage('An editor needs a terminal.', 'Give the rules as a file instead: culvert network apply FILE');
  const keeping = keepingOf(context, options);
  const { document, revision } = await context.client.call('GET /api/networks');
  mkdirSync(context.paths.runtime, { recursive: true, mode: 0o700 });
  const file = join(context.paths.runtime, `networks-${process.pid}.toml`);
  let text = document;
  try {
    for (;;) {
      text = await edited(context, file, text);
      if (text === document) {
        context.say('Nothing was changed.');
        return EXIT.ok;
      }
      const tried = await context.client.call('POST /api/networks/what-if', { body: { document: text } });
      for (const { line, reason } of tried.invalid) context.say(`${line === null ? '' : `Line ${line}: `}${reason}`);
      if (tried.invalid.length === 0) {
        context.say(`Here: ${triedText(tried.decision, tried.rules)}`);
        if (!(await confirm(context, 'Set these rules?'))) throw new Failure('Nothing was changed.');
        return await apply(context, { document: text, ifRevision: revision }, keeping);
      }
      if (!(await confirm(context, 'Edit them again?'))) throw new Failure('Nothing was changed.');
    }
  } finally {
    rmSync(file, { force: true });
  }
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
