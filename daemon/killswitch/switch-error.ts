// Failures of the kill switch, with the names that the bus shows.

/** A refusal or failure with the name it has on the bus. */
export class SwitchError extends Error {
  readonly code:
    | 'Denied'
    | 'InvalidArgument'
    | 'LimitsExceeded'
    | 'NotEnabled'
    | 'NothingPending'
    | 'Refused'
    | 'Unconfirmed'
    | 'Failed';
  constructor(code: SwitchError['code'], message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'SwitchError';
    this.code = code;
  }
}
