// Applies a fix that the user has seen, stores the steps that undo it, and undoes it.
import { lstatSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { ActionName } from '../api/actions.ts';
import type { CheckResult, Fix, Undoable } from '../api/doctor.ts';
import { errno, type Failure, isOneOf, reason } from '../core/errors.ts';
import { replaceFile, temporaryName } from '../core/files.ts';
import { sha256 } from '../core/hash.ts';
import { contentOf, digestOf, linkTo, replaceLink, restoreFile, rewriteFile } from '../core/undo.ts';
import { isRestart } from '../view/client/service-words.ts';
import { adminLines, adminUndoLines, quote } from '../view/fix.ts';
import { hasCrashed, mayHaveChanged } from '../warp/cli/failures.ts';
import { withoutText } from './file-fix.ts';
import {
  abandon,
  begin,
  type Entry,
  entriesOf,
  FIX_FAILURES,
  fixFailure,
  forgetStep,
  type HandedOver,
  handedOver,
  handOver,
  keepCopy,
  newestHappened,
  type Step,
  settle,
} from './fix-journal.ts';
import type { Tools } from './world/tools.ts';

export { entriesOf, type HandedOver, handedOver };

/** Dependencies of a fix. */
export interface FixContext {
  tools: Tools;
  /** Performs an action of the API. */
  runAction(action: ActionName, value: string | undefined): Promise<unknown>;
  /** File of the changes that can be undone. */
  journal: string;
}

const COMMAND_MS = 30_000;

/** Returns true if this process may apply a fix without an administrator. */
export function canApply(fix: Fix): boolean {
  return fix.kind === 'action' || fix.kind === 'open' || !fix.privileged || process.getuid?.() === 0;
}

/**
 * Applies the fix of a result. Stores the undo step of each change before the change, so that it survives a kill.
 * Remembers commands for an administrator as handed over.
 * @returns a line for each change that was made @throws Failure of `FIX_FAILURES`
 */
export async function applyFix({ id, fix }: CheckResult, context: FixContext): Promise<string[]> {
  if (!fix || fix.kind === 'open') throw fixFailure('nothing', `There is nothing to apply for ${id}.`);
  const about = {
    id,
    label: fix.label,
    ...(fix.wording ? { wording: fix.wording } : {}),
    at: new Date().toISOString(),
  };
  if (!canApply(fix)) {
    const shell = adminUndoLines(withoutText(fix));
    if (shell.length > 0) handOver(context.journal, { ...about, shell, file: fileOf(fix) });
    throw fixFailure('privileged', 'Only an administrator can do this.', administratorText(withoutText(fix)));
  }
  return applyOperations(operationsOf(fix, context), { ...about, steps: [] }, context.journal);
}

/**
 * Runs each operation once its undo is on disk. Keeps the undo of an operation that failed, unless nothing was done.
 * @returns a line for each change that was made @throws Failure
 */
export async function applyOperations(
  operations: readonly Operation[],
  entry: Entry,
  journal: string,
): Promise<string[]> {
  const done: string[] = [];
  for (const { does, undo, run, mayBeDone } of operations) {
    if (undo) begin(journal, entry, undo);
    try {
      await run();
    } catch (error) {
      const isDone = mayBeDone?.(error) !== false && (!undo || newestHappened(journal, entry));
      if (undo && !isDone) abandon(journal, entry);
      if (isOneOf(FIX_FAILURES, error)) throw error;
      throw fixFailure('failed', `${entry.label} failed: ${reason(error)}`, undefined, error);
    }
    if (undo) settle(journal, entry);
    done.push(does);
  }
  return done;
}

/** One change of a fix. */
export interface Operation {
  /** User-visible description. */
  does: string;
  /** Makes the step that undoes the change; undefined without one. */
  undo: (() => Step) | undefined;
  run(): unknown;
  /** Returns false if `run` failed before it changed anything. Absent if only the machine knows. */
  mayBeDone?(error: unknown): boolean;
}

function operationsOf(fix: Exclude<Fix, { kind: 'open' }>, context: FixContext): Operation[] {
  switch (fix.kind) {
    case 'file':
      if (fix.content === undefined) throw fixFailure('nothing', `The new text of ${fix.path} is not known here.`);
      return [
        replacement(fix.path, fix.content, context.journal),
        ...(fix.restart ? [command(['systemctl', 'try-restart', fix.restart], context.tools)] : []),
      ];
    case 'commands':
      return fix.commands.map((argv, i) => command(argv, context.tools, fix.undo[i]));
    case 'action':
      return fix.actions.map(({ action, value }, at) => ({
        does: [action, value].filter(Boolean).join(' '),
        undo: fix.undo[at] && constant({ kind: 'action', ...fix.undo[at] }),
        run: () => context.runAction(action, value),
        mayBeDone: mayHaveChanged,
      }));
  }
}

const constant = (step: Step) => () => step;

/** Returns the operation of a program; the command `undo` undoes it. */
export function command(argv: readonly string[], tools: Tools, undo?: readonly string[]): Operation {
  return {
    does: quote(argv),
    undo: undo && constant({ kind: 'command', argv: [...undo] }),
    run: () => runCommand(argv, tools),
    mayBeDone: () => tools.has(argv[0] ?? ''),
  };
}

/** Returns the operation that replaces a file with a symbolic link. */
export function linkInstead(path: string, target: string, journal: string): Operation {
  refuseDirectoryFor(path);
  return {
    does: `linked ${path} to ${target}`,
    undo: () => ({ kind: 'file', path, copy: keepCopy(journal, path), after: linkTo(target) }),
    run: () => replaceLink(path, target),
  };
}

/** Replaces or creates a file. */
export function replacement(path: string, content: string, journal: string): Operation {
  const info = lstatSync(path, { throwIfNoEntry: false });
  // keep a link, and write its target
  const target = info?.isSymbolicLink() ? targetOf(path) : path;
  if (info) refuseIrreversible(target);
  refuseDirectoryFor(target);
  return {
    does: `wrote ${path}`,
    undo: () => ({
      kind: 'file',
      path: target,
      copy: info ? keepCopy(journal, target) : null,
      after: sha256(content),
    }),
    run: () => (info ? rewriteFile(target, content) : replaceFile(target, content, { mode: 0o644 })),
  };
}

/** @throws Failure for a link without a readable target */
function targetOf(link: string): string {
  try {
    return realpathSync(link);
  } catch (error) {
    throw irreversible(`${link} is a link to what can't be read (${reason(error)})`);
  }
}

/** @throws Failure for a path that undo could not restore: hard links, bytes that are not text, or not a file */
function refuseIrreversible(path: string): void {
  const info = lstatSync(path);
  if (!info.isFile()) throw irreversible(`${path} is not a regular file`);
  if (info.nlink > 1) throw irreversible(`${path} has another name, as a hard link`);
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(path));
  } catch (error) {
    throw irreversible(`${path} ${error instanceof TypeError ? 'is not UTF-8 text' : "can't be read"}`);
  }
}

