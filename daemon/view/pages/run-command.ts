// Runs the commands of rows and buttons for every graphical client.
import type { ToolAccountsChange } from '../../api/accounts.ts';
import type { ChangeOptions } from '../../api/changes.ts';
import { ApiError } from '../../api/client.ts';
import type { ActionRequest } from '../../api/schema.ts';
import { doneText } from '../client/labels.ts';
import type { Model } from '../client/model.ts';
import { changeNetworks } from '../client/network-document.ts';
import { askAboutChange } from '../client/requests.ts';
import type { Ask, Command } from '../form.ts';
import type { Host } from '../host.ts';
import { describeProof } from '../states/proof.ts';

/**
 * Runs a command after its question, and reports the result. Never rejects.
 * @param given what the user typed already, for a command without a question
 * @returns false if the user declined or the command failed
 */
export async function runCommand(
  host: Host,
  { ask, confirm, undo, done }: Command,
  given: string[] = [],
): Promise<boolean> {
  try {
    const answers = confirm ? await host.answer(confirm) : given;
    const outcome = answers && (await executeAsk(host, ask, answers));
    if (!outcome) return false;
    if (typeof outcome === 'string') {
      host.toast(outcome);
      return true;
    }
    const text = done ?? (ask.kind === 'action' ? doneText(ask.request.action, host.tr()) : null);
    if (text) host.toast(text, undo && (() => void executeAsk(host, undo).catch(host.showError)));
    return true;
  } catch (error) {
    host.showError(error);
    return false;
  }
}

/**
 * @param answers the texts that the user typed into the command's question
 * @returns true if it was done, or a text to report
 */
async function executeAsk(host: Host, ask: Ask, answers: string[] = []): Promise<boolean | string> {
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
      // clients show the result in a line that screen readers do not announce
      return describeProof(model.state(), host.now(), host.tr())?.text ?? true;
    case 'copy':
      return host.copy(ask.text);
    case 'fix':
      await model.call('POST /api/doctor/fix', { body: ask.request });
      return true;
    case 'undo-fix':
      await model.call('POST /api/doctor/undo', { body: {} });
      return true;
    case 'tool-accounts':
      return changeToolAccounts(host, ask.change, answers);
    case 'networks':
      await changeNetworks(model, ask.change);
      return true;
    case 'restart':
      await model.call('POST /api/restart', { body: { demo: ask.demo } });
      return true;
    case 'client':
      return host.task(ask.task);
    case 'show':
      ask.show();
      return true;
    case 'answer': {
      const [text = '', ...secrets] = answers;
      return runCommand(host, ask.command(text), secrets);
    }
    case 'work': {
      const said = await ask.work();
      return typeof said === 'string' ? said : true;
    }
  }
}

/** Sends a request; after the terms are accepted, also registers the device if it is not registered. */
async function requestActions(model: Model, request: ActionRequest & ChangeOptions): Promise<void> {
  await model.requestAction(request);
  if (request.action === 'acceptTerms' && model.state().snapshot?.status.blocked === 'not-registered')
    await model.requestAction({ action: 'register' });
}

/** The parts of a host that a change of tool accounts needs. */
type AccountsHost = Pick<Host, 'answer' | 'tr'> & { model: Pick<Model, 'call'> };

/**
 * Changes tools or their accounts. A key that can't be stored in the keyring goes into a file, if the user agrees.
 * @param credentials as the user typed them
 * @returns false when the user declined
 */
export async function changeToolAccounts(
  { model, answer, tr }: AccountsHost,
  request: ToolAccountsChange,
  credentials: string[],
): Promise<boolean> {
  const post = (body: ToolAccountsChange) => model.call('POST /api/accounts', { body });
  const body = request.change === 'add' ? { ...request, credentials } : request;
  try {
    await post(body);
  } catch (error) {
    if (body.change !== 'add' || !(error instanceof ApiError) || error.problem.reason !== 'keyring-unavailable')
      throw error;
    const { _ } = tr();
    const agreed = await answer({
      heading: _('Store the key in a file?'),
      body: _('The keyring can’t be used. A file that only you can read serves as well.'),
      accept: _('Store in a File'),
    });
    if (!agreed) return false;
    await post({ ...body, store: 'file' });
  }
  return true;
}
