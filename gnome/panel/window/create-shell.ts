// Makes the abilities that the window offers to its pages.
import type Gtk from 'gi://Gtk?version=4.0';
import { createCommandRunner } from '../../../daemon/view/client/run-command.ts';
import { tr } from '../../i18n.ts';
import type { FurtherPages } from '../further-pages.ts';
import type { Shell } from '../shell.ts';
import { claimFreeSignIn } from '../sign-in.ts';
import { ask, openUri } from '../widgets/compat.ts';
import { copyText } from '../widgets/copy.ts';
import { answerOf } from '../widgets/dialogs/questions.ts';
import type { Toasts } from '../widgets/dialogs/toasts.ts';
import { createTasks } from './tasks.ts';

interface Parts extends Pick<Shell, 'model' | 'view' | 'goTo'> {
  toasts: Toasts;
  /** The pages other than the first, once their code is loaded. */
  further(): Promise<FurtherPages>;
}

export function createShell(window: Gtk.Window, { model, view, goTo, toasts, further }: Parts): Shell {
  const { toast, showError } = toasts;
  const dialogs: Pick<Shell, 'ask' | 'open'> = {
    ask: question => ask(window, question),
    open: uri => openUri(window, uri, showError),
  };
  const runCommand = createCommandRunner({
    model,
    translator: () => tr,
    answer: question => answerOf(dialogs, question),
    toast,
    showError,
    open: dialogs.open,
    goTo,
    async copy(text) {
      copyText(window, text);
      return true;
    },
    task: task => runTask(task),
  });
  const run: Shell['run'] = command => {
    const { ask } = command;
    if (ask.kind === 'action' && ask.request.action === 'registerOrganization') claimFreeSignIn();
    return runCommand(command);
  };
  const shell: Shell = {
    model,
    view,
    toast,
    showError,
    ...dialogs,
    goTo,
    run,
    runAction: request => run({ ask: { kind: 'action', request } }),
    window: () => window,
  };
  const runTask = createTasks(shell, further);
  return shell;
}
