// Defines the answers of commands, and formats them as text or JSON with stream and exit code.
import type { Faults } from './faults.ts';
import type { State } from './state.ts';
import type { CliGeneration } from './version.ts';

export type Answer =
  | { kind: 'success' }
  /** `text` has its final newline. A command with one form prints that form with and without `-j`. */
  | { kind: 'said'; text: string | null; json: unknown }
  /** The service refused: `Error: <message>` (or another prefix), or `{code, error}`. */
  | Refusal;

export interface Refusal {
  kind: 'refused';
  code: string;
  message: string;
  prefix?: string;
  /** True if the service could not be reached. */
  daemon?: true;
}

export interface Context {
  state: State;
  /** Milliseconds since the epoch. */
  now: number;
  generation: CliGeneration;
  faults: Faults;
}

export type Operation = (context: Context, args: string[]) => Answer;

export const success: Extract<Answer, { kind: 'success' }> = { kind: 'success' };
export const sayText = (text: string): Answer => ({ kind: 'said', text, json: null });
export const sayJson = (json: unknown): Answer => ({ kind: 'said', text: null, json });
export const refuse = (code: string, message: string): Refusal => ({ kind: 'refused', code, message });

export const notAuthorized = refuse('OperationNotAuthorized', 'Operation not authorized in this context.');

export const missingRegistration = refuse(
  'MissingRegistration',
  'Missing registration. Try running: "warp-cli registration new"',
);

/** The output and exit code of a command. */
export interface Output {
  stdout: string;
  stderr: string;
  exitCode: number;
}

/** @param command words of the command: `tunnel ip add` */
export function respond(answer: Answer, command: string, json: boolean, faults: Faults): Output {
  const print = (text: string, exitCode: number) => ({
    stdout: garbled(text, command, json, faults),
    stderr: '',
    exitCode,
  });
  switch (answer.kind) {
    case 'success':
      return print(json ? pretty({ status: 'Success' }) : 'Success\n', 0);
    case 'said': {
      const { text } = answer;
      return print(text === null || (json && answer.json !== null) ? pretty(answer.json) : text, 0);
    }
    case 'refused': {
      const { code, message, prefix = 'Error', daemon } = answer;
      const asked = faults.has('json-exit-0') !== null || faults.has('json-exit-1') !== null;
      // Without a service, releases of 2026 answered in plain text even with -j; other captures have JSON.
      if (json && faults.has('text-errors') === null && (!daemon || asked))
        return print(pretty({ code, error: message }), faults.has('json-exit-1') !== null ? 1 : 0);
      const text = daemon ? `${message}\n\nMaybe the daemon is not running?\n` : `${prefix}: ${message}\n`;
      return { stdout: '', stderr: text, exitCode: 1 };
    }
  }
}

/** Changes stdout by the faults `huge`, `unknown-output` and `cut`. */
export function garbled(text: string, command: string, json: boolean, faults: Faults): string {
  let out = text;
  if (faults.strikes('unknown-output', command) !== null) out = json ? UNKNOWN_JSON : UNKNOWN_TEXT;
  const huge = faults.strikes('huge', command);
  if (huge !== null) out = `${'0123456789abcde\n'.repeat(Math.ceil(Number(huge || 2 ** 21) / 16))}${out}`;
  const cut = faults.strikes('cut', command);
  return cut === null ? out : out.slice(0, cut === '' ? Math.floor(out.length / 2) : Number(cut));
}

const UNKNOWN_TEXT = 'Tunnel condition: nominal\nPhase of the moon: waxing\n';
const UNKNOWN_JSON = '{"condition":"nominal","moon":{"phase":"waxing"}}\n';

const pretty = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;
