// Carries out the commands of the tray's menu and notifications.
import Gio from 'gi://Gio?version=2.0';
import type { Model } from '../../daemon/view/client/model.ts';
import { changeNetworks } from '../../daemon/view/client/network-document.ts';
import { askAboutChange } from '../../daemon/view/client/requests.ts';
import type { Command as ViewCommand } from '../../daemon/view/form.ts';
import { launchRequest } from '../../daemon/view/states/apps.ts';
import { describeUnconfirmed, toBeConfirmed } from '../../daemon/view/states/changes.ts';
import { describeKillSwitch, killSwitchRequest } from '../../daemon/view/states/killswitch.ts';
import { _, tr } from '../i18n.ts';
import { startDaemon, stopDaemon } from '../programs.ts';
import { recentApps, rememberApp } from '../recent-apps.ts';
import { openPanel, quitPanel } from './desktop.ts';
import type { Command } from './menu.ts';

/** Time after the reply during which a change's event may still arrive, in ms. */
const CHANGES_MS = 2_000;

interface ActionOptions {
  bus: Gio.DBusConnection;
  model: Model;
  /** @param summary says what failed; without it, that something did */
  showError(error: unknown, summary?: string): void;
  /** Notifies the user that a change reverts unless it is kept. */
  askToKeep(): void;
  /** Ends the tray. */
  quit(): void;
}

export interface Actions {
  /** Carries out a menu entry's command. */
  act(command: Command): void;
  /** Carries out the command of a remedy or a notification. */
  runCommand(command: ViewCommand): void;
  /** Returns the last action requested from the tray, since its effect needs no notification. */
  requested(): string | null;
  forgetRequested(): void;
}

export function createActions({ bus, model, showError, askToKeep, quit }: ActionOptions): Actions {
  let requested: string | null = null;
  const failed = (summary: string) => (error: unknown) => showError(error, summary);

  const open = (page?: Parameters<typeof openPanel>[2]) =>
    void openPanel(bus, null, page).catch(failed(_('The window could not be opened')));

  /** @throws GLib.Error if no browser is found */
  function executeAsk({ ask, confirm }: ViewCommand): void {
    // only the window can ask the question, and its first page offers the same command
    if (confirm) open('connection');
    else if (ask.kind === 'action') model.requestAction(ask.request).catch(showError);
    else if (ask.kind === 'kill-switch')
      model.changeKillSwitch(ask.change).catch(failed(_('The kill switch could not be changed')));
    else if (ask.kind === 'extend' || ask.kind === 'change') askAboutChange(model, ask).catch(showError);
    else if (ask.kind === 'open') Gio.AppInfo.launch_default_for_uri(ask.uri, null);
    else if (ask.kind === 'page') open(ask.page);
    else if (ask.kind === 'networks') changeNetworks(model, ask.change).catch(showError);
    // the window offers everything else
    else open();
  }

  function runCommand(command: ViewCommand): void {
    try {
      executeAsk(command);
    } catch (error) {
      showError(error);
    }
  }

  async function launch(appId: string): Promise<void> {
    const name = recentApps().find(({ id }) => id === appId)?.name ?? appId;
    const before = model.state().snapshot;
    if (before?.settings.Mode !== 'proxy') await model.requestAction({ action: 'enableLocalProxy' });
    await model.call('POST /api/apps/proxy-launcher', { body: launchRequest(appId, before) });
    rememberApp({ id: appId, name });
  }

  /** Asks the user to confirm a change that would revert: the menu, which has "Keep", is closed by now. */
  async function change(work: Promise<void>, summary: string): Promise<void> {
    let unsubscribe = () => {};
    const ask = () => {
      const isUnconfirmed = describeUnconfirmed(model.state(), tr) !== null;
      if (isUnconfirmed) {
        askToKeep();
        unsubscribe();
      }
      return isUnconfirmed;
    };
    try {
      await work;
      if (ask()) return;
      // the event may come after the reply; a change without effect has no event
      unsubscribe = model.subscribe(ask);
      setTimeout(() => unsubscribe(), CHANGES_MS);
    } catch (error) {
      showError(error, summary);
    }
  }

  function choose(command: Exclude<Command, string>): void {
    const { allowLan = false } = model.state().snapshot?.killSwitch ?? {};
    if ('panel' in command) open(command.panel);
    else if ('ask' in command) runCommand(command.ask);
    else if ('mode' in command) {
      const limit = toBeConfirmed(model.state().snapshot);
      void change(
        model.requestAction({ action: 'setMode', value: command.mode, ...limit }),
        _('The mode could not be changed'),
      );
    } else if ('launch' in command) launch(command.launch).catch(failed(_('The app could not be started')));
    else if ('pause' in command)
      model.changeKillSwitch({ seconds: command.pause }).catch(failed(_('The kill switch could not be changed')));
    else {
      const view = describeKillSwitch(model.state(), tr);
      void change(
        model.changeKillSwitch(killSwitchRequest(view, { enabled: command.killSwitch, allowLan })),
        _('The kill switch could not be changed'),
      );
    }
  }

  function act(command: Command): void {
    if (typeof command === 'object') choose(command);
    else if (command === 'open') open();
    else if (command === 'start') {
      startDaemon(showError);
      model.retry();
    } else if (command === 'quit') {
      model.close();
      void quitPanel(bus).then(stopDaemon).catch(showError).finally(quit);
    } else {
      requested = command;
      const connects = command === 'connect';
      model
        .requestAction({ action: command })
        .catch(failed(connects ? _('WARP could not be connected') : _('WARP could not be disconnected')));
    }
  }

  return {
    act,
    runCommand,
    requested: () => requested,
    forgetRequested() {
      requested = null;
    },
  };
}
