// Runs the tray, an icon and a menu that show the daemon's state, in a process without GTK that sleeps until an event comes.
import Gio from 'gi://Gio?version=2.0';
import type { Snapshot } from '../../daemon/api/schema.ts';
import type { ClientState } from '../../daemon/view/client/client-state.ts';
import { describeRemoteAccess } from '../../daemon/view/client/labels.ts';
import { createModel } from '../../daemon/view/client/model.ts';
import { describeUnconfirmed, isPause } from '../../daemon/view/states/changes.ts';
import { describeKillSwitch, nextMinute } from '../../daemon/view/states/killswitch.ts';
import { loginLink, networkLine, trustableLink } from '../../daemon/view/states/networks.ts';
import {
  isBetweenStates,
  type Notification,
  presentNotification,
  SLOTS,
} from '../../daemon/view/states/notification.ts';
import { errorText } from '../../daemon/view/states/problems.ts';
import { describeTimed, offCommands } from '../../daemon/view/states/timed.ts';
import { describeTunnel } from '../../daemon/view/states/tunnel.ts';
import { collectWhenQuiet } from '../gc.ts';
import { _, tr } from '../i18n.ts';
import { socketPath, TRAY_NAME, TRAY_PATH } from '../install-paths.ts';
import { recentApps } from '../recent-apps.ts';
import { createTransport } from '../transport.ts';
import { createActions } from './actions.ts';
import { createNotifier, openPanel, type Shown } from './desktop.ts';
import { loadIcons, type Pixmaps } from './icons.ts';
import { type Appearance, createItem } from './item.ts';
import { type Shown as Menu, menuOf, tooltipOf } from './menu.ts';
import { followState, ownName, type Program, runProgram, STATE_EVENTS } from './program.ts';
import { createShortcuts } from './shortcuts.ts';

async function serve(program: Program): Promise<void> {
  let bus: Gio.DBusConnection;
  try {
    bus = Gio.bus_get_sync(Gio.BusType.SESSION, null);
  } catch {
    throw new Error(_('There is no session bus, so there is no tray.'));
  }
  // a second tray would show a second icon
  if (await ownName(bus, TRAY_NAME)) return startTray(bus, program);
  program.say(_('A Culvert tray is already running.'));
  program.end();
}

