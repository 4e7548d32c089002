// Defines the error that a probe throws when it has no verdict.
import type { Message } from '../api/values.ts';
import { WordedError } from '../view/message.ts';

/** Reports that a verdict lacks something (`unknown`), or that the check makes no sense here; the wording says why. */
export class NoVerdict extends WordedError {
  readonly verdict: 'unknown' | 'not-applicable';

  constructor(why: Message, cause?: unknown, verdict: NoVerdict['verdict'] = 'unknown') {
    super(why, cause);
    this.verdict = verdict;
  }
}
