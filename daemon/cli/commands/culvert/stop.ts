// `culvert stop`: ends the daemon, once it is sure which process that is, and waits until it is gone.
import { type Run, show } from '../../context.ts';
import { EXIT } from '../../errors.ts';
import { outcomeOf, outcomeText, pendingChanges } from '../../pending.ts';
import { endBySignal, identify } from './daemon-process.ts';

export const stop: Run = async context => {
  const daemon = await identify(context);
  const before = await pendingChanges(context.env);
  await endBySignal(daemon, 'SIGTERM', { command: 'culvert stop', aborted: context.signal });
  const outcome = await outcomeOf(before, context.env);
  show(context, { ok: true, pid: daemon.pid, ...outcome }, ({ pid }) => `Stopped the daemon (pid ${pid}).`);
  for (const line of outcomeText(outcome)) context.say(line);
  return EXIT.ok;
};
