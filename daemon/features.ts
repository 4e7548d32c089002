// Loads the features that no first request needs (kill switch, apps, updates, doctor) on first use.

import { existsSync } from 'node:fs';
import type { RuleRecord } from './api/schema/traffic/networks.ts';
import { createApps } from './apps/apps.ts';
import { createChanges } from './changes/changes.ts';
import type { FeatureContext, Features } from './controls.ts';
import { createDoctor } from './doctor/doctor.ts';
import { createHistory } from './history/history.ts';
import { createMetrics } from './metrics/metrics.ts';
import { INSTALL_FORMAT } from './system/build-info.ts';
import { keepTrustLists } from './trust/keep-lists.ts';

/** The check at start comes later still; before it, only a user's installation may have something to complete. */
const UPDATES_AFTER_MS = 90_000;

/** @param openStreams event streams that are open now */
export function createFeatures(context: FeatureContext, openStreams: () => number): Features {
  const killSwitch = once(async () => {
    const { createKillSwitch } = await import('./killswitch/client/client.ts');
    return createKillSwitch(context, { signedIn: signIn => history.signedIn(signIn) });
  });
  const changes = createChanges(context, { routes: () => routes.get(), killSwitch: killSwitch.get });
  const routes = once(async () => (await import('./routes/routes-service.ts')).createRoutes(context, changes));
  const parts = {
    changes,
    routes: routes.get,
    killSwitch: killSwitch.get,
    ruled: (effect: RuleRecord) => history.ruled(effect),
  };
  const networks = once(async () => (await import('./networks/networks.ts')).createNetworks(context, parts));
  const settingsFile = once(async () =>
    (await import('./settings-file/settings-file.ts')).createSettingsFile(context, changes, routes.get),
  );
  const toolAccounts = once(async () => (await import('./tool-accounts/tool-accounts.ts')).createToolAccounts(context));
  const toolOffer = once(async () => (await import('./tool-accounts/offer.ts')).createToolOffer(context));
  const apps = createApps(context);
  const doctor = createDoctor(context);
  const history = createHistory(context);
  const trustLists = keepTrustLists(context);
  const trust = once(async () =>
    (await import('./trust/trust-service.ts')).createTrustService(context, trustLists.refresh),
  );
  const metrics = createMetrics(context, openStreams);
  const updates = once(async () => (await import('./update/update.ts')).createUpdates(context));
  let later: NodeJS.Timeout | undefined;
  // a package may have replaced the program's files, which must not end the daemon
  const begin = (name: string, load: () => Promise<{ start(): void }>) =>
    void load()
      .then(loaded => loaded.start())
      .catch((error: Error) =>
        context.say(`The part for the ${name} could not be loaded: ${error.message}. Restart Culvert.`),
      );
  return {
    changes,
    metrics,
    routes: routes.get,
    networks: networks.get,
    settingsFile: settingsFile.get,
    trust: trust.get,
    toolAccounts: toolAccounts.get,
    offerToolAccounts: () => void toolOffer.loaded().then(offer => offer?.refresh()),
    killSwitch: killSwitch.get,
    apps: async () => apps,
    doctor: async () => doctor,
    history: async () => history,
    updates: updates.get,
    start() {
      begin('kill switch', killSwitch.get);
      begin('tool accounts', toolOffer.get);
      const { networks: rules, networksState } = context.paths;
      if (existsSync(rules) || existsSync(networksState)) begin('networks', networks.get);
      changes.start();
      apps.start();
      doctor.start();
      history.start();
      trustLists.start();
      later = setTimeout(() => begin('updates', updates.get), INSTALL_FORMAT === 'user' ? 0 : UPDATES_AFTER_MS);
      later.unref();
    },
    async stop() {
      clearTimeout(later);
      metrics.stop();
      await Promise.all([
        (await killSwitch.loaded())?.stop(),
        changes.stop(),
        apps.stop(),
        doctor.stop(),
        (await toolAccounts.loaded())?.stop(),
        (await networks.loaded())?.stop(),
        history.stop(),
        trustLists.stop(),
        (await trust.loaded())?.stop(),
        (await updates.loaded())?.stop(),
      ]);
    },
  };
}

function once<T>(load: () => Promise<T>) {
  let loading: Promise<T> | undefined;
  return {
    get: () => (loading ??= load()),
    loaded: () => Promise.resolve(loading).catch(() => undefined),
  };
}
