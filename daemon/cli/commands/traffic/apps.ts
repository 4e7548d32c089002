// Runs `culvert apps`, which lists and starts this desktop's apps, and manages their shortcuts.
import { ApiError } from '../../../api/client.ts';
import type { App, LaunchRequest, LaunchResponse, PlacedWay } from '../../../api/schema.ts';
import { modeLabel } from '../../../view/client/labels.ts';
import { wordMessage } from '../../../view/message.ts';
import { appBadge, appDetails, hasShortcut, launchRequest } from '../../../view/states/apps.ts';
import { english } from '../../../view/translator.ts';
import { type Context, type Options, type Run, show } from '../../context.ts';
import { announce, consent, createProgress, type Progress } from '../../dialog.ts';
import { EXIT, Failure, toExitReport, usage } from '../../errors.ts';
import { requestKept } from '../../keep.ts';
import { columns } from '../../layout.ts';
import { consequenceOf, proxyConsequence, setBack } from '../connection/mode.ts';
import { withDaemon } from '../culvert/daemon.ts';

export const listApps: Run = async context => {
  show(context, await context.client.call('GET /api/apps'), ({ apps }) =>
    apps.length === 0
      ? 'No app was found. Apps are found by their desktop entries.'
      : describeApps(apps, context.style, context.width),
  );
  return EXIT.ok;
};

/** Lists apps below sentences about their use of the proxy, starting with the best method. */
function describeApps(apps: readonly App[], { bold, dim }: Context['style'], width: number): string {
  const plain = (text: string) => text;
  const lines = METHODS.flatMap(method => {
    const groups = groupBySentence(apps.filter(app => app.method === method));
    return groups.flatMap(([sentence, members], i) => [
      { cells: [''], paint: [plain] },
      ...(i === 0 ? [{ cells: [appBadge(members[0]!, english)], paint: [bold] }] : []),
      { cells: [sentence], paint: [dim] },
      ...members.map(app => ({ cells: ['', app.id, nameOf(app)], paint: [plain, bold, plain] })),
    ]);
  });
  const [, ...rows] = lines;
  return columns(
    rows.map(({ cells }) => cells),
    (text, column, row) => rows[row]!.paint[column]!(text),
    width,
  );
}

/** Groups apps by sentence; the shortest sentence, without notes on single apps, comes first. */
function groupBySentence(apps: readonly App[]): [sentence: string, apps: App[]][] {
  const groups = new Map<string, App[]>();
  for (const app of apps) {
    const sentence = appDetails({ ...app, packaging: 'native' }, english);
    groups.set(sentence, [...(groups.get(sentence) ?? []), app]);
  }
  return [...groups].sort(([one], [other]) => one.length - other.length);
}

function nameOf(app: App): string {
  const { name, packaging } = app;
  return [name, packaging === 'native' ? '' : packaging, hasShortcut(app) ? 'in the app menu' : '']
    .filter(Boolean)
    .join(', ');
}

const METHODS: readonly App['method'][] = ['arguments', 'profile', 'environment', 'proxychains', 'none'];

