// Carries out the commands that rows and buttons ask for.
import type { ChangeOptions } from '../../daemon/api/schema/changes.ts';
import type { ActionRequest } from '../../daemon/api/schema.ts';
import { askAboutChange } from '../../daemon/view/client/change-requests.ts';
import { changeToolAccounts } from '../../daemon/view/client/change-tool-accounts.ts';
import type { Model } from '../../daemon/view/client/model.ts';
import type { Ask, ClientTask, Command, PageName, Question } from '../../daemon/view/forms/form.ts';
import { doneText } from '../../daemon/view/states/tunnel.ts';
import { _, tr } from '../i18n.ts';
import type { Question as DialogQuestion } from './widgets/compat.ts';
import { linkBox } from './widgets/links.ts';
import { preformatted } from './widgets/preformatted.ts';
import { secretEntries } from './widgets/secret-entries.ts';

export interface Hands {
  model: Model;
  toast(text: string, undo?: () => void): void;
  showError(error: unknown): void;
  ask(question: DialogQuestion): Promise<string>;
  open(uri: string): void;
  goTo(page: PageName): void;
  copy(text: string): void;
  /** What only this client can do. Resolves with whether it was done. */
  task(task: ClientTask): Promise<boolean>;
}

/** @returns what runs a command: true once it is done, false when the user declined or it failed. */
export function createRunner(hands: Hands): (command: Command) => Promise<boolean> {
  return async ({ ask, confirm, undo, done }) => {
    try {
      const secrets = confirm ? await answered(hands, confirm) : [];
      if (!secrets || !(await carryOut(hands, ask, secrets))) return false;
      const text = done ?? (ask.kind === 'action' ? doneText(ask.request.action, tr) : null);
      if (text) hands.toast(text, undo && (() => void carryOut(hands, undo).catch(hands.showError)));
      return true;
    } catch (error) {
      hands.showError(error);
      return false;
    }
  };
}

/** Resolves with the secrets that were typed, or null when the user declined. */
export async function answered(
  { ask, open }: Pick<Hands, 'ask' | 'open'>,
  { heading, body, accept, destructive, links, text, secrets }: Question,
): Promise<string[] | null> {
  const typed = secrets?.length ? secretEntries(secrets) : null;
  const answer = await ask({
    ...{ heading, body },
    responses: [
      ['cancel', _('Cancel')],
      ['accept', accept],
    ],
    ...(destructive ? { destructive: 'accept' } : { suggested: 'accept' }),
    ...(links ? { extra: linkBox(links, open) } : text ? { extra: preformatted(text) } : {}),
    ...(typed ? { extra: typed.widget, gate: typed.gate } : {}),
  });
  return answer === 'accept' ? (typed?.values() ?? []) : null;
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
      hands.copy(ask.text);
      return true;
    case 'fix':
      await model.call('POST /api/doctor/fix', { body: ask.request });
      return true;
    case 'undo-fix':
      await model.call('POST /api/doctor/undo', { body: {} });
      return true;
    case 'tool-accounts': {
      const post = (body: typeof ask.change) => model.call('POST /api/accounts', { body });
      const agreed = async (question: Question) => (await answered(hands, question)) !== null;
      return changeToolAccounts(ask.change, secrets, { post, agreed }, tr);
    }
    case 'client':
      return hands.task(ask.task);
    case 'work':
      await ask.work();
      return true;
  }
}

/** Agreeing to the terms is half of the set-up; the registration follows at once where one is missing. */
async function perform(model: Model, request: ActionRequest & ChangeOptions): Promise<void> {
  await model.perform(request);
  if (request.action === 'acceptTerms' && model.state().snapshot?.status.blocked === 'not-registered')
    await model.perform({ action: 'register' });
}
