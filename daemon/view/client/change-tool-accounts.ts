// Carries out changes of tool accounts for a client.

import type { ToolAccountsChange } from '../../api/accounts.ts';
import { ApiError } from '../../api/client.ts';
import type { Question } from '../form.ts';
import type { Translator } from '../translator.ts';

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
