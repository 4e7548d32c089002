// Defines how changes of what tools trust fail.

/** `nothing`: there is nothing to do. `changed`: a file is not what Culvert left. `busy`: another process is at it. */
export type TrustErrorCode = 'nothing' | 'changed' | 'busy' | 'refused' | 'failed';

export class TrustError extends Error {
  readonly code: TrustErrorCode;
  readonly hint: string | undefined;
  constructor(code: TrustErrorCode, message: string, hint?: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'TrustError';
    this.code = code;
    this.hint = hint;
  }
}
