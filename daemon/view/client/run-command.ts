// Runs the commands behind rows and buttons, for every graphical client.
import type { ChangeOptions } from '../../api/changes.ts';
import type { ActionRequest } from '../../api/schema.ts';
import type { Ask, ClientTask, Command, PageName, Question } from '../form.ts';
import { changeNetworks } from '../networks/document.ts';
import type { Translator } from '../translator.ts';
import { askAboutChange } from './change-requests.ts';
import { changeToolAccounts } from './change-tool-accounts.ts';
import { doneText } from './labels.ts';
import type { Model } from './model.ts';

/** Abilities of one client. */
export interface CommandHost {
  model: Model;
  /** The translator of the present language. */
  translator(): Translator;
  /** Asks a question; resolves with the secrets that were typed, or null when the user declined. */
  answer(question: Question): Promise<string[] | null>;
  toast(text: string, undo?: () => void): void;
  showError(error: unknown): void;
  open(uri: string): void;
  goTo(page: PageName): void;
  /** Resolves with whether the text was copied. */
  copy(text: string): Promise<boolean>;
  /** A task of this client only. Resolves with whether it was done. */
  task(task: ClientTask): Promise<boolean>;
}

/** @returns a function that runs a command: true once it is done, false when the user declined or it failed. */
export function createCommandRunner(host: CommandHost): (command: Command) => Promise<boolean> {
  return async ({ ask, confirm, undo, done }) => {
    try {
      const secrets = confirm ? await host.answer(confirm) : [];
      const outcome = secrets && (await executeAsk(host, ask, secrets));
      if (!outcome) return false;
      if (typeof outcome === 'string') done = outcome;
      const text = done ?? (ask.kind === 'action' ? doneText(ask.request.action, host.translator()) : null);
      if (text) host.toast(text, undo && (() => void executeAsk(host, undo).catch(host.showError)));
      return true;
    } catch (error) {
      host.showError(error);
      return false;
    }
  };
}

/** @returns whether it was done, or what to say of it */
async function executeAsk(host: CommandHost, ask: Ask, secrets: string[] = []): Promise<boolean | string> {
  const { model } = host;
  switch (ask.kind) {
    case 'action':
      await requestActions(model, ask.request);
      return true;
    case 'kill-switch':
      await model.changeKillSwitch(ask.change);
      return true;
    case 'config':
      await model.call('POST /api/config/user', { body: ask.patch });
      return true;
    case 'open':
      host.open(ask.uri);
      return true;
    case 'page':
      host.goTo(ask.page);
      return true;
    case 'acknowledge':
    case 'change':
    case 'extend':
      await askAboutChange(model, ask);
      return true;
    case 'proof':
      await model.prove();
      return true;
    case 'copy':
      return host.copy(ask.text);
    case 'fix':
      await model.call('POST /api/doctor/fix', { body: ask.request });
      return true;
    case 'undo-fix':
      await model.call('POST /api/doctor/undo', { body: {} });
      return true;
    case 'tool-accounts': {
      const post = (body: typeof ask.change) => model.call('POST /api/accounts', { body });
      const agreed = async (question: Question) => (await host.answer(question)) !== null;
      return changeToolAccounts(ask.change, secrets, { post, agreed }, host.translator());
    }
    case 'networks':
      await changeNetworks(model, ask.change);
      return true;
    case 'restart':
      await model.call('POST /api/restart', { body: { demo: ask.demo } });
      return true;
    case 'client':
      return host.task(ask.task);
    case 'work': {
      const said = await ask.work();
      return typeof said === 'string' ? said : true;
    }
  }
}

/** Agreeing to the terms is half of the set-up: the registration follows where one is missing. */
async function requestActions(model: Model, request: ActionRequest & ChangeOptions): Promise<void> {
  await model.requestAction(request);
  if (request.action === 'acceptTerms' && model.state().snapshot?.status.blocked === 'not-registered')
    await model.requestAction({ action: 'register' });
}
