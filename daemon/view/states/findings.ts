// Words the findings of the checks, joins them with the reason of a failure, and reads the report that the CLI prints.
import type { CheckResult, Diagnosis, DoctorProgress, DoctorReport, Fix, Undoable, Verdict } from '../../api/doctor.ts';
import type { Snapshot } from '../../api/schema.ts';
import type { Message } from '../../api/values.ts';
import { fixText } from '../fix.ts';
import { type Button, goTo } from '../form.ts';
import { wordMessage, wordMessages } from '../message.ts';
import { fill, type Translator } from '../translator.ts';
import { type Cause, causeOf } from './causes.ts';

export const WORST_FIRST: readonly Verdict[] = ['problem', 'unknown', 'notice', 'ok', 'not-applicable'];

export interface ChecksState {
  /** Checks that ended, of all; null while nothing runs. */
  running: { completed: number; total: number } | null;
  /** The newest result of each check. */
  results: readonly CheckResult[];
  /** The fix that can be undone. */
  undo: Undoable | null;
  /** Why the checks could not be run. */
  failed: string | null;
}

export const NO_CHECKS: ChecksState = { running: null, results: [], undo: null, failed: null };

/** The state after a `doctor` event, no matter which client started the run. */
export function receiveProgress(state: ChecksState, progress: DoctorProgress): ChecksState {
  const { running, completed, total, result, undo } = progress;
  return {
    running: running ? { completed, total } : null,
    results: result ? [...state.results.filter(({ id }) => id !== result.id), result] : state.results,
    undo: undo ? (undo[0] ?? null) : state.undo,
    failed: null,
  };
}

/** The state after a whole report. */
export function receiveReport({ results, undo }: Pick<DoctorReport, 'results' | 'undo'>): ChecksState {
  return { running: null, results, undo: undo[0] ?? null, failed: null };
}

/**
 * A finding in the reader's language. What it quotes of the machine stays as it is, and so does the text of a daemon
 * that is too old to send the wording.
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

/** The words of a fix's button. */
export function labelOf({ label, wording }: Pick<Fix, 'label' | 'wording'>, tr: Translator): string {
  return wording ? wordMessage(wording, tr) : label;
}

/** A fix with the finding that it repairs. */
export type Repair = Pick<CheckResult, 'id' | 'fixId'> & { fix: Fix };

/** True for a fix that an administrator makes in a terminal. */
export function needsAdministrator(fix: Fix): boolean {
  return (fix.kind === 'file' || fix.kind === 'commands') && fix.privileged;
}

/**
 * The one button for a fix outside the page of checks.
 * @returns null for a fix that has to be read and copied there
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

/** The finding of a check in one sentence, with its button and its evidence. */
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

/**
 * The results that `culvert doctor --json` prints, for a client without a daemon. Anything else in the list is left out.
 * @throws SyntaxError for text that is not JSON
 */
export function parseReport(text: string): Pick<DoctorReport, 'results' | 'undo'> {
  const report: unknown = JSON.parse(text);
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

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
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
