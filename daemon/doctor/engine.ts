// Runs checks in parallel, each within its time limit, and turns every outcome into a result.
import { createHash } from 'node:crypto';
import type { CheckResult, Fix } from '../api/doctor.ts';
import type { Message } from '../api/values.ts';
import { reason } from '../core/errors.ts';
import { printable } from '../core/printable.ts';
import { message, wordMessage, wordMessages } from '../view/message.ts';
import { english } from '../view/translator.ts';
import { compareVersions } from '../view/versions.ts';
import { type Check, type Finding, NoVerdict, notApplicable, type VersionRange } from './check.ts';
import { forThisMachine } from './service-fix.ts';
import type { World } from './world/world.ts';

export interface RunOptions {
  /** Called when a probe starts; `onResult` gets the result when it has ended. */
  onStart?(check: Check): void;
  onResult?(result: CheckResult): void;
  /** Replaces every check's own time limit, in milliseconds. */
  limitMs?: number;
}

/** Parallel checks; more would only compete for two cores. */
const AT_ONCE = 6;
/** Long enough for a slow machine: clients show each result when it arrives. */
const LIMIT_MS = 10_000;
const EVIDENCE_LINES = 12;
const LINE_LENGTH = 300;

/**
 * Runs `checks` and resolves with their results, in the order of `checks`. Never rejects: a probe that fails or hangs
 * is `unknown`, with the reason as its evidence.
 */
export async function runChecks(
  checks: readonly Check[],
  world: World,
  options: RunOptions = {},
): Promise<CheckResult[]> {
  const results: CheckResult[] = [];
  const waiting = [...checks.entries()];
  const work = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const [at, check] = next;
      options.onStart?.(check);
      results[at] = await runCheck(check, world, options.limitMs);
      options.onResult?.(results[at]);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return results;
}

async function runCheck(check: Check, world: World, limit: number | undefined): Promise<CheckResult> {
  const started = performance.now();
  const finding = forThisMachine(
    await findingOf(check, world, limit ?? check.limitMs ?? LIMIT_MS),
    world.serviceManager,
  );
  const { id, title, group, source } = check;
  const fix = finding.fix ? cleanFix(finding.fix) : null;
  const evidence = firstLines(finding.evidence).map(cleanMessage);
  const explanation = (finding.explanation ?? []).map(cleanMessage);
  return {
    id,
    title,
    group,
    verdict: finding.verdict,
    evidence: evidence.map(each => oneLine(wordMessage(each, english))),
    explanation: finding.explanation ? wordMessages(explanation, english) : null,
    wording: { evidence, explanation },
    fix,
    fixId: fix && createHash('sha256').update(JSON.stringify(fix)).digest('base64url').slice(0, 22),
    source,
    appliesTo: describeRange(check.appliesTo),
    durationMs: Math.round(performance.now() - started),
  };
}

async function findingOf(check: Check, world: World, limitMs: number): Promise<Finding> {
  const other = outsideRange(check.appliesTo?.versions, world);
  if (other) return other;
  if (world.signal.aborted) return unknown(message('It was interrupted.'));
  const limit = new AbortController();
  const signal = AbortSignal.any([limit.signal, world.signal]);
  let timer: NodeJS.Timeout | undefined;
  const ended = new Promise<Finding>(resolve => {
    timer = setTimeout(() => limit.abort(), limitMs);
    const end = () =>
      resolve(
        unknown(
          limit.signal.aborted
            ? message('There was no answer within %s s.', String(limitMs / 1000))
            : message('It was interrupted.'),
        ),
      );
    signal.addEventListener('abort', end, { once: true });
  });
  try {
    const probe = check.probe(world, signal).catch(findingOfError);
    return await Promise.race([probe, ended]);
  } catch (error) {
    return findingOfError(error); // the probe threw before its first await
  } finally {
    clearTimeout(timer);
  }
}

function findingOfError(error: unknown): Finding {
  if (error instanceof NoVerdict) return { verdict: error.verdict, evidence: error.wording };
  return unknown(message('The check failed: %s', reason(error)));
}

function unknown(why: Message): Finding {
  return { verdict: 'unknown', evidence: [why] };
}

/** Returns the finding for a version outside the check's range; null if the probe must run. */
function outsideRange(range: VersionRange | undefined, { tunnel }: World): Finding | null {
  if (!range) return null;
  const version = tunnel?.tunnelCli.version ?? null;
  if (version === null)
    return tunnel?.tunnelCli.available === false
      ? notApplicable(message('The tunnel CLI is not installed.'))
      : unknown(message('The version of the tunnel CLI is not known.'));
  return inRange(version, range) ? null : notApplicable(message('Version %s is not affected.', version));
}

/** Returns true if a version is in a range; an absent bound sets no limit. */
export function inRange(version: string, { since, before }: VersionRange): boolean {
  return (!since || compareVersions(version, since) >= 0) && (!before || compareVersions(version, before) < 0);
}

function describeRange(appliesTo: Check['appliesTo']): string | null {
  const { versions, systems } = appliesTo ?? {};
  const range = [versions?.since && `from ${versions.since}`, versions?.before && `before ${versions.before}`];
  return [range.filter(Boolean).join(', '), systems].filter(Boolean).join('; ') || null;
}

function firstLines(lines: readonly Message[]): Message[] {
  const first = lines.slice(0, EVIDENCE_LINES);
  const more = lines.length - EVIDENCE_LINES;
  return more > 0 ? [...first, message('Further lines: %d', more)] : first;
}

/** Cleans the values of a message: the sentence itself is Culvert's. */
function cleanMessage({ values, ...sentence }: Message): Message {
  return { ...sentence, values: values.map(value => (typeof value === 'string' ? oneLine(value) : value)) };
}

/** Cleans the label of a fix: only the label has text from outside. */
function cleanFix(fix: Fix): Fix {
  return { ...fix, label: oneLine(fix.label), ...(fix.wording ? { wording: cleanMessage(fix.wording) } : {}) };
}

/** Puts text from files and programs on one line of readable length, which can't control a terminal. */
export function oneLine(text: string): string {
  const line = printable(text.slice(0, 4 * LINE_LENGTH));
  return line.length > LINE_LENGTH ? `${line.slice(0, LINE_LENGTH)}…` : line;
}
