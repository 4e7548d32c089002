// Answers the requests for the networks of this machine and for the rules about them.
import { existsSync } from 'node:fs';
import type { FeatureContext, Ports } from '../controls.ts';
import { begin, type Feature, lazy } from '../feature.ts';
import type { Options } from './networks.ts';

export function openNetworks(context: FeatureContext, ports: Ports, options?: Options): Required<Feature<'networks'>> {
  const { paths, say } = context;
  const parts = { ...ports, ruled: ports.history.ruled };
  const networks = lazy(async () => (await import('./networks.ts')).createNetworks(context, parts, options));
  return {
    handlers: {
      'GET /api/networks': async () => (await networks()).read(),
      'POST /api/networks': async ({ body }) => (await networks()).set(body),
      'POST /api/networks/what-if': async ({ body }) => (await networks()).whatIf(body),
      'POST /api/networks/answer': async ({ body }) => (await networks()).answer(body),
      'POST /api/networks/revert': async () => (await networks()).revert(),
    },
    start() {
      if (existsSync(paths.networks) || existsSync(paths.networksState)) begin('networks', networks, say);
    },
    stop: async () => (await networks.loaded())?.stop(),
  };
}
