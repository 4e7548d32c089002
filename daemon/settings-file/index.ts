// Answers the API requests that export, compare, apply and undo files of settings.
import type { FeatureContext, Ports } from '../controls.ts';
import { type Feature, lazy } from '../feature.ts';

export function openSettingsFile(
  context: FeatureContext,
  { changes, routes }: Pick<Ports, 'changes' | 'routes'>,
): Feature<'settings'> {
  const file = lazy(async () => (await import('./settings-file.ts')).createSettingsFile(context, changes, routes));
  return {
    handlers: {
      'GET /api/settings/export': async () => (await file()).export(),
      'POST /api/settings/diff': async ({ body }) => (await file()).diff(body.toml),
      'POST /api/settings/apply': async ({ body }) => (await file()).apply(body),
      'POST /api/settings/undo': async ({ body }) => (await file()).undo(body.confirmWithin),
    },
  };
}
