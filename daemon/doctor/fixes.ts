// Applies a fix that the user has seen, remembers how to take it back, and takes it back.
import { createHash } from 'node:crypto';
import { lstatSync, realpathSync, rmSync } from 'node:fs';
import type { ActionName } from '../api/actions.ts';
import type { CheckResult, Fix, Undoable } from '../api/schema/doctor.ts';
import { reason } from '../system/errno.ts';
import { readText, replaceFile } from '../system/files.ts';
import { adminLines, adminUndoLines, quote } from '../view/fix.ts';
import {
  abandon,
  begin,
  type Entry,
  entriesOf,
  FixError,
  forget,
  type HandedOver,
  handedOver,
  handOver,
  type Step,
  settle,
} from './fix-journal.ts';
import type { Tools } from './world/tools.ts';

export { FixError, type HandedOver, handedOver };

/** What fixes are carried out with. */
export interface Hands {
  tools: Tools;
  /** Performs an action of the API. */
  perform(action: ActionName, value: string | undefined): Promise<unknown>;
  /** File that remembers what can be taken back. */
  journal: string;
}

const COMMAND_MS = 30_000;

/** Whether this process can carry out a fix by itself. */
export function canApply(fix: Fix): boolean {
  return fix.kind === 'action' || fix.kind === 'open' || !fix.privileged || process.getuid?.() === 0;
}

/**
 * Carries out the fix of a result. How to take it back is on disk before each change, so that a process that is killed
 * in between leaves it behind. What only an administrator may do is remembered as handed over.
 * @returns what was done, a line each @throws FixError
 */
export async function applyFix({ id, fix }: CheckResult, hands: Hands): Promise<string[]> {
  if (!fix || fix.kind === 'open') throw new FixError('nothing', `There is nothing to apply for ${id}.`);
  const about = {
    id,
    label: fix.label,
    ...(fix.wording ? { wording: fix.wording } : {}),
    at: new Date().toISOString(),
  };
  if (!canApply(fix)) {
    const shell = adminUndoLines(fix);
    if (shell.length > 0) handOver(hands.journal, { ...about, shell, file: fileOf(fix) });
    throw new FixError('privileged', 'Only an administrator can do this.', administratorText(fix));
  }
  const entry: Entry = { ...about, steps: [] };
  try {
    return await carryOut(operationsOf(fix, hands), entry, hands.journal);
  } catch (error) {
    if (error instanceof FixError) throw error;
    throw new FixError('failed', `${fix.label} failed: ${reason(error)}`, undefined, error);
  }
}

/** Each operation after what takes it back is on disk. */
async function carryOut(operations: readonly Operation[], entry: Entry, journal: string): Promise<string[]> {
  const done: string[] = [];
  for (const { does, undo, run } of operations) {
    if (undo) begin(journal, entry, undo);
    try {
      await run();
    } catch (error) {
      if (undo) abandon(journal, entry);
      throw error;
    }
    if (undo) settle(journal, entry);
    done.push(does);
  }
  return done;
}

interface Operation {
  /** What it does, for the user. */
  does: string;
  /** What takes it back; undefined where nothing does. */
  undo: Step | undefined;
  run(): unknown;
}

function operationsOf(fix: Exclude<Fix, { kind: 'open' }>, hands: Hands): Operation[] {
  switch (fix.kind) {
    case 'file':
      return [replacement(fix.path, fix.content)];
    case 'commands':
      return fix.commands.map((argv, at) => ({
        does: quote(argv),
        undo: fix.undo[at] && { kind: 'command', argv: fix.undo[at] },
        run: () => runCommand(argv, hands),
      }));
    case 'action':
      return fix.actions.map(({ action, value }, at) => ({
        does: [action, value].filter(Boolean).join(' '),
        undo: fix.undo[at] && { kind: 'action', ...fix.undo[at] },
        run: () => hands.perform(action, value),
      }));
  }
}

function replacement(path: string, content: string): Operation {
  const info = lstatSync(path, { throwIfNoEntry: false });
  // a file behind a link stays behind it
  const target = info?.isSymbolicLink() ? realpathSync(path) : path;
  const mode = info ? lstatSync(target).mode & 0o777 : 0o644;
  const before = readText(target);
  if (info && before === null)
    throw new FixError('failed', `${path} can't be read, so the change could not be taken back. Nothing was changed.`);
  return {
    does: `wrote ${path}`,
    undo: { kind: 'file', path: target, before, after: digest(content) },
    run: () => replaceFile(target, content, { mode }),
  };
}

function fileOf(fix: Fix): HandedOver['file'] {
  return fix.kind === 'file' ? { path: fix.path, before: readText(fix.path) } : null;
}

/** What an administrator runs, and what takes that back. */
function administratorText(fix: Fix): string {
  const undo = adminUndoLines(fix);
  return [...adminLines(fix), ...(undo.length > 0 ? ['Take it back with:', ...undo] : [])].join('\n');
}

/** What can be taken back, newest first. */
export function undoable(journal: string): (Undoable & { steps: string[] })[] {
  return entriesOf(journal).map(({ steps, ...entry }) => ({ ...entry, steps: steps.map(describe) }));
}

/** Takes the newest change back. @returns what was done, a line each @throws FixError */
export async function undoLast(hands: Hands): Promise<string[]> {
  const [entry] = entriesOf(hands.journal);
  if (!entry) throw new FixError('nothing', 'There is nothing to take back.');
  const done: string[] = [];
  for (const step of entry.steps) {
    try {
      if (step.kind === 'file') restore(step);
      else if (step.kind === 'command') await runCommand(step.argv, hands);
      else await hands.perform(step.action, step.value);
    } catch (error) {
      // a change of which nobody knows whether it was made may not be there to be taken back
      if (step.begun && step.kind !== 'file') continue;
      if (error instanceof FixError) throw error;
      throw new FixError('failed', `${describe(step)} failed: ${reason(error)}`, undefined, error);
    }
    done.push(describe(step));
  }
  forget(hands.journal, entry);
  return done;
}

function restore({ path, before, after }: Extract<Step, { kind: 'file' }>): void {
  const now = readText(path);
  if (now === before) return;
  if (now === null || digest(now) !== after)
    throw new FixError('changed', `${path} was changed after the fix, so it was left as it is.`, 'Edit it by hand.');
  const mode = lstatSync(path).mode & 0o777;
  if (before === null) rmSync(path);
  else replaceFile(path, before, { mode });
}

async function runCommand(argv: readonly string[], { tools }: Hands): Promise<void> {
  const [program = '', ...args] = argv;
  const { exitCode, stderr } = await tools.run(program, args, { limitMs: COMMAND_MS });
  if (exitCode !== 0)
    throw new FixError('failed', `${quote(argv)} failed: ${stderr.trim() || `exit code ${exitCode}`}`);
}

function describe(step: Step): string {
  if (step.kind === 'file') return step.before === null ? `remove ${step.path}` : `restore ${step.path}`;
  return step.kind === 'command' ? quote(step.argv) : [step.action, step.value].filter(Boolean).join(' ');
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
