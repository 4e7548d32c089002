// Describes what the checks have found so far, in the reader's language, and the button that repairs a finding.
import type { CheckResult, DoctorProgress, DoctorReport, Fix, Undoable, Verdict } from '../../api/doctor.ts';
import { fixText } from '../fix.ts';
import type { Command } from '../form.ts';
import { wordMessage, wordMessages } from '../message.ts';
import type { Translator } from '../translator.ts';

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
export function fixButton(
  { id, fixId, fix }: Repair,
  body: string,
  { _ }: Translator,
): { label: string; command: Command } | null {
  if (fix.kind === 'open') return { label: fix.label, command: { ask: { kind: 'open', uri: fix.url } } };
  if (needsAdministrator(fix) || fixId === null) return null;
  const confirm = { heading: fix.label, body, text: fixText(fix), accept: _('Apply') };
  const ask = { kind: 'fix', request: { id, fixId } } as const;
  return { label: fix.label, command: { ask, confirm, undo: { kind: 'undo-fix' }, done: _('Applied') } };
}
