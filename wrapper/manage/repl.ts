// Replaces a CLI's own prompt, which can't change the account after a limit, and runs each line with failover.
import * as readline from 'node:readline';
import { isatty } from 'node:tty';
import type { Context, End, Invocation } from '../context.ts';
import { rulingFor } from '../run/accounts/select-account.ts';
import { failover } from '../run/failover.ts';
import { loadPlan, readInvocation } from '../run/invocation.ts';
import { passThrough } from '../run/original.ts';
import { noStdin } from '../run/upstream/channels.ts';
import { AUTH_WORDS } from '../shims/shim.ts';
import type { Plan } from '../store/plan.ts';
import { say, WrapError } from '../system/errors.ts';

/**
 * Reads and runs lines until the end of file or a word for leaving from the catalog. A failing line does not end the prompt.
 * @returns exit 0, as the CLIs' own prompts do
 */
export async function lineRepl(plan: Plan, original: string, context: Context): Promise<End> {
  const leave = plan.provider.line_repl?.exit ?? [];
  const { signals } = context;
  const lines = isatty(0)
    ? typedLines(`${plan.cli}> `, () => signals.received !== undefined)
    : readline.createInterface({ input: process.stdin });
  for await (const line of lines) {
    signals.received = undefined;
    const words = wordsOf(line, plan);
    if (words === undefined) say('a quote is not closed');
    else if (words.length === 1 && leave.includes(words[0]!)) break;
    else if (words.length > 0) await runLine(words, await currentPlan(plan, context), original, context);
  }
  return { exit: 0, signal: null };
}

/**
 * Reads lines from the terminal, with editing and history. Ctrl-C empties the line, and Ctrl-D leaves. While a line runs, the
 * terminal is in its normal mode, for the upstream. Each line of a paste runs until one is interrupted.
 */
async function* typedLines(prompt: string, isInterrupted: () => boolean): AsyncGenerator<string> {
  let typed: Typed = { lines: [], begun: '', history: [], left: false };
  while (!typed.left) {
    typed = await readTyped(prompt, typed);
    for (const [at, line] of typed.lines.entries()) {
      if (at > 0) process.stderr.write(`${prompt}${line}\n`);
      yield line;
      const others = typed.lines.length - at - 1;
      if (others === 0 || !isInterrupted()) continue;
      say(others === 1 ? 'the line that was pasted after it is not run' : `${others} pasted lines are not run`);
      break;
    }
  }
  process.stderr.write('\n');
}

interface Typed {
  /** A single line, or all lines of a paste. */
  lines: string[];
  /** Text after the last line end. */
  begun: string;
  history: string[];
  /** True after Ctrl-D, or if the terminal is gone. */
  left: boolean;
}

/** Longest pause within a paste. A terminal delivers a paste in pieces and, in its normal mode, drops text beyond 4 KiB. */
const PASTE_MS = 20;

/** Reads a line, or all lines of a paste. */
function readTyped(prompt: string, { begun, history }: Pick<Typed, 'begun' | 'history'>): Promise<Typed> {
  const { stdin, stderr } = process;
  const editor = readline.createInterface({ input: stdin, output: stderr, terminal: true, prompt, history });
  const typed: Typed = { lines: [], begun: '', history, left: true };
  let timer: NodeJS.Timeout | undefined;
  const finish = () => {
    typed.left = false;
    typed.begun = editor.line;
    if (editor.line !== '') {
      readline.cursorTo(stderr, 0);
      readline.clearLine(stderr, 0);
    }
    editor.close();
  };
  const wait = () => {
    clearTimeout(timer);
    if (typed.lines.length > 0) timer = setTimeout(finish, PASTE_MS);
  };
  editor.on('history', entries => {
    typed.history = [...entries];
  });
  editor.on('SIGINT', () => {
    editor.write(null, { ctrl: true, name: 'e' });
    editor.write(null, { ctrl: true, name: 'u' });
    stderr.write('^C\n');
    editor.prompt();
  });
  editor.on('line', text => typed.lines.push(text));
  stdin.on('keypress', wait);
  editor.prompt();
  editor.write(begun);
  return new Promise(resolve => {
    editor.on('close', () => {
      clearTimeout(timer);
      stdin.off('keypress', wait);
      resolve(typed);
    });
  });
}

/** Splits a line into words, without the CLI's name, which users type from habit. */
function wordsOf(line: string, plan: Plan): string[] | undefined {
  const words = splitWords(line);
  return words?.[0] === plan.cli || words?.[0] === plan.provider.bin ? words.slice(1) : words;
}

async function runLine(words: string[], plan: Plan, original: string, context: Context): Promise<void> {
  const { provider } = plan;
  const invocation = readInvocation(words, provider);
  try {
    if (words[0] === provider.auth_command && AUTH_WORDS.some(word => word === words[1])) {
      const { runAuth } = await context.loadCommands();
      await runAuth(plan.cli, words.slice(1), context);
      // A failing line must not change the prompt's exit status.
      process.exitCode = undefined;
    } else if (invocation.passthrough) noteInterrupt(context, await passThrough(original, words, context, plan));
    else {
      noteInterrupt(context, await runWithAccount(invocation, plan, original, context));
    }
  } catch (error) {
    if (!(error instanceof WrapError)) throw error;
    say(error.message);
  }
}

/** Runs a line with an account, unless the line itself chooses another host or a profile. */
async function runWithAccount(invocation: Invocation, plan: Plan, original: string, context: Context): Promise<End> {
  // the prompt reported the user's variables at its start
  const { HOME, CULVERT_WRAP_ACCOUNT } = context.env;
  const ruling = await rulingFor(plan, invocation, { ...context, env: { HOME, CULVERT_WRAP_ACCOUNT } });
  if (ruling) say(ruling.line);
  if (ruling?.runs === 'original') return passThrough(original, invocation.args, context, plan);
  // In a pipe, the rest contains further lines, and not input for the upstream.
  const stdin = isatty(0) ? undefined : noStdin;
  const own = { ...context, staysAlive: true };
  return failover({ plan, original, invocation, context: own, stdin, ownChoice: ruling?.choice });
}

/** Records an upstream's end by Ctrl-C as an interrupt, because this process may handle the same signal later. */
function noteInterrupt({ signals }: Context, { signal }: End): void {
  if (signal === 'SIGINT') signals.received = signal;
}

/** Loads the plan again, because accounts may have changed while the prompt is open. */
async function currentPlan(plan: Plan, context: Context): Promise<Plan> {
  return loadPlan(plan.cli, context).catch(() => plan);
}

/** Splits a line by the shell's quoting rules for '…', "…" and \. It returns `undefined` if a quote is not closed. */
export function splitWords(line: string): string[] | undefined {
  const words: string[] = [];
  let word: string | undefined;
  let quote = '';
  for (let i = 0; i < line.length; i++) {
    const char = line[i]!;
    if (quote === '' && /\s/.test(char)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else if (quote === '' && (char === '"' || char === "'")) {
      quote = char;
      word ??= '';
    } else if (char === quote) quote = '';
    else if (char === '\\' && quote !== "'" && i + 1 < line.length) word = (word ?? '') + line[++i];
    else word = (word ?? '') + char;
  }
  if (quote !== '') return undefined;
  if (word !== undefined) words.push(word);
  return words;
}
