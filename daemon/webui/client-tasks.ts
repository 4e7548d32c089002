// Gives the page's abilities to the commands behind rows and buttons.

import { serviceCommand } from '../view/client/labels.ts';
import { createCommandRunner } from '../view/client/run-command.ts';
import type { ClientTask } from '../view/form.ts';
import type { App } from './client/app.ts';
import { loadScript } from './further-pages.ts';
import { goTo } from './navigation.ts';
import { copy } from './tasks/clipboard.ts';

/** @returns a function that runs a command; see `createCommandRunner` */
export function createRunner(app: App): App['run'] {
  return createCommandRunner({
    model: app.model,
    translator: () => app.tr.value,
    answer: app.askFor,
    toast: (text, undo) => app.toast(text, undo && { undo }),
    showError: app.showError,
    open: uri => void open(uri, '_blank', 'noopener,noreferrer'),
    goTo,
    copy: text => copy(app, text),
    task: name => task(app, name),
  });
}

/** Commands for a terminal, for tasks that a browser can't do. */
const IN_A_TERMINAL: Partial<Record<ClientTask, string>> = {
  'start-daemon': 'culvert',
  'handle-sign-in': 'xdg-mime default org.culvert.Culvert.desktop x-scheme-handler/com.cloudflare.warp',
  portal: 'culvert portal',
  'portal-by-hand': 'culvert portal --open',
};

function commandFor({ view, client }: App, name: ClientTask): string | null {
  if (name === 'update-command') return view.value.update.command;
  if (name === 'install-killswitch') return client.value.snapshot?.killSwitch.command ?? null;
  if (name === 'start-service' || name === 'restart-service')
    return serviceCommand(
      name === 'start-service' ? 'start' : 'restart',
      client.value.snapshot?.tunnelCli.systemd !== false,
    );
  return IN_A_TERMINAL[name] ?? null;
}

async function task(app: App, name: ClientTask): Promise<boolean> {
  const { model, tr } = app;
  const { _ } = tr.value;
  switch (name) {
    case 'run-checks':
      goTo('checks');
      await app.runChecks();
      return true;
    case 'try-again':
      model.retry();
      return true;
    case 'choose-mode':
      app.choosingMode.value = true;
      return true;
    case 'shortcuts':
      // a page leaves the other keys to the browser
      void app.ask({
        heading: _('Keyboard Shortcuts'),
        body: [
          _('Tab: next control'),
          _('Shift+Tab: previous control'),
          _('Enter or Space: use the control'),
          _('Arrow keys: other choices of a group'),
          _('Escape: close a dialog'),
        ].join('\n'),
        accept: _('Close'),
        notice: true,
      });
      return true;
    case 'report':
      await (await loadScript()).showReport(app);
      return true;
    case 'check-update':
      await model.checkUpdate();
      return true;
    case 'apply-update':
      await model.call('POST /api/update/apply', { body: {} });
      return true;
    case 'roll-back':
      await model.call('POST /api/update/rollback', { body: {} });
      return true;
    case 'export-settings':
    case 'apply-settings':
    case 'undo-settings':
      return (await loadScript()).runSettingsTask(app, name);
    default: {
      const shell = commandFor(app, name);
      const content = shell ? { body: _('Run this on the computer where Culvert runs:'), shell } : { body: '' };
      void app.ask({ heading: _('In a terminal'), ...content, accept: _('Close'), notice: true });
      return false;
    }
  }
}
