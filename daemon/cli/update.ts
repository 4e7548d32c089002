// `culvert update check`: whether a newer release exists.
import { type Run, show } from './context.ts';
import { EXIT } from './exit.ts';

export const checkUpdate: Run = async context => {
  const found = await context.client.call('GET /api/update/check');
  show(context, found, ({ current, latest, updateAvailable, problem }) => {
    if (problem) return `Culvert ${current}; no answer about newer ones: ${problem.detail}`;
    return updateAvailable ? `Culvert ${latest} is out; this is ${current}.` : `Culvert ${current} is the newest.`;
  });
  return found.problem ? EXIT.failure : EXIT.ok;
};
