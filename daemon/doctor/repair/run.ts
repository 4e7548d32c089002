// Runs one request to `culvert-repair`, which makes a listed change completely or undoes the newest change.
import { dirname, join } from 'node:path';
import { Failure } from '../../core/errors.ts';
import { makeDirectory } from '../../core/files.ts';
import { acquireLock } from '../../core/lock.ts';
import { labeled } from '../file-fix.ts';
import { fixFailure, REPAIR_JOURNAL } from '../fix-journal.ts';
import { applyOperations, entriesOf, type FixContext, undoLast } from '../fixes.ts';
import type { Tools } from '../world/tools.ts';
import { type Machine, type Repair, repairOf, requireOwnDirectories } from './repairs.ts';

const MAX_WORDS = 32;
const MAX_CHARACTERS = 64;

/**
 * @param argv `fix NAME [PARAMETER]…` or `undo`
 * @param root the directory to change: `/`, and never a caller's choice
 * @returns a line for each change that was made @throws Failure
 */
export async function runRepair(argv: readonly string[], root: string, tools: Tools): Promise<string[]> {
  const request = parse(argv);
  const machine: Machine = { root, tools, journal: join(root, REPAIR_JOURNAL) };
  const directory = dirname(machine.journal);
  requireOwnDirectories(root, directory);
  makeDirectory(directory, 0o755);
  requireOwnDirectories(root, machine.journal);
  const lock = acquireLock(`${machine.journal}.running`);
  if ('heldBy' in lock) throw fixFailure('busy', `Process ${lock.heldBy} is repairing something. Try again.`);
  try {
    return request === 'undo' ? await undo(machine) : await repair(machine, request);
  } finally {
    lock.release();
  }
}

interface Request {
  repair: Repair;
  parameters: readonly string[];
}

function parse(argv: readonly string[]): Request | 'undo' {
  const [verb, name, ...parameters] = argv;
  const isShort = argv.length <= MAX_WORDS && argv.every(word => word.length <= MAX_CHARACTERS);
  if (isShort && verb === 'undo' && name === undefined) return 'undo';
  const repair = isShort && verb === 'fix' && name !== undefined ? repairOf(name, parameters) : null;
  if (!repair) throw fixFailure('nothing', 'This is not a repair of the list. Nothing was changed.');
  return { repair, parameters };
}

/** Makes a change. Undoes the same change of an earlier run first, and undoes a change that fails midway. */
async function repair(machine: Machine, { repair: { check, label, plan }, parameters }: Request): Promise<string[]> {
  const { journal } = machine;
  const [newest] = entriesOf(journal);
  const wording = label(parameters);
  const entry = { id: check, ...labeled(wording), at: new Date().toISOString() };
  if (newest?.id === check && newest.label === entry.label) await undoUnchanged(machine);
  const operations = await plan(machine, parameters);
  try {
    const done = await applyOperations(operations, { ...entry, steps: [] }, journal);
    return done.filter(line => line !== '');
  } catch (error) {
    if (entriesOf(journal).some(({ id, at }) => id === check && at === entry.at)) await undo(machine);
    throw error;
  }
}

async function undo(machine: Machine): Promise<string[]> {
  const [newest] = entriesOf(machine.journal);
  for (const step of newest?.steps ?? []) if (step.kind === 'file') requireOwnDirectories(machine.root, step.path);
  return undoLast(contextOf(machine));
}

/** Undoes the newest change, unless another program has written the file since. */
async function undoUnchanged(machine: Machine): Promise<void> {
  try {
    await undo(machine);
  } catch (error) {
    if (!(error instanceof Failure && error.code === 'changed')) throw error;
  }
}

function contextOf({ tools, journal }: Machine): FixContext {
  return {
    tools,
    journal,
    async runAction() {
      throw fixFailure('failed', 'Root’s side performs no action of the API.');
    },
  };
}
