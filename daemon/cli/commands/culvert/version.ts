// `culvert version`: what is installed, and what runs.

import { Unreachable } from '../../../api/client.ts';
import type { Version } from '../../../api/schema.ts';
import { VERSION } from '../../../system/build-info.ts';
import { type Run, show } from '../../context.ts';

export const version: Run = async context => {
  const daemon = await context.client.call('GET /api/version').catch(error => {
    if (error instanceof Unreachable) return null;
    throw error;
  });
  show(context, { ok: true, version: VERSION, node: process.versions.node, daemon }, ({ daemon }) =>
    [
      `culvert ${VERSION} (Node ${process.versions.node})`,
      daemon ? describe(daemon) : 'The Culvert daemon is not running.',
    ].join('\n'),
  );
  return 0;
};

function describe({ version, commit, installFormat, tunnelCli, apiVersion }: Version): string {
  const build = [installFormat, commit].filter(Boolean).join(', ');
  return `daemon ${version} (${build}), API ${apiVersion}, tunnel CLI ${tunnelCli.version ?? 'not known'}`;
}
