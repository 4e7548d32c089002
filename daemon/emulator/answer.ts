// Defines the answer of a command, before it is rendered as text or JSON.

import type { State } from './client/state.ts';
import type { Faults } from './faults.ts';
import type { CliGeneration } from './version.ts';

export type Answer =
  | { kind: 'success' }
  /** `text` with its final newline; `json` null: the command has no JSON form and prints text under -j as well. */
  | { kind: 'said'; text: string; json: unknown }
  /** The service refused: `Error: <message>` (or another prefix), or `{code, error}`. */
  | Refusal
  /** A command of the real tool that the emulator does not imitate, or one of its options. */
  | { kind: 'not-emulated'; option?: string };

export interface Refusal {
  kind: 'refused';
  code: string;
  message: string;
  prefix?: string;
  /** The service itself could not be reached. */
  daemon?: true;
}

export interface Context {
  state: State;
  /** ms since the epoch */
  now: number;
  generation: CliGeneration;
  faults: Faults;
}

export type Operation = (context: Context, args: string[]) => Answer;

export const success: Extract<Answer, { kind: 'success' }> = { kind: 'success' };
export const say = (text: string, json: unknown = null): Answer => ({ kind: 'said', text, json });
export const refuse = (code: string, message: string): Refusal => ({ kind: 'refused', code, message });

export const notAuthorized = refuse('OperationNotAuthorized', 'Operation not authorized in this context.');

export const missingRegistration = refuse(
  'MissingRegistration',
  'Missing registration. Try running: "warp-cli registration new"',
);
