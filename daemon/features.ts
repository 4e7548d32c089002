// Opens the features of the daemon, starts them and stops them.
import { openApps } from './apps/index.ts';
import { openChanges } from './changes/index.ts';
import type { ChangesControl, FeatureContext } from './controls.ts';
import { openDoctor } from './doctor/index.ts';
import type { Feature, FeatureName, HandlersOf, LinesOf } from './feature.ts';
import { openHistory } from './history/index.ts';
import { openKillSwitch } from './killswitch/client/index.ts';
import { type MetricsFeature, openMetrics } from './metrics/index.ts';
import { openNetworks } from './networks/index.ts';
import { openRoutes } from './routes/index.ts';
import { openSettingsFile } from './settings-file/index.ts';
import type { CommandLog } from './state/store.ts';
import { openToolAccounts, type ToolAccountsFeature } from './tool-accounts/index.ts';
import { openTrust } from './trust/index.ts';
import { openUpdates } from './update/index.ts';

/** Controls of all features for the listeners and the daemon's start. */
export interface Features {
  /** Functions that answer the requests of the features. */
  handlers: HandlersOf<LinesOf<FeatureName>>;
  changes: Pick<ChangesControl, 'runWithLimit' | 'revertUnconfirmed'>;
  metrics: Pick<MetricsFeature, 'count'>;
  toolAccounts: Pick<ToolAccountsFeature, 'offer' | 'follow'>;
  /** Starts the features that run without a request. */
  start(): void;
  stop(): Promise<void>;
}

/** @param openStreams returns the number of open event streams */
export function createFeatures(context: FeatureContext, log: CommandLog, openStreams: () => number): Features {
  const history = openHistory(context);
  const killSwitch = openKillSwitch(context);
  const changes = openChanges(context, {
    routes: () => routes.control(),
    killSwitch: killSwitch.control,
    reverted: history.reverted,
  });
  const routes = openRoutes(context, changes);
  const ports = { changes, routes: routes.control, killSwitch: killSwitch.control, history };
  // in the order of their start and stop
  const features = {
    metrics: openMetrics(context, openStreams),
    killswitch: killSwitch,
    accounts: openToolAccounts(context),
    networks: openNetworks(context, ports),
    changes,
    apps: openApps(context),
    doctor: openDoctor(context, { log, history }),
    history,
    trust: openTrust(context),
    update: openUpdates(context),
    routes,
    settings: openSettingsFile(context, ports),
  } satisfies { [N in FeatureName]: Feature<N> };
  const all: Feature<never>[] = Object.values(features);
  return {
    handlers: Object.assign({}, ...all.map(({ handlers }) => handlers)),
    changes,
    metrics: features.metrics,
    toolAccounts: features.accounts,
    start() {
      for (const feature of all) feature.start?.();
    },
    async stop() {
      await Promise.all(all.map(feature => feature.stop?.()));
    },
  };
}
