// Asks the questions of commands in a dialog.
import type { Question } from '../../../../daemon/view/form.ts';
import { _ } from '../../../i18n.ts';
import type { Question as DialogQuestion } from '../../shell.ts';
import { linkBox } from './links.ts';
import { preformatted } from './preformatted.ts';
import { secretEntries } from './secret-entries.ts';

interface Dialogs {
  ask(question: DialogQuestion): Promise<string>;
  open(uri: string): void;
}

/** Resolves with the secrets that were typed, or null when the user declined. */
export async function answerOf(
  { ask, open }: Dialogs,
  { heading, body, accept, destructive, links, text, secrets }: Question,
): Promise<string[] | null> {
  const typed = secrets?.length ? secretEntries(secrets) : null;
  const answer = await ask({
    heading,
    body,
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
