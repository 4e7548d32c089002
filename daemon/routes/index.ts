// Answers the API requests about the split tunnel's document.
import type { ChangesControl, FeatureContext, RoutesControl } from '../controls.ts';
import { type Feature, type Lazy, lazy } from '../feature.ts';

/** @returns the feature, and the control of the routes for other features */
export function openRoutes(
  context: FeatureContext,
  changes: Pick<ChangesControl, 'setRoutes'>,
): Feature<'routes'> & { control: Lazy<RoutesControl> } {
  const routes = lazy(async () => (await import('./routes-service.ts')).createRoutes(context, changes));
  return {
    control: routes,
    handlers: {
      'GET /api/routes': async () => (await routes()).read(),
      'POST /api/routes/preview': async ({ body }) => (await routes()).preview(body),
      'POST /api/routes': async ({ body }) => (await routes()).apply(body),
      'POST /api/routes/undo': async ({ body }) => (await routes()).undo(body),
      'GET /api/routes/history': async ({ query }) =>
        (await routes()).history(query?.id === undefined ? undefined : Number(query.id)),
      'GET /api/routes/presets': async () => (await routes()).presets(),
    },
  };
}
