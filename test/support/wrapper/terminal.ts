// Runs a command at a pseudo-terminal, as a person would.
import { spawn } from 'node:child_process';
import type { Sandbox } from './sandbox.ts';

export interface Session {
  exit: number | null;
  /** Everything that appeared on the terminal, with its line ends as LF. */
  screen: string;
}

export interface TerminalOptions {
  env?: Record<string, string>;
  /** Typed before the command has started. */
  early?: string;
  /** Called with everything shown so far; what it returns is typed. */
  answer?: (screen: string) => string | undefined;
}

const SESSION_LIMIT_MS = 120_000;

/** @param command for sh, with the sandbox's PATH */
export function atTerminal(
  box: Sandbox,
  command: string,
  { env, early, answer }: TerminalOptions = {},
): Promise<Session> {
  const child = spawn('script', ['-qefc', command, '/dev/null'], {
    env: { ...box.env, SHELL: '/bin/sh', TERM: 'xterm', ...env },
    cwd: box.home,
    stdio: 'pipe',
  });
  let screen = '';
  if (early) child.stdin.write(early);
  child.stdout.on('data', chunk => {
    screen += chunk;
    const typed = answer?.(screen);
    if (typed !== undefined) child.stdin.write(typed);
  });
  child.stdin.on('error', () => {});
  // A session that waits for an answer that never comes must show what it was waiting at.
  const limit = setTimeout(() => child.kill('SIGTERM'), SESSION_LIMIT_MS);
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', exit => {
      clearTimeout(limit);
      resolve({ exit, screen: screen.replaceAll('\r\n', '\n') });
    });
  });
}

/** Types each text when the output after the previous text matches. */
export function typing(...steps: [RegExp, string][]): (screen: string) => string | undefined {
  let at = 0;
  return screen => {
    const [step] = steps;
    if (!step?.[0].test(screen.slice(at))) return undefined;
    at = screen.length;
    steps.shift();
    return step[1];
  };
}
