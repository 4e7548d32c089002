// Creates the window's host, which carries out the commands of pages, rows and buttons.
import type Gtk from 'gi://Gtk?version=4.0';
import type { App } from '../../../daemon/api/schema.ts';
import type { ClientTask } from '../../../daemon/view/form.ts';
import type { Host } from '../../../daemon/view/host.ts';
import { createChecks, createUpdates } from '../../../daemon/view/pages/requests.ts';
import { runCommand } from '../../../daemon/view/pages/run-command.ts';
import { SETTINGS_TASKS } from '../../../daemon/view/pages/settings-file.ts';
import { _, tr } from '../../i18n.ts';
import { signInToNetwork, startDaemon } from '../../programs.ts';
import {
  claimSignIn,
  createDesktop,
  installKillSwitch,
  manageWarp,
  NotAllowed,
  openNetworkSettings,
} from '../desktop.ts';
import type { WindowHost } from '../host.ts';
import { copyText } from '../widgets/buttons.ts';
import { openUri } from '../widgets/compat.ts';
import { answerOf, offerApps, openText, saveText, showReport, showUpdateCommand } from '../widgets/dialogs.ts';
import type { Toasts } from '../widgets/notices.ts';

interface WindowParts extends Pick<Host, 'model' | 'view' | 'figures' | 'goTo'> {
  toasts: Toasts;
}

export function createHost(window: Gtk.Window, { model, view, figures, goTo, toasts }: WindowParts): WindowHost {
  const { toast, showError } = toasts;
  const desktop = { ...createDesktop(toast), offerApps: (apps: readonly App[]) => offerApps(window, apps) };
  const host: WindowHost = {
    window,
    model,
    view,
    tr: () => tr,
    now: Date.now,
    checks: createChecks(model, () => tr, desktop.runDoctor),
    updates: createUpdates(model),
    // a hidden window requests no form
    isHidden: () => false,
    figures,
    desktop,
    run: command => runCommand(host, command),
    task: async task => (await tasks[task]()) !== false,
    answer: question => answerOf(host, question),
    toast,
    showError,
    open: uri => openUri(window, uri, showError),
    goTo,
    async copy(text) {
      copyText(window, text);
      return true;
    },
    openText: () => openText(window),
    saveText: (name, text) => saveText(window, name, text),
  };
  const tasks = createTasks(host);
  return host;
}

/** Creates the client's own tasks, such as starting the daemon. A task that returns false was not done. */
function createTasks(host: WindowHost): Record<ClientTask, () => unknown> {
  const { model, updates, toast, showError } = host;
  const changeSystem = async (change: () => Promise<void>) => {
    try {
      await change();
    } catch (error) {
      if (!(error instanceof NotAllowed)) throw error;
      toast(error.message);
      return false;
    }
    void model.refresh('all');
    return true;
  };
  const changeVersion = async (change: () => Promise<boolean>) => {
    if (await change()) toast(_('Close and open this window to use it'));
  };
  return {
    'start-daemon'() {
      startDaemon(showError);
      model.retry();
    },
    'try-again': () => model.retry(),
    'start-service': () => changeSystem(() => manageWarp('StartUnit')),
    'restart-service': () => changeSystem(() => manageWarp('RestartUnit')),
    'install-killswitch': () => changeSystem(installKillSwitch),
    'handle-sign-in'() {
      claimSignIn();
      void model.refresh('all');
    },
    'network-settings': openNetworkSettings,
    'check-update': async () => void (await updates.check()),
    'apply-update'() {
      // the page shows the progress
      host.goTo('updates');
      return changeVersion(updates.apply);
    },
    'roll-back': () => changeVersion(updates.rollBack),
    'update-command': () => showUpdateCommand(host),
    'run-checks': host.checks.run,
    report: () => showReport(host),
    'export-settings': () => SETTINGS_TASKS['export-settings'](host),
    'apply-settings': () => SETTINGS_TASKS['apply-settings'](host),
    'undo-settings': () => SETTINGS_TASKS['undo-settings'](host),
    portal: () => signInToNetwork(showError),
    'portal-by-hand': () => signInToNetwork(showError, '--open'),
    shortcuts: () => host.window.application?.activate_action('shortcuts', null),
  };
}
