// The failure of a change that could be neither made nor undone: its previous value is still to be set.
import type { Problem } from '../problem.ts';

export class NotRestored extends Error {
  readonly code = 'ENOTRESTORED';
  /** Why it could not be made, for the client. */
  readonly problem: Problem;

  /** @param cause why it could not be undone */
  constructor(problem: Problem, cause: unknown) {
    super(problem.message, { cause });
    this.problem = problem;
  }
}
