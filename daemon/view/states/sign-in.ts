// Words the sign-in to a network, and starts it. It is not in `networks.ts`, because browsers load it with the first page.
import type { Snapshot } from '../../api/schema.ts';
import { type Command, clientCommand } from '../form.ts';
import type { Translator } from '../translator.ts';

/** Says what a sign-in does, and which programs reach the internet without WARP until it ends. */
export function signInText(snapshot: Pick<Snapshot, 'killSwitch'> | null, { _ }: Translator): string {
  const exposure =
    snapshot?.killSwitch.active === true
      ? _('Only this browser gets out, if an administrator allows it.')
      : _('Until then, no program uses WARP.');
  return [_('Opens a browser just for the sign-in; WARP returns afterwards.'), exposure].join(' ');
}

/** Starts the sign-in to a network, after a question that says what it does: for controls that do not show `signInText`. */
export function signInCommand(
  snapshot: Pick<Snapshot, 'killSwitch'> | null,
  task: 'portal' | 'portal-by-hand',
  tr: Translator,
): Command {
  const { _ } = tr;
  const confirm = { heading: _('Sign in to this network'), body: signInText(snapshot, tr), accept: _('Open') };
  return clientCommand(task, { confirm });
}
