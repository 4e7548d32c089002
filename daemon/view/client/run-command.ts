// Runs the commands behind rows and buttons, for every graphical client.
import type { ChangeOptions } from '../../api/schema/changes.ts';
import type { ActionRequest } from '../../api/schema.ts';
import type { Ask, ClientTask, Command, PageName, Question } from '../forms/form.ts';
import { doneText } from '../states/tunnel.ts';
import type { Translator } from '../translator.ts';
import { askAboutChange } from './change-requests.ts';
import { changeToolAccounts } from './change-tool-accounts.ts';
import type { Model } from './model.ts';

/** Abilities of one client. */
export interface Hands {
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
export function createCommandRunner(hands: Hands): (command: Command) => Promise<boolean> {
  return async ({ ask, confirm, undo, done }) => {
    try {
      const secrets = confirm ? await hands.answer(confirm) : [];
      if (!secrets || !(await carryOut(hands, ask, secrets))) return false;
      const text = done ?? (ask.kind === 'action' ? doneText(ask.request.action, hands.translator()) : null);
      if (text) hands.toast(text, undo && (() => void carryOut(hands, undo).catch(hands.showError)));
      return true;
    } catch (error) {
      hands.showError(error);
      return false;
    }
  };
}

async function carryOut(hands: Hands, ask: Ask, secrets: string[] = []): Promise<boolean> {
  const { model } = hands;
  switch (ask.kind) {
    case 'action':
      await perform(model, ask.request);
      return true;
    case 'kill-switch':
      await model.changeKillSwitch(ask.change);
      return true;
    case 'config':
      await model.call('POST /api/config/user', { body: ask.patch });
      return true;
    case 'open':
      hands.open(ask.uri);
      return true;
    case 'page':
      hands.goTo(ask.page);
      return true;
    case 'change':
    case 'extend':
      await askAboutChange(model, ask);
      return true;
    case 'copy':
      return hands.copy(ask.text);
    case 'fix':
      await model.call('POST /api/doctor/fix', { body: ask.request });
      return true;
    case 'undo-fix':
      await model.call('POST /api/doctor/undo', { body: {} });
      return true;
    case 'tool-accounts': {
      const post = (body: typeof ask.change) => model.call('POST /api/accounts', { body });
      const agreed = async (question: Question) => (await hands.answer(question)) !== null;
      return changeToolAccounts(ask.change, secrets, { post, agreed }, hands.translator());
    }
    case 'client':
      return hands.task(ask.task);
    case 'work':
      await ask.work();
      return true;
  }
}

/** Agreeing to the terms is half of the set-up: the registration follows where one is missing. */
async function perform(model: Model, request: ActionRequest & ChangeOptions): Promise<void> {
  await model.perform(request);
  if (request.action === 'acceptTerms' && model.state().snapshot?.status.blocked === 'not-registered')
    await model.perform({ action: 'register' });
}
