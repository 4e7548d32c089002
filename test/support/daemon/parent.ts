// A process to be killed: starts one child the way the daemon does (`run` or `watch`) and waits.
import { createLog } from '../../../daemon/state/store.ts';
import { createRunner } from '../../../daemon/warp/cli/run.ts';
import { createWatch } from '../../../daemon/warp/listen/watch.ts';

const [, , victim, file = ''] = process.argv;
const env = { PATH: process.env.PATH };
if (victim === 'run') {
  void createRunner({ env, log: createLog({ capacity: 1 }) }).run({
    file,
    args: [],
    source: 'read',
    timeoutMs: 60_000,
  });
} else {
  const watch = createWatch({
    env,
    onMessage: () => {},
    onIdle: () => {},
    onEnd: () => {},
    poll: () => Promise.resolve(false),
  });
  watch.listen({ file, form: 'json', acceptTerms: false });
}
