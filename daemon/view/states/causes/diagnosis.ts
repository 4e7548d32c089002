// Joins the reason of a failure with the findings of the checks: one cause, one button, and a line for another finding.
import type { Diagnosis } from '../../../api/doctor.ts';
import type { Snapshot } from '../../../api/schema.ts';
import { type Command, goTo } from '../../form.ts';
import { fill, type Translator } from '../../translator.ts';
import { fixButton, translated } from '../findings.ts';
import { type Cause, causeOf } from './causes.ts';

/** Checks whose findings are never the cause of a failing tunnel, because they also occur with a working one. */
const NEVER_A_CAUSE: ReadonlySet<string> = new Set([
  'known-issues',
  'knowledge-files',
  'package-repository',
  'culvert-packages',
  'service-resources',
  'nft-features',
  'organization-certificate',
  'systemd-version',
  'daemon',
  'socket-directory',
  'port',
  'configuration',
  'remote-access',
  'display',
  'panel',
  'tray',
]);

/** Reports whether the finding of a check can be the cause of a tunnel that fails. */
export function canBeCause(id: string): boolean {
  return !NEVER_A_CAUSE.has(id);
}

/** The finding of a check in one sentence, its button, and what was seen. */
export function findingWords(
  diagnosis: Diagnosis,
  tr: Translator,
): Pick<Cause, 'sentence' | 'remedy'> & { seen: string } {
  const { _ } = tr;
  const { id, fix, fixId, title, evidence, explanation } = translated(diagnosis, tr);
  const sentence = explanation ?? title;
  const button: { label: string; command: Command } | null = fix && fixButton({ id, fixId, fix }, sentence, tr);
  return {
    sentence,
    remedy: button ?? { label: fix ? _('Show the Fix') : _('Run Checks'), command: goTo('checks') },
    seen: `${title}: ${evidence.join('; ')}`,
  };
}

/**
 * As `causeOf`, with the findings of the checks. A finding replaces sentence and button if the reason is unknown, or if the
 * check is made for this reason. Otherwise it is a line below: the reason comes from the tunnel client itself, and its button
 * helps.
 */
export function explainedCause(snapshot: Snapshot, tr: Translator): Cause | null {
  const cause = causeOf(snapshot, tr);
  const { diagnosis, status } = snapshot;
  const isFailure = status.state === 'unable' || status.reason?.code === 'ConnectIgnored';
  if (!cause || !diagnosis || !isFailure) return cause;
  const finding = findingWords(diagnosis, tr);
  const { sentence, remedy } = finding;
  const isCause = canBeCause(diagnosis.id) && (cause.checks === null || cause.checks.includes(diagnosis.id));
  if (isCause) return { ...cause, sentence, remedy };
  return {
    ...cause,
    // Translators: %s is a sentence on something else that may matter
    sentence: `${cause.sentence}\n${fill(tr._('Also: %s'), sentence)}`,
    remedy: cause.remedy ?? (canBeCause(diagnosis.id) ? remedy : null),
  };
}
