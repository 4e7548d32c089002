// `culvert apps`: apps of this desktop, and starting one through the local proxy.
import { type Run, show } from './context.ts';
import { columns } from './terminal.ts';

export const listApps: Run = async context => {
  show(
    context,
    await context.client.call('GET /api/apps'),
    ({ apps }) => columns(apps.map(({ id, name, packaging }) => [id, name, packaging])) || 'No app was found.',
  );
  return 0;
};

export const launchApp: Run = async (context, [appId], options) => {
  const body = { appId: appId!, ...(options.shortcut ? { shortcut: true } : {}) };
  show(
    context,
    await context.client.call('POST /api/apps/proxy-launcher', { body }),
    ({ pid, proxy, shortcut }) =>
      `Started ${appId}${pid === null ? '' : ` (pid ${pid})`} through ${proxy.host}:${proxy.port}.${shortcut ? ` Shortcut: ${shortcut}` : ''}`,
  );
  return 0;
};
