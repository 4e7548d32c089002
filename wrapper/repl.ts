// Replaces a CLI's own prompt: the upstream can't restart itself after a limit, so each line runs with failover.
import * as readline from 'node:readline';
import { WrapError } from './errors.ts';
import { failover } from './failover.ts';
import { readInvocation } from './invocation.ts';
import { loadPlan, type Plan } from './plan.ts';
import { type Context, type End, runOriginal, say } from './run.ts';
import { noStdin } from './stdin.ts';

/**
 * Reads lines until end of file or one of the catalog's words to leave. A failing line does not end the prompt.
 * @returns exit 0, as the CLIs' own prompts do
 */
export async function lineRepl(plan: Plan, original: string, context: Context): Promise<End> {
  const interactive = process.stdin.isTTY === true;
  const leave = plan.provider.line_repl?.exit ?? [];
  // The terminal stays in its line mode, so that an upstream can have it in between.
  const lines = readline.createInterface({ input: process.stdin, terminal: false });
  const waiting: string[] = [];
  let closed = false;
  let wake = () => {};
  lines.on('line', line => {
    waiting.push(line);
    wake();
  });
  lines.on('close', () => {
    closed = true;
    wake();
  });
  for (;;) {
    if (interactive && waiting.length === 0) process.stderr.write(`${plan.cli}> `);
    lines.resume();
    while (waiting.length === 0 && !closed) {
      await new Promise<void>(resolve => {
        wake = resolve;
      });
    }
    const line = waiting.shift();
    if (line === undefined) break;
    lines.pause();
    const words = splitWords(line);
    if (words === undefined) say('a quote is not closed');
    else if (words.length === 1 && leave.includes(words[0]!)) break;
    else if (words.length > 0) await runLine(words, await currentPlan(plan, context), original, context);
  }
  lines.close();
  return { exit: 0, signal: null };
}

async function runLine(words: string[], plan: Plan, original: string, context: Context): Promise<void> {
  const invocation = readInvocation(words, plan.provider);
  // From a pipe, what follows are further lines and not the upstream's input.
  const stdin = process.stdin.isTTY ? undefined : noStdin;
  try {
    if (invocation.passthrough || invocation.ownCredential) await runOriginal(original, words, context);
    else await failover(plan, original, invocation, { ...context, staysAlive: true }, stdin);
  } catch (error) {
    if (!(error instanceof WrapError)) throw error;
    say(error.message);
  }
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
