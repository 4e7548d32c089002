// Words the findings of the checks, adds them to the cause of a failure, and parses the report that the CLI prints.
import type { CheckResult, Diagnosis, DoctorProgress, DoctorReport, Fix, Undoable, Verdict } from '../../api/doctor.ts';
import type { Snapshot } from '../../api/schema.ts';
import type { Message } from '../../api/values.ts';
import { isRecord } from '../../core/shape.ts';
import { fixText } from '../fix.ts';
import { type Button, goTo } from '../form.ts';
import { wordMessage, wordMessages } from '../message.ts';
import { fill, type Translator } from '../translator.ts';
import { type Cause, causeOf } from './causes.ts';

/** Order of verdicts in lists. */
export const WORST_FIRST: readonly Verdict[] = ['problem', 'unknown', 'notice', 'ok', 'not-applicable'];

export interface ChecksState {
  /** Number of completed checks and of all checks; null while no checks run. */
  running: { completed: number; total: number } | null;
  /** The newest result of each check. */
  results: readonly CheckResult[];
  /** The fix that can be undone. */
  undo: Undoable | null;
  /** Why the checks could not run; null if they could. */
  failed: string | null;
}

export const NO_CHECKS: ChecksState = { running: null, results: [], undo: null, failed: null };

/** Returns the state after a `doctor` event, even of a run that another client started. */
export function receiveProgress(state: ChecksState, progress: DoctorProgress): ChecksState {
  const { running, completed, total, result, undo } = progress;
  return {
    running: running ? { completed, total } : null,
    results: result ? [...state.results.filter(({ id }) => id !== result.id), result] : state.results,
    undo: undo ? (undo[0] ?? null) : state.undo,
    failed: null,
  };
}

/** Returns the state after a complete report. */
export function receiveReport({ results, undo }: Pick<DoctorReport, 'results' | 'undo'>): ChecksState {
  return { running: null, results, undo: undo[0] ?? null, failed: null };
}

/**
 * Translates a finding. Text quoted from the machine stays unchanged, and so does the text of a daemon that is too old
 * to send the wording.
 */
export function translated<F extends Pick<CheckResult, 'title' | 'evidence' | 'explanation' | 'wording' | 'fix'>>(
  finding: F,
  tr: Translator,
): F {
  const { title, evidence, explanation, wording, fix } = finding;
  return {
    ...finding,
    title: tr._(title),
    evidence: wording ? wording.evidence.map(each => wordMessage(each, tr)) : evidence,
    explanation: wording && explanation !== null ? wordMessages(wording.explanation, tr) : explanation,
    fix: fix && { ...fix, label: labelOf(fix, tr) },
  };
}

/** Returns the label of a fix's button. */
export function labelOf({ label, wording }: Pick<Fix, 'label' | 'wording'>, tr: Translator): string {
  return wording ? wordMessage(wording, tr) : label;
}

/** A fix with the ids of its check and of itself. */
export type Repair = Pick<CheckResult, 'id' | 'fixId'> & { fix: Fix };

/** True for a fix that an administrator must apply in a terminal. */
export function needsAdministrator(fix: Fix): boolean {
  return (fix.kind === 'file' || fix.kind === 'commands') && fix.privileged;
}

/**
 * Returns the button that applies a fix outside the checks page.
 * @returns null for a fix that the user must read and copy on that page
 */
function fixButton({ id, fixId, fix }: Repair, body: string, { _ }: Translator): Button | null {
  if (fix.kind === 'open') return { label: fix.label, command: { ask: { kind: 'open', uri: fix.url } } };
  if (needsAdministrator(fix) || fixId === null) return null;
  const confirm = { heading: fix.label, body, text: fixText(fix), accept: _('Apply') };
  const ask = { kind: 'fix', request: { id, fixId } } as const;
  return { label: fix.label, command: { ask, confirm, undo: { kind: 'undo-fix' }, done: _('Applied') } };
}

/** Checks whose findings are never the cause of a failing tunnel, because they also occur with a working one. */
const NEVER_A_CAUSE: ReadonlySet<string> = new Set([
  'registration',
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

/** True if a finding of this check can be the cause of a failing tunnel. */
export function canBeCause(id: string): boolean {
  return !NEVER_A_CAUSE.has(id);
}

/** Words the finding of a check in one sentence, with its button and its evidence. */
export function findingWords(
  diagnosis: Diagnosis,
  tr: Translator,
): Pick<Cause, 'sentence' | 'remedy'> & { seen: string } {
  const { _ } = tr;
  const { id, fix, fixId, title, evidence, explanation } = translated(diagnosis, tr);
  const sentence = explanation ?? title;
  const button: Button | null = fix && fixButton({ id, fixId, fix }, sentence, tr);
  return {
    sentence,
    remedy: button ?? { label: fix ? _('Show the Fix') : _('Run Checks'), command: goTo('checks') },
    seen: `${title}: ${evidence.join('; ')}`,
  };
}

/**
 * Like `causeOf`, with the diagnosis of the checks. Its sentence and button replace those of the cause if the reason is
 * unknown or the check looks for this cause. Otherwise its sentence follows on a separate line, because the tunnel client
 * itself gave the reason.
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

/**
 * Parses the results that `culvert doctor --json` prints, for a client without a daemon. Skips invalid results.
 * @throws SyntaxError for text that is not JSON. @throws Error with the reason of a doctor that failed
 */
export function parseReport(text: string): Pick<DoctorReport, 'results' | 'undo'> {
  const report: unknown = JSON.parse(text);
  if (isRecord(report) && report.ok === false && typeof report.detail === 'string') throw new Error(report.detail);
  const listed = isRecord(report) && Array.isArray(report.results) ? report.results : [];
  const results = listed.filter(isRecord).flatMap(({ id, title, verdict, evidence, explanation, wording, source }) => {
    if (typeof id !== 'string' || typeof title !== 'string' || !WORST_FIRST.includes(verdict as Verdict)) return [];
    const result: CheckResult = {
      id,
      title,
      group: 'culvert',
      verdict: verdict as Verdict,
      evidence: strings(evidence),
      explanation: typeof explanation === 'string' ? explanation : null,
      source: typeof source === 'string' ? source : null,
      fix: null,
      fixId: null,
      appliesTo: null,
      durationMs: 0,
      ...(isWording(wording) ? { wording } : {}),
    };
    return [result];
  });
  return { results, undo: [] };
}

function isWording(value: unknown): value is NonNullable<CheckResult['wording']> {
  if (!isRecord(value)) return false;
  return [value.evidence, value.explanation].every(list => Array.isArray(list) && list.every(isMessage));
}

function isMessage(value: unknown): value is Message {
  if (!isRecord(value) || typeof value.text !== 'string' || !Array.isArray(value.values)) return false;
  const isNamed = (each: unknown) =>
    isRecord(each) && (typeof each.word === 'string' || !Number.isNaN(Date.parse(String(each.time))));
  return value.values.every(each => ['string', 'number'].includes(typeof each) || isNamed(each));
}

function strings(value: unknown): string[] {
  return Array.isArray(value) ? value.filter(item => typeof item === 'string') : [];
}