function startTray(bus: Gio.DBusConnection, program: Program): void {
  const model = createModel(createTransport(socketPath()), {}, [...STATE_EVENTS, 'remoteAccess', 'networks']);
  const pictures = loadIcons();
  const notifier = createNotifier(bus, { label: _('Open Culvert'), activate: () => actions.act('open') });
  let drawn: { key: string; pixmaps: Pixmaps } | null = null;
  let recent = recentApps();

  const appearance = (): Appearance => {
    const shown = shownOf(model.state(), recent);
    const { state, tone } = shown.tunnel;
    const key = `${state} ${tone}`;
    if (drawn?.key !== key) drawn = { key, pixmaps: pictures(state, tone) };
    return { icon: drawn.pixmaps, tooltip: tooltipOf(shown, tr), entries: menuOf(shown, tr) };
  };
  const showError = (error: unknown, summary = _('Culvert could not do this')) => {
    const problem = { summary, body: errorText(error, tr), actions: [] };
    void notifier.show('error', problem);
  };
  const withButtons = ({ summary, body, state, action, other }: Notification): Shown => ({
    summary,
    body,
    transient: state === 'connected',
    picture: pictures(state, describeTunnel(model.state(), tr).tone).at(-1)!,
    actions: [action, other].flatMap(button =>
      button ? [{ label: button.label, activate: () => actions.runCommand(button.command) }] : [],
    ),
  });
  const notify = (news: Notification | null) => void (news && notifier.show(news.slot, withButtons(news)));
  /** Updates or withdraws the notifications as their subjects change. */
  const keepUpToDate = () => {
    const slots = SLOTS.filter(slot => slot !== 'state' || !isBetweenStates(model.state()));
    for (const slot of slots)
      void notifier.update(slot, () => {
        const present = presentNotification(slot, model.state(), tr);
        return present && withButtons(present);
      });
  };
  const askToKeep = () => notify(presentNotification('keep', model.state(), tr));
  const actions = createActions({ bus, model, showError, askToKeep, quit: program.end });

  // the window's "Quit Culvert" activates this action
  const offered = new Gio.SimpleActionGroup();
  const quit = new Gio.SimpleAction({ name: 'quit' });
  quit.connect('activate', () => actions.act('quit'));
  offered.add_action(quit);
  bus.export_action_group(TRAY_PATH, offered);

  const toggle = () => {
    const { toggle } = describeTunnel(model.state(), tr);
    if (toggle.sensitive && toggle.action) actions.act(toggle.action);
  };
  const pause = () => {
    const { toggle, pauses } = describeTunnel(model.state(), tr);
    const paused = describeTimed(model.state(), tr).find(({ change }) => isPause(change));
    if (paused) actions.runCommand(paused.end.command);
    else if (toggle.sensitive && toggle.action === 'disconnect')
      actions.runCommand(offCommands(pauses, tr)[0]!.command);
  };
  const useShortcuts = createShortcuts(bus, {
    shortcuts: () => [
      { id: 'toggle', label: _('Connect or disconnect WARP'), activate: toggle },
      { id: 'pause', label: _('Pause WARP, or end the pause'), activate: pause },
    ],
    failed() {
      const body = _('Your desktop assigned no keys, or has no global shortcuts.');
      void notifier.show('error', { summary: _('Keyboard shortcuts could not be turned on'), body, actions: [] });
      model.call('POST /api/config/user', { body: { tray: { shortcuts: false } } }).catch(() => {});
    },
  });

  const item = createItem(bus, appearance(), {
    activate: token => void openPanel(bus, token).catch(error => showError(error, _('The window could not be opened'))),
    secondary: toggle,
    chosen: entry => entry.command && actions.act(entry.command),
    opened() {
      recent = recentApps();
      show();
      // an older daemon lacks this request; the answer also comes as an event
      if (!model.state().offline) model.call('GET /api/networks').catch(() => {});
    },
    hostless: () =>
      program.say(_('This desktop shows no tray icons (GNOME needs the AppIndicator extension). Use the window.')),
  });
  let countdown: ReturnType<typeof setTimeout> | null = null;
  const show = () => {
    item.show(appearance());
    collectWhenQuiet();
    // counts ends down by the minute; without an end, no timer runs
    if (countdown) clearTimeout(countdown);
    const { killSwitch, timed, now } = shownOf(model.state(), recent);
    const ends = [killSwitch.pausedUntil, ...timed.map(({ span }) => span?.until ?? null)];
    const waits = ends.flatMap(until => (until === null ? [] : (nextMinute(until, now) ?? [])));
    countdown = waits.length ? setTimeout(show, Math.min(...waits)) : null;
  };
  followState(model, actions.requested, (state, notice) => {
    if (state.config) useShortcuts(state.config.config.tray.shortcuts);
    notify(notice);
    // without a daemon, nothing is known about the subjects
    if (!state.offline) keepUpToDate();
    if (state.snapshot?.status.state === 'connected') actions.forgetRequested();
    show();
  });
  collectWhenQuiet();
}

function shownOf(client: ClientState, recent: Menu['recent']): Menu {
  const tunnel = describeTunnel(client, tr);
  const { offline, snapshot, update } = client;
  const port = snapshot?.settings.Mode === 'proxy' ? snapshot.tunnel.proxyPort : null;
  return {
    tunnel,
    killSwitch: describeKillSwitch(client, tr),
    recent,
    now: Date.now(),
    timed: describeTimed(client, tr),
    unconfirmed: describeUnconfirmed(client, tr),
    proxy: offline || port === null ? null : `127.0.0.1:${port}`,
    update: update?.updateAvailable ? update.latest : null,
    network: offline || !snapshot ? null : networkOf(snapshot),
    remote: offline ? null : (describeRemoteAccess(snapshot?.remoteAccess ?? null, tr)?.title ?? null),
    stopped: offline?.code === 'not-running' || offline?.code === 'stopped',
  };
}

function networkOf({ networks, status }: Snapshot): Menu['network'] {
  const line = networks && networkLine(networks, tr);
  if (!line) return null;
  const login = loginLink(networks) !== null && status.state !== 'connected';
  return { line, login, trustable: trustableLink(networks) !== null };
}

runProgram('tray', serve);
