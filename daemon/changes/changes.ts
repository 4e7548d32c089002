// Lazy facade of changes that are taken back by themselves: loads the rest when such a change is made, or was left over.
import { existsSync } from 'node:fs';
import type { Subject } from '../api/schema/changes.ts';
import type { ChangesControl, FeatureContext, KillSwitchControl, RoutesControl } from '../controls.ts';
import { Problem } from '../problem.ts';
import type { ChangeService } from './change-service.ts';
import { followReminder } from './reminder.ts';

export function createChanges(
  context: FeatureContext,
  {
    routes,
    killSwitch,
  }: { routes(): Promise<RoutesControl>; killSwitch(): Promise<Pick<KillSwitchControl, 'decide'>> },
): ChangesControl {
  const { state, tunnel, paths, say } = context;
  let loading: Promise<ChangeService> | undefined;
  let endReminder = () => {};
  const open = async () => (await import('./change-service.ts')).createChangeService({ context, routes });
  const load = () => {
    loading ??= open().catch(error => {
      loading = undefined;
      throw error;
    });
    return loading;
  };
  /** Read, unless it is known that there is none. */
  const isNeeded = () => loading !== undefined || existsSync(paths.changes);
  const left = () => ({ ok: true as const, changes: state.snapshot().changes });

  return {
    start() {
      endReminder = followReminder(context);
      if (!isNeeded()) return;
      load().catch((error: Error) => say(`Changes could not be taken back: ${error.message}. Restart Culvert.`));
    },
    async stop() {
      endReminder();
      (await loading?.catch(() => undefined))?.stop();
    },
    async revertUnconfirmed(limitMs) {
      if (!loading) return;
      let limit: NodeJS.Timeout | undefined;
      const expired = new Promise<void>(resolve => {
        limit = setTimeout(resolve, limitMs);
      });
      await Promise.race([loading.then(service => service.revertUnconfirmed()).catch(() => {}), expired]);
      clearTimeout(limit);
    },
    async perform(request) {
      const limited = request.confirmWithin !== undefined || request.forSeconds !== undefined;
      return limited || isNeeded() ? (await load()).perform(request) : tunnel.perform(request);
    },
    make: async (subject, making, work) => (await load()).make(subject, making, work),
    confirm: ({ subject }) => decide('confirm', subject),
    revert: ({ subject }) => decide('revert', subject),
    async extend({ subject, seconds }) {
      if (subject === 'killSwitch')
        throw new Problem('nothing-pending', 'A change of the kill switch has no end that could be put off.');
      (await load()).extend(subject, seconds);
      return left();
    },
  };

  /** Without a subject: all changes, those of the root service as well. */
  async function decide(what: 'confirm' | 'revert', subject: Subject | undefined) {
    const { changes } = state.snapshot();
    const isOfKillSwitch =
      subject === 'killSwitch' || (!subject && changes.some(change => change.subject === 'killSwitch'));
    if (isOfKillSwitch) await (await killSwitch()).decide(what);
    const isOnlyThat =
      isOfKillSwitch &&
      !changes.some(change => change.subject !== 'killSwitch' && (what === 'revert' || change.confirmBy));
    if (subject !== 'killSwitch' && !isOnlyThat) await (await load())[what](subject);
    return left();
  }
}
