// Answers requests about changes that revert automatically, and loads their service only when needed.
import { existsSync } from 'node:fs';
import { type ActionName, subjectOf } from '../api/actions.ts';
import type { Subject } from '../api/changes.ts';
import type { ChangesControl, FeatureContext, HistoryControl, KillSwitchControl, RoutesControl } from '../controls.ts';
import { reason } from '../core/errors.ts';
import { type Feature, lazy } from '../feature.ts';
import { Problem } from '../problem.ts';
import { followReminder, readLastPause, rememberPause } from './reminders.ts';

/** True for actions that change the split tunnel lists. */
const changesRoutes = (action: ActionName) => subjectOf(action) === 'routes' || action === 'resetSettings';

export function openChanges(
  context: FeatureContext,
  {
    routes,
    killSwitch,
    reverted,
  }: {
    routes(): Promise<RoutesControl>;
    killSwitch(): Promise<Pick<KillSwitchControl, 'decide'>>;
    reverted?: HistoryControl['reverted'];
  },
): Required<Feature<'changes'>> & ChangesControl {
  const { state, tunnel, paths, say } = context;
  let endReminder = () => {};
  const service = lazy(async () =>
    (await import('./change-service.ts')).createChangeService({ context, routes, reverted }),
  );
  const isNeeded = () => service.wasCalled() || existsSync(paths.changes) || existsSync(paths.brokenChanges);
  const pending = () => ({ ok: true as const, changes: state.snapshot().changes });

  return {
    handlers: {
      'POST /api/changes/confirm': ({ body }) => decide('confirm', body.subject),
      'POST /api/changes/revert': ({ body }) => decide('revert', body.subject),
      async 'POST /api/changes/extend'({ body: { subject, seconds } }) {
        if (subject === 'killSwitch')
          throw new Problem('nothing-pending', 'A change of the kill switch has no end that could be extended.');
        (await service()).extend(subject, seconds);
        return pending();
      },
    },
    start() {
      endReminder = followReminder(context);
      readLastPause(context);
      if (!isNeeded()) return;
      service().catch((error: Error) => say(`Changes could not be reverted: ${reason(error)}. Restart Culvert.`));
    },
    async stop() {
      endReminder();
      (await service.loaded())?.stop();
    },
    async revertUnconfirmed(limitMs) {
      if (!isNeeded()) return; // before `start`, it may be needed for changes of an earlier run
      let limit: NodeJS.Timeout | undefined;
      const expired = new Promise<void>(resolve => {
        limit = setTimeout(resolve, limitMs);
      });
      const reverted = service().then(loaded => loaded.revertUnconfirmed());
      await Promise.race([reverted.catch(() => {}), expired]);
      clearTimeout(limit);
    },
    async runWithLimit({ continues, ...request }, isAutomatic) {
      if (changesRoutes(request.action) && continues !== true) await (await routes()).remember();
      const limited = request.confirmWithin !== undefined || request.forSeconds !== undefined;
      const output = await (limited || isNeeded()
        ? (await service()).runWithLimit(request, isAutomatic)
        : tunnel.runAction(request, isAutomatic));
      rememberPause(request, context);
      return output;
    },
    setRoutes: async change => (await service()).setRoutes(change),
    confirm: ({ subject }) => decide('confirm', subject),
    revert: ({ subject }) => decide('revert', subject),
    checkpoint: async subject => (isNeeded() ? (await service()).checkpoint(subject) : null),
  };

  /** Confirms or reverts a subject's change; without a subject, all changes, including the root service's. */
  async function decide(decision: 'confirm' | 'revert', subject: Subject | undefined) {
    const { changes, lostChanges } = state.snapshot();
    const isForKillSwitch =
      subject === 'killSwitch' || (!subject && changes.some(change => change.subject === 'killSwitch'));
    if (isForKillSwitch) await (await killSwitch()).decide(decision);
    const isForOthers =
      !isForKillSwitch ||
      (decision === 'confirm' && lostChanges !== null) ||
      changes.some(change => change.subject !== 'killSwitch' && (decision === 'revert' || change.confirmBy));
    if (subject !== 'killSwitch' && isForOthers) await (await service())[decision](subject);
    return pending();
  }
}
