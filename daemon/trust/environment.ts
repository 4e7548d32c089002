// Sets variables for the user's login shells, services and desktop, both now and after the next login.
import { basename, join } from 'node:path';
import { Failure } from '../core/errors.ts';
import { digestOf, rewriteFile } from '../core/undo.ts';
import { patchOf } from '../patch.ts';
import {
  changeFile,
  diffOf,
  type FileChange,
  type FileStep,
  type Journal,
  type OpenJournal,
  textOf,
  trustFailure,
  undoFile,
} from './journal.ts';
import { ask, type Command } from './probe.ts';

export interface Session {
  env: NodeJS.ProcessEnv;
  home: string;
  /** XDG_CONFIG_HOME. */
  config: string;
  signal: AbortSignal;
}

type Variables = Readonly<Record<string, string>>;

/** Returns the variables that the applied changes set. */
export function variablesOf({ tools }: Journal): Record<string, string> {
  const steps = Object.values(tools)
    .flat()
    .flatMap(step => (step.kind === 'variable' ? [[step.name, step.value]] : []));
  return Object.fromEntries(steps);
}

const START = '# >>> culvert trust >>>';
const END = '# <<< culvert trust <<<';
const BLOCK = new RegExp(`^${START}\\n[^]*?^${END}\\n`, 'm');

/** Returns the files that set the variables, with their new content. */
function environmentFiles({ env, home, config }: Session, variables: Variables): FileChange[] {
  const entries = Object.entries(variables);
  const lines = (prefix: string) => entries.map(([name, value]) => `${prefix}${name}="${value}"\n`).join('');
  const manager: FileChange = {
    path: join(config, 'environment.d', '60-culvert-trust.conf'),
    content: `# Written by Culvert. To undo it: culvert trust undo\n${lines('')}`,
  };
  const shell = basename(env.SHELL ?? 'sh');
  if (shell === 'fish') {
    const set = entries.map(([name, value]) => `set -gx ${name} "${value}"\n`).join('');
    return [
      manager,
      { path: join(config, 'fish', 'conf.d', 'culvert-trust.fish'), content: `${START}\n${set}${END}\n` },
    ];
  }
  const path = profileOf(shell, home, env);
  const before = textOf(path) ?? '';
  const block = `${START}\n${lines('export ')}${END}\n`;
  const start = before === '' || before.endsWith('\n') ? before : `${before}\n`;
  return [manager, { path, content: BLOCK.test(before) ? before.replace(BLOCK, () => block) : start + block }];
}

/** Returns the file that a login shell reads. bash reads the first existing file of three. */
function profileOf(shell: string, home: string, env: NodeJS.ProcessEnv): string {
  if (shell === 'zsh') return join(env.ZDOTDIR || home, '.zprofile');
  const names = shell === 'bash' ? ['.bash_profile', '.bash_login'] : [];
  const existing = names.map(name => join(home, name)).find(path => textOf(path) !== null);
  return existing ?? join(home, '.profile');
}

/** Returns the differences that a change of the variables makes, to show to a person. */
export function environmentDiffs(session: Session, variables: Variables): { target: string; diff: string }[] {
  const files = environmentFiles(session, variables).map(each => ({ target: each.path, diff: diffOf(each) }));
  return files.filter(({ diff }) => diff.includes('\n@@'));
}

/**
 * Writes the variables of the saved journal to the files and the service manager.
 * @returns a line for each change
 */
export async function applyEnvironment(session: Session, open: OpenJournal): Promise<string[]> {
  const { journal } = open;
  const variables = variablesOf(journal);
  const done: string[] = [];
  if (Object.keys(variables).length === 0) {
    for (const step of journal.environment.toReversed()) {
      const line = undoBlock(step.path, () => undoFile(step, open));
      if (line) done.push(line);
      journal.environment = journal.environment.filter(each => each !== step);
      open.save();
    }
  } else {
    for (const change of environmentFiles(session, variables)) {
      if (textOf(change.path) === change.content) continue;
      const first = journal.environment.find(({ path }) => path === change.path);
      changeFile(change, open, step => {
        journal.environment = [
          ...journal.environment.filter(each => each !== first),
          since(first, step, { open, content: change.content }),
        ];
      });
      done.push(`wrote ${change.path}`);
    }
  }
  return [...done, ...(await applySession(session, variables, open))];
}

/** Returns the step for a file that Culvert wrote before. Its undo restores the original file with later edits. */
function since(
  first: FileStep | undefined,
  step: FileStep,
  { open: { copyOf }, content }: { open: OpenJournal; content: string },
): FileStep {
  if (!first) return step;
  const { made } = first;
  let { copy } = first;
  if (step.copy !== null && digestOf(step.path) !== first.after) {
    copy = step.copy;
    rewriteFile(copyOf(copy), (textOf(copyOf(copy)) ?? '').replace(BLOCK, ''));
  }
  const original = copy === null ? '' : (textOf(copyOf(copy)) ?? '');
  return { ...step, copy, made, undo: patchOf(step.path, content, original) };
}

/** Runs an undo. If the user edited the file, the error names the block to remove. */
function undoBlock(path: string, undo: () => string | null): string | null {
  try {
    return undo();
  } catch (error) {
    if (!(error instanceof Failure && error.code === 'changed')) throw error;
    throw trustFailure('changed', error.message, `Remove what is between these lines of ${path}:\n${START}\n${END}`);
  }
}

/** Sets variables in the user's service manager, which passes them to all programs that it starts later. */
async function applySession(session: Session, variables: Variables, open: OpenJournal): Promise<string[]> {
  const { journal } = open;
  const wanted = Object.entries(variables);
  if (wanted.length === 0 && journal.session.length === 0) return [];
  const systemctl = (...args: string[]): Command => ({
    program: 'systemctl',
    args: ['--user', ...args],
    env: session.env,
  });
  const shown = await ask(systemctl('show-environment'), session.signal);
  if (shown?.code !== 0) return []; // the user's service manager does not run
  const now = new Map(shown.stdout.split('\n').map(line => [line.split('=', 1)[0] ?? '', line.replace(/^[^=]*=/, '')]));
  const set = wanted.filter(([name, value]) => now.get(name) !== value);
  const gone = journal.session.filter(({ name }) => !Object.hasOwn(variables, name));
  for (const [name] of set)
    if (!journal.session.some(each => each.name === name))
      journal.session.push({ name, before: now.get(name) ?? null });
  open.save();
  const back = gone.flatMap(({ name, before }) => (before === null ? [] : [`${name}=${before}`]));
  const unset = gone.flatMap(({ name, before }) => (before === null ? [name] : []));
  const assign = [...set.map(([name, value]) => `${name}=${value}`), ...back];
  if (assign.length > 0) await ask(systemctl('set-environment', ...assign), session.signal);
  if (unset.length > 0) await ask(systemctl('unset-environment', ...unset), session.signal);
  journal.session = journal.session.filter(each => !gone.includes(each));
  open.save();
  return assign.length + unset.length > 0 ? ['changed the environment of the user’s service manager'] : [];
}
