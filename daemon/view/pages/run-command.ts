// Runs the commands behind rows and buttons, for every graphical client.

import type { ToolAccountsChange } from '../../api/accounts.ts';
import type { ChangeOptions } from '../../api/changes.ts';
import { ApiError } from '../../api/client.ts';
import type { ActionRequest } from '../../api/schema.ts';
import { doneText } from '../client/labels.ts';
import type { Model } from '../client/model.ts';
import { changeNetworks } from '../client/network-document.ts';
import { askAboutChange } from '../client/requests.ts';
import type { Ask, Command, Question } from '../form.ts';
import type { Host } from '../host.ts';
import type { Translator } from '../translator.ts';

/**
 * Asks what must be asked, carries a command out, and reports the result.
 * @returns true once it is done, false when the user declined or it failed. Never rejects
 */
export async function runCommand(host: Host, { ask, confirm, undo, done }: Command): Promise<boolean> {
  try {
    const secrets = confirm ? await host.answer(confirm) : [];
    const outcome = secrets && (await executeAsk(host, ask, secrets));
    if (!outcome) return false;
    const said = typeof outcome === 'string' ? outcome : done;
    const text = said ?? (ask.kind === 'action' ? doneText(ask.request.action, host.tr()) : null);
    if (text) host.toast(text, undo && (() => void executeAsk(host, undo).catch(host.showError)));
    return true;
  } catch (error) {
    host.showError(error);
    return false;
  }
}

/** @returns whether it was done, or what to say of it */
async function executeAsk(host: Host, ask: Ask, secrets: string[] = []): Promise<boolean | string> {
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
      return changeToolAccounts(ask.change, secrets, { post, agreed }, host.tr());
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

/** The question after a key could not be stored because there is no keyring; null for any other failure. */
function fileInstead(error: unknown, { _ }: Translator): Question | null {
  if (!(error instanceof ApiError) || error.problem.reason !== 'keyring-unavailable') return null;
  return {
    heading: _('Store the key in a file?'),
    body: _('The keyring can’t be used. A file that only you can read serves as well.'),
    accept: _('Store in a File'),
  };
}

/**
 * Carries out a change in a client. A key that can't be stored in the keyring goes into a file, if the user agrees.
 * @param secrets as they were asked for
 * @returns false when the user declined
 */
export async function changeToolAccounts(
  request: ToolAccountsChange,
  secrets: string[],
  { post, agreed }: { post(body: ToolAccountsChange): Promise<unknown>; agreed(question: Question): Promise<boolean> },
  tr: Translator,
): Promise<boolean> {
  if (request.change !== 'add') {
    await post(request);
    return true;
  }
  const body = { ...request, credentials: secrets };
  try {
    await post(body);
    return true;
  } catch (error) {
    const question = fileInstead(error, tr);
    if (!question) throw error;
    if (!(await agreed(question))) return false;
    await post({ ...body, store: 'file' });
    return true;
  }
}
