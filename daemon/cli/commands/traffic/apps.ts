// `culvert apps`: apps of this desktop, starting one through the local proxy, and their shortcuts.
import { ApiError, Unreachable } from '../../../api/client.ts';
import type { App, LaunchRequest, LaunchResponse } from '../../../api/schema.ts';
import { columns } from '../../columns.ts';
import { type Context, type Run, show } from '../../context.ts';
import { EXIT, Failure, toExitReport, usage } from '../../errors.ts';
import { announce } from '../../notify-desktop.ts';
import { createProgress, type Progress } from '../../progress.ts';

export const listApps: Run = async context => {
  const { bold, cyan, dim } = context.style;
  show(context, await context.client.call('GET /api/apps'), ({ apps }) => {
    const rows = apps.map(({ id, name, method, note, shortcut }) => [
      id,
      name,
      `${METHODS[method]}${shortcut ? ', shortcut' : ''}`,
      note ?? '',
    ]);
    if (rows.length === 0) return 'No app was found.';
    const paint = [bold, (text: string) => text, cyan, dim];
    return columns([['ID', 'NAME', 'PROXY', ''], ...rows], (text, column) => paint[column]!(text));
  });
  return EXIT.ok;
};

const METHODS: Record<App['method'], string> = {
  arguments: 'own profile',
  profile: 'own profile',
  environment: 'variables',
  proxychains: 'proxychains4',
  none: 'no way known',
};

/** Runs when a shortcut is used: also starts the daemon and the proxy, and notifies the desktop without a terminal. */
export const launchApp: Run = async (context, [appId], options) => {
  const body: LaunchRequest = {
    appId: appId!,
    ...(options.shortcut ? { shortcut: true } : {}),
    ...(options.verify ? { verify: true } : {}),
  };
  const progress = createProgress(context);
  try {
    const launched = await launch(context, body, progress);
    progress.end();
    show(context, launched, ({ pid, proxy, shortcut }) => {
      const line = `Started ${appId}${pid === null ? '' : ` (pid ${pid})`} through ${proxy.host}:${proxy.port}.`;
      return options.shortcut && shortcut ? `${line} Shortcut: ${shortcut}` : line;
    });
    return EXIT.ok;
  } catch (error) {
    progress.end();
    const { report } = toExitReport(error);
    await announce(context, `${appId} was not started`, [report.detail, report.hint].filter(Boolean).join('\n'));
    throw error;
  } finally {
    progress.end();
  }
};

async function launch(
  context: Context,
  body: LaunchRequest,
  progress: Progress,
  started = false,
): Promise<LaunchResponse> {
  const { client } = context;
  const attempt = () => client.call('POST /api/apps/proxy-launcher', { body });
  const wait = async (what: string) => {
    progress.step(what);
    await announce(context, `Starting ${body.appId}`, what);
  };
  try {
    return await attempt();
  } catch (error) {
    if (error instanceof Unreachable && !started) {
      await wait('Starting the Culvert daemon.');
      const { startDaemon } = await import('../../start-daemon.ts');
      await startDaemon(context);
      return launch(context, body, progress, true);
    }
    if (!(error instanceof ApiError) || error.problem.code !== 'proxy-not-enabled') throw error;
  }
  await wait('Switching the local proxy on, and waiting until it answers.');
  await client.call('POST /api/action', { body: { action: 'enableLocalProxy' } });
  progress.step(`Starting ${body.appId}.`);
  return attempt();
}

export const shortcutApp: Run = async (context, [appId], options) => {
  if (options.removeAll) return removeAll(context, appId);
  if (appId === undefined) throw usage('Name the app whose shortcut is meant.', 'See: culvert apps list');
  const response = await context.client.call('POST /api/apps/shortcut', { body: { appId, present: !options.remove } });
  show(context, response, ({ shortcut }) => shortcut ?? `The shortcut of ${appId} is gone.`);
  return EXIT.ok;
};

/** Without the daemon: an uninstallation has stopped it. */
async function removeAll(context: Context, appId: string | undefined): Promise<number> {
  if (appId !== undefined) throw usage('--remove-all takes no app.');
  const [{ removeAllShortcuts }, { userData }] = await Promise.all([
    import('../../../apps/shortcuts.ts'),
    import('../../../apps/data-home.ts'),
  ]);
  const dataHome = userData(context.env);
  if (!dataHome) throw new Failure('Neither XDG_DATA_HOME nor HOME is set, so there is no place for shortcuts.');
  const removed = removeAllShortcuts(dataHome);
  show(context, { ok: true, removed }, () =>
    removed.length > 0 ? `Removed:\n${removed.join('\n')}` : 'There are no shortcuts.',
  );
  return EXIT.ok;
}
