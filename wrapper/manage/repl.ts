// Replaces a CLI's own prompt: the upstream can't restart itself after a limit, so each line runs with failover.
import * as readline from 'node:readline';
import { isatty } from 'node:tty';
import type { Context, End, Invocation } from '../context.ts';
import { rulingFor } from '../run/accounts/select-account.ts';
import { loadPlan, readInvocation } from '../run/invocation.ts';
import { passThrough } from '../run/original.ts';
import { failover } from '../run/run.ts';
import { noStdin } from '../run/upstream/channels.ts';
import { AUTH_WORDS } from '../shims/shim.ts';
import type { Plan } from '../store/plan.ts';
import { say, WrapError } from '../system/errors.ts';

/**
 * Reads lines until end of file or one of the catalog's words to leave. A failing line does not end the prompt.
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
 * Lines typed at the terminal, with editing and history. Ctrl-C empties the line, Ctrl-D leaves. Between two lines the
 * terminal is in its own mode, so that an upstream can have it. Of several lines that are pasted each runs, as long as none
 * is interrupted.
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
  /** One, or those of a paste. */
  lines: string[];
  /** Text after the last line end. */
  begun: string;
  history: string[];
  /** Ctrl-D, or the terminal is gone. */
  left: boolean;
}

/** A terminal delivers a paste in pieces, and drops what does not fit into 4 KiB once it is in its own mode. */
const PASTE_MS = 20;

/** Reads at least one line, and with it all that arrives in a paste. */
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

/** The words of a line, without the CLI's own name, which people type from habit. */
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
      // The end of the prompt is a success, however its lines ended.
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

/** Runs a line with an account, unless the line itself names another host, profile or the like. */
async function runWithAccount(invocation: Invocation, plan: Plan, original: string, context: Context): Promise<End> {
  // the variables were named when the prompt began
  const { HOME, CULVERT_WRAP_ACCOUNT } = context.env;
  const ruling = await rulingFor(plan, invocation, { ...context, env: { HOME, CULVERT_WRAP_ACCOUNT } });
  if (ruling) say(ruling.line);
  if (ruling?.runs === 'original') return passThrough(original, invocation.args, context, plan);
  // From a pipe, the rest are further lines and not the upstream's input.
  const stdin = isatty(0) ? undefined : noStdin;
  const own = { ...context, staysAlive: true };
  return failover({ plan, original, invocation, context: own, stdin, ownChoice: ruling?.choice });
}

/** Counts an upstream's end by Ctrl-C as the prompt's own: the same signal to this process may be handled later. */
function noteInterrupt({ signals }: Context, { signal }: End): void {
  if (signal === 'SIGINT') signals.received = signal;
}

/** Accounts may be added or disabled while the prompt is open. */
async function currentPlan(plan: Plan, context: Context): Promise<Plan> {
  return loadPlan(plan.cli, context).catch(() => plan);
}

/** Words with the shell's quoting rules for '…', "…" and \; `undefined` when a quote is left open. */
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
