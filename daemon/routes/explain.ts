// Answers `POST /api/why`: forecast and fact for one target.
import type { Snapshot, Why } from '../api/schema.ts';
import { Problem } from '../problem.ts';
import { message, wordMessage } from '../view/message.ts';
import { english } from '../view/translator.ts';
import { addressesOf, isOwn, routeOf } from './kernel.ts';
import { forecast, parseTarget } from './why.ts';

/** Maximum addresses of a host; each costs one process. */
const MAX_ADDRESSES = 8;

/**
 * @param text an address, a host name or a URL
 * @throws Problem invalid-body for any other text
 */
export async function explain(text: string, snapshot: Snapshot, env: NodeJS.ProcessEnv): Promise<Why> {
  const target = parseTarget(text);
  if (!target)
    throw new Problem('invalid-body', message('The target is not an address, a host name or a URL.'), {
      hint: 'Ask for something like 192.0.2.1, 2001:db8::1, www.example.com or https://www.example.com/.',
    });
  const { addresses, problem } =
    target.kind === 'ip' ? { addresses: [target.value], problem: null } : await addressesOf(target.value);
  const answers = await Promise.all(
    addresses
      .slice(0, MAX_ADDRESSES)
      .map(async address => ({ address, own: isOwn(address), kernel: await routeOf(address, env) })),
  );
  const why = forecast(target, answers, snapshot);
  if (!problem) return { ok: true, ...why, resolveProblem: null };
  return { ok: true, ...why, resolveProblem: wordMessage(problem, english), wording: [problem] };
}