/** @throws Failure if a directory has the temporary name of the file */
function refuseDirectoryFor(path: string): void {
  const temporary = temporaryName(path);
  if (lstatSync(temporary, { throwIfNoEntry: false })?.isDirectory())
    throw fixFailure(
      'failed',
      `${temporary} is a directory, where the new file is written first. Remove or rename it, then try again.`,
    );
}

function irreversible(why: string): Failure {
  return fixFailure('failed', `${why}, so the change could not be undone. Nothing was changed.`);
}

function fileOf(fix: Fix): HandedOver['file'] {
  return fix.kind === 'file' ? { path: fix.path, before: digestOf(fix.path) } : null;
}

/** Returns commands for an administrator, and their undo commands. */
function administratorText(fix: Fix): string {
  const undo = adminUndoLines(fix);
  return [...adminLines(fix), ...(undo.length > 0 ? ['Undo it with:', ...undo] : [])].join('\n');
}

/** Returns the changes that can be undone, newest first. */
export function undoable(journal: string): (Undoable & { steps: string[] })[] {
  return entriesOf(journal).map(({ steps, ...entry }) => ({ ...entry, steps: steps.map(stepText) }));
}

/** Undoes the newest fix, and forgets each step that is undone. @returns a line for each step @throws Failure */
export async function undoLast(context: FixContext): Promise<string[]> {
  const [entry] = entriesOf(context.journal);
  if (!entry) throw fixFailure('nothing', 'There is nothing to undo.');
  const done: string[] = [];
  for (const step of inOrder(entry.steps)) {
    try {
      if (step.kind === 'file') restore(step, context.journal);
      else if (step.kind === 'command') await runCommand(step.argv, context.tools);
      else await context.runAction(step.action, step.value);
    } catch (error) {
      // maybe the change was never made, and there is nothing to undo
      if (step.begun && step.kind !== 'file' && isAnswer(error)) {
        forgetStep(context.journal, entry, step);
        continue;
      }
      if (isOneOf(FIX_FAILURES, error)) throw error;
      throw fixFailure('failed', `${stepText(step)} failed: ${reason(error)}`, undefined, error);
    }
    forgetStep(context.journal, entry, step);
    done.push(stepText(step));
  }
  return done;
}

/** Codes of answers, such as that there is no such entry. Other failures, and crashes, say nothing about what is set. */
const ANSWERS: readonly string[] = [
  'tunnel-cli-failed',
  'argument-rejected',
  'unsupported-by-cli',
  'failed' satisfies keyof typeof FIX_FAILURES,
];

const isAnswer = (error: unknown) => ANSWERS.includes(errno(error) ?? '') && !hasCrashed(error);

/** Returns the steps with restarts of WARP's service at the end, where it reads what the others restored. */
function inOrder(steps: readonly Step[]): Step[] {
  const last = (step: Step) => step.kind === 'command' && isRestart(step.argv);
  return [...steps.filter(step => !last(step)), ...steps.filter(last)];
}

/** Restores a file from its copy, with owner, mode and extended attributes. */
function restore({ path, copy, after }: Extract<Step, { kind: 'file' }>, journal: string): void {
  const original = copy === null ? null : join(dirname(journal), copy);
  const now = contentOf(path);
  if (now === (original && digestOf(original))) return;
  if (now !== after)
    throw fixFailure('changed', `${path} was changed after the fix, so it was left as it is.`, 'Edit it by hand.');
  if (original === null) {
    rmSync(path);
    return;
  }
  refuseDirectoryFor(path);
  restoreFile(original, path);
}

async function runCommand(argv: readonly string[], tools: Tools): Promise<void> {
  const [program = '', ...args] = argv;
  const { exitCode, stderr } = await tools.run(program, args, { limitMs: COMMAND_MS });
  if (exitCode === null) throw fixFailure('ended', `${quote(argv)} was ended by a signal. It may have taken effect.`);
  if (exitCode !== 0) throw fixFailure('failed', `${quote(argv)} failed: ${stderr.trim() || `exit code ${exitCode}`}`);
}

function stepText(step: Step): string {
  if (step.kind === 'file') return step.copy === null ? `remove ${step.path}` : `restore ${step.path}`;
  return step.kind === 'command' ? quote(step.argv) : [step.action, step.value].filter(Boolean).join(' ');
}
