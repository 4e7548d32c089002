// Reads the results of checks that the CLI prints, for a client without a daemon.
import type { CheckResult, DoctorReport, Verdict } from '../../api/doctor.ts';
import type { Message } from '../../api/values.ts';
import { WORST_FIRST } from '../states/findings.ts';

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
