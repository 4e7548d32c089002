// Runs the tasks that only the window can do, such as starting the daemon or choosing a file.

import type { ClientTask } from '../../../daemon/view/form.ts';
import { SETTINGS_TASKS, type SettingsFileHost, type SettingsTask } from '../../../daemon/view/settings-file.ts';
import { tr } from '../../i18n.ts';
import { signInToNetwork } from '../../network-sign-in.ts';
import { startDaemon } from '../../start-daemon.ts';
import { installKillSwitch, manageWarp, NotAllowed, openNetworkSettings } from '../desktop.ts';
import type { FurtherPages } from '../further-pages.ts';
import type { Shell } from '../shell.ts';
import { claimSignIn } from '../sign-in.ts';
import { openText, saveText } from '../widgets/dialogs/files.ts';
import { chooseMode } from '../widgets/dialogs/mode-dialog.ts';
import { answerOf } from '../widgets/dialogs/questions.ts';
import { showUpdateCommand } from '../widgets/rows/command-box.ts';
import { showReport } from './report.ts';

/**
 * @param further the pages other than the first, once their code is loaded
 * @returns a function that runs a task, and resolves with whether it was done
 */
export function createTasks(
  shell: Shell,
  further: () => Promise<FurtherPages>,
): (task: ClientTask) => Promise<boolean> {
  const { model } = shell;
  const changeSystem = async (change: () => Promise<void>) => {
    try {
      await change();
    } catch (error) {
      if (!(error instanceof NotAllowed)) throw error;
      shell.toast(error.message);
      return false;
    }
    void model.refresh('all');
    return true;
  };
  const settings = (task: SettingsTask) => () => SETTINGS_TASKS[task](settingsFileHost(shell), tr);
  const tasks: Record<ClientTask, () => unknown> = {
    'start-daemon'() {
      startDaemon(shell.showError);
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
    'check-update': async () => (await further()).updates().check(),
    'apply-update'() {
      // the page shows the progress
      shell.goTo('updates');
      return further().then(pages => pages.updates().apply());
    },
    'roll-back': async () => (await further()).updates().rollBack(),
    'update-command': () => showUpdateCommand(shell),
    'run-checks': async () => (await further()).checks().run(),
    report: () => showReport(shell),
    'export-settings': settings('export-settings'),
    'apply-settings': settings('apply-settings'),
    'undo-settings': settings('undo-settings'),
    'choose-mode': () => chooseMode(shell),
    portal: () => signInToNetwork(shell.showError),
    'portal-by-hand': () => signInToNetwork(shell.showError, '--open'),
    shortcuts: () => shell.window().application?.activate_action('shortcuts', null),
  };
  return async task => (await tasks[task]()) !== false;
}

function settingsFileHost(shell: Shell): SettingsFileHost {
  return {
    model: shell.model,
    toast: shell.toast,
    open: () => openText(shell.window()),
    save: (name, text) => saveText(shell.window(), name, text),
    ask: async question => (await answerOf(shell, question)) !== null,
  };
}