/** Starts an app, also for shortcuts: starts daemon and proxy if needed, and without a terminal notifies the desktop. */
export const launchApp: Run = async (context, [appId = ''], options) => {
  const way = placedWay(options);
  if (way && (options.shortcut || options.verify))
    throw usage(`--${way} uses no proxy: it does not go with --shortcut or --verify.`);
  const progress = createProgress(context);
  try {
    if (way) await placeApp(context, appId, way);
    else await launchProxied(context, appId, { options, progress });
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

/** Returns the chosen way; null for the proxy. */
function placedWay({ tunnelOnly, outside }: Options): PlacedWay | null {
  if (tunnelOnly && outside) throw usage('--tunnel-only and --outside do not go together.');
  return tunnelOnly ? 'tunnel-only' : outside ? 'outside' : null;
}

async function placeApp(context: Context, appId: string, way: PlacedWay): Promise<void> {
  const launcher = way === 'outside' ? 'POST /api/apps/outside-launcher' : 'POST /api/apps/tunnel-launcher';
  const started = await withDaemon(context, () => context.client.call(launcher, { body: { appId } }));
  const pid = started.pid === null ? '' : ` (pid ${started.pid})`;
  const how = way === 'outside' ? 'It sends nothing through the tunnel.' : 'It uses the tunnel only.';
  show(context, started, () => `Started ${appId}${pid}. ${how}`);
  for (const limit of started.limits) context.say(wordMessage(limit, english));
}

interface Launching {
  options: Options;
  progress: Progress;
}

async function launchProxied(context: Context, appId: string, launching: Launching): Promise<void> {
  const { options, progress } = launching;
  const body: LaunchRequest = {
    appId,
    ...(options.shortcut ? { shortcut: true } : {}),
    ...(options.verify ? { verify: true } : {}),
  };
  const launched = await launch(context, body, launching);
  progress.end();
  show(context, launched, ({ pid, proxy, shortcut }) => {
    const line = `Started ${appId}${pid === null ? '' : ` (pid ${pid})`} through ${proxy.host}:${proxy.port}.`;
    return options.shortcut && shortcut ? `${line} Shortcut: ${shortcut}` : line;
  });
}

async function launch(context: Context, body: LaunchRequest, launching: Launching): Promise<LaunchResponse> {
  const attempt = (more: Partial<LaunchRequest> = {}) =>
    context.client.call('POST /api/apps/proxy-launcher', { body: { ...body, ...more } });
  try {
    return await withDaemon(context, attempt, () =>
      announceStep(context, body, launching, 'Starting the Culvert daemon.'),
    );
  } catch (error) {
    if (!(error instanceof ApiError) || error.problem.code !== 'proxy-not-enabled') throw error;
  }
  return withProxy(context, body, launching, attempt);
}

/** Seconds until the proxy mode reverts if this process ends before the app has started. */
const CONFIRM_SECONDS = 120;

/** Switches the local proxy on, which affects other traffic, and off again if the app does not start. */
async function withProxy<T>(
  context: Context,
  body: LaunchRequest,
  launching: Launching,
  attempt: (more: Partial<LaunchRequest>) => Promise<T>,
): Promise<T> {
  const { client } = context;
  const before = await client.call('GET /api/snapshot');
  const mode = before.settings.Mode;
  const isChange = mode !== 'proxy';
  // don't ask if the tunnel client will refuse anyway
  if (isChange && !before.status.blocked) {
    launching.progress.end();
    await consent(context, launching.options, {
      consequence: proxyConsequence(before),
      question: `Switch the proxy on and start ${body.appId}?`,
    });
  }
  await announceStep(context, body, launching, 'Switching the local proxy on, and waiting until it answers.');
  await requestKept(context, { action: 'enableLocalProxy' }, { confirmWithin: CONFIRM_SECONDS, asks: false });
  launching.progress.step(`Starting ${body.appId}.`);
  let launched: T;
  try {
    launched = await attempt(launchRequest(body.appId, before));
  } catch (error) {
    launching.progress.end();
    await client.call('POST /api/changes/revert', { body: { subject: 'mode' } }).catch(() => {}); // as `setBack` does
    await setBack(context, before);
    if (isChange) context.say(`The mode is ${mode === undefined ? 'as before' : modeLabel(mode, english)} again.`);
    throw error;
  }
  await client.call('POST /api/changes/confirm', { body: { subject: 'mode' } }).catch(error => {
    // there is nothing to confirm if proxy mode was already set
    if (!(error instanceof ApiError) || error.problem.code !== 'nothing-pending') throw error;
  });
  launching.progress.end();
  if (isChange) {
    context.say(`${consequenceOf(before, 'now')}.`);
    context.say(
      'If the app soon ends with an error, the mode is reverted. Otherwise the mode stays, even after the app ends.',
    );
  }
  return launched;
}

async function announceStep(context: Context, { appId }: LaunchRequest, { progress }: Launching, what: string) {
  progress.step(what);
  await announce(context, `Starting ${appId}`, what);
}

export const shortcutApp: Run = async (context, [appId], options) => {
  if (options.removeAll) return removeAll(context, appId);
  if (appId === undefined) throw usage('Name the app of the shortcut.', 'See: culvert apps list');
  const way = placedWay(options);
  const body = { appId, present: !options.remove, ...(way ? { way } : {}) };
  const response = await context.client.call('POST /api/apps/shortcut', { body });
  show(context, response, ({ shortcut }) => shortcut ?? `The shortcut of ${appId} is gone.`);
  if (response.shortcut && !way)
    context.say('It switches the local proxy on if it is off; other traffic then bypasses WARP.');
  return EXIT.ok;
};

/** Removes all shortcuts without the daemon, which an uninstallation may have stopped. */
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
