// Makes one change of a fixed list as root; pkexec or sudo starts it.
import { Failure, reasonWithPath } from '../../core/errors.ts';
import { REPAIR_FAILED } from '../fix-journal.ts';
import { createTools } from '../world/tools.ts';
import { runRepair } from './run.ts';

/** Environment of root's programs, without the caller's variables. */
const ENV = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' };

async function main(): Promise<number> {
  process.umask(0o022);
  process.chdir('/');
  process.env = { ...ENV };
  // complete a change that has begun; Ctrl+C in a terminal ends its programs, and their failure undoes it
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGPIPE'] as const) process.on(signal, () => {});
  if (process.geteuid?.() !== 0) throw new Failure('Only root can do this.');
  const tools = createTools({ env: ENV, signal: new AbortController().signal });
  for (const line of await runRepair(process.argv.slice(2), '/', tools)) console.log(line);
  return 0;
}

main().then(
  code => process.exit(code),
  error => {
    console.error(`culvert-repair: ${reasonWithPath(error)}`);
    process.exit(REPAIR_FAILED);
  },
);
