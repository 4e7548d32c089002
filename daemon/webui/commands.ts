// Carries out the commands that rows and buttons ask for.
import type { ChangeOptions } from '../api/schema/changes.ts';
import type { ActionRequest } from '../api/schema.ts';
import { askAboutChange } from '../view/client/change-requests.ts';
import { changeToolAccounts } from '../view/client/change-tool-accounts.ts';
import type { Model } from '../view/client/model.ts';
import type { Ask, ClientTask, Command } from '../view/forms/form.ts';
import { doneText } from '../view/states/tunnel.ts';
import type { App } from './app.ts';
import { copy } from './clipboard.ts';
import { loadScript } from './further-pages.ts';
import { goTo } from './navigation.ts';

/** @returns what runs a command: true once it is done, false when the user declined or it failed. */
export function createRunner(app: App): (command: Command) => Promise<boolean> {
  const carryOut = async (ask: Ask, secrets: string[] = []): Promise<boolean> => {
    switch (ask.kind) {
      case 'action':
        await perform(app.model, ask.request);
        return true;
      case 'kill-switch':
        await app.model.changeKillSwitch(ask.change);
        return true;
      case 'config':
        await app.model.call('POST /api/config/user', { body: ask.patch });
        return true;
      case 'open':
        open(ask.uri, '_blank', 'noopener,noreferrer');
        return true;
      case 'page':
        goTo(ask.page);
        return true;
      case 'change':
      case 'extend':
        await askAboutChange(app.model, ask);
        return true;
      case 'copy':
        return copy(app, ask.text);
      case 'fix':
        await app.model.call('POST /api/doctor/fix', { body: ask.request });
        return true;
      case 'undo-fix':
        await app.model.call('POST /api/doctor/undo', { body: {} });
        return true;
      case 'tool-accounts': {
        const post = (body: typeof ask.change) => app.model.call('POST /api/accounts', { body });
        return changeToolAccounts(ask.change, secrets, { post, agreed: app.ask }, app.tr.value);
      }
      case 'client':
        return task(app, ask.task);
      case 'work':
        await ask.work();
        return true;
    }
  };
  return async ({ ask, confirm, undo, done }) => {
    try {
      const secrets = confirm ? await app.askFor(confirm) : [];
      if (!secrets || !(await carryOut(ask, secrets))) return false;
      const text = done ?? (ask.kind === 'action' ? doneText(ask.request.action, app.tr.value) : null);
      const takeBack = undo && { undo: () => void carryOut(undo).catch(app.showError) };
      if (text) app.toast(text, takeBack);
      return true;
    } catch (error) {
      app.showError(error);
      return false;
    }
  };
}

/** Agreeing to the terms is half of the set-up; the registration follows at once where one is missing. */
async function perform(model: Model, request: ActionRequest & ChangeOptions): Promise<void> {
  await model.perform(request);
  if (request.action === 'acceptTerms' && model.state().snapshot?.status.blocked === 'not-registered')
    await model.perform({ action: 'register' });
}

/** What a browser can't do is a command for a terminal. */
const IN_A_TERMINAL: Partial<Record<ClientTask, string>> = {
  'start-daemon': 'culvert',
  'start-service': 'sudo systemctl enable --now warp-svc',
  'restart-service': 'sudo systemctl restart warp-svc',
};

function commandFor({ view, client }: App, name: ClientTask): string | null {
  if (name === 'update-command') return view.value.update.command;
  if (name === 'install-killswitch') return client.value.snapshot?.killSwitch.command ?? null;
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
