// Asks the questions of commands in a dialog.
import type { Question } from '../../../../daemon/view/form.ts';
import { _ } from '../../../i18n.ts';
import type { WindowHost } from '../../host.ts';
import { ask } from '../compat.ts';
import { linkBox } from './links.ts';
import { preformatted } from './preformatted.ts';
import { secretEntries } from './secret-entries.ts';

/** Resolves with the secrets that were typed, or null when the user declined. */
export async function answerOf(
  { window, open }: Pick<WindowHost, 'window' | 'open'>,
  { heading, body, accept, destructive, links, text, secrets }: Question,
): Promise<string[] | null> {
  const typed = secrets?.length ? secretEntries(secrets) : null;
  const answer = await ask(window, {
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
