// Describes the most likely cause that the daemon found for a tunnel that fails or carries nothing, with its one button.
import type { Diagnosis } from '../../api/schema/doctor.ts';
import { type Command, goTo } from '../forms/form.ts';
import { fill, type Translator } from '../translator.ts';
import { fixButton, translated } from './findings.ts';

interface Words {
  sentence: string;
  remedy: { label: string; command: Command } | null;
  details: string | null;
}

/**
 * What a state's words become where a cause was found: what was seen beats what a reason code suggests.
 * @param connected the tunnel is up, and nothing comes back through it
 */
export function withDiagnosis<W extends Words>(words: W, diagnosis: Diagnosis, connected: boolean, tr: Translator): W {
  const { _ } = tr;
  const { id, fix, fixId, title, evidence, explanation } = translated(diagnosis, tr);
  const cause = explanation ?? title;
  const button = fix && fixButton({ id, fixId, fix }, cause, tr);
  return {
    ...words,
    // Translators: %s is a sentence on the cause
    sentence: connected ? fill(_('Nothing comes back through the tunnel. %s'), cause) : cause,
    remedy: button ?? { label: fix ? _('Show the Fix') : _('Run Checks'), command: goTo('checks') },
    details: [words.details, `${title}: ${evidence.join('; ')}`].filter(Boolean).join('\n'),
  };
}
