// Defines the failures of installing, updating and removing.

/** A failure of installing or uninstalling; the message says what to do. */
export class InstallError extends Error {
  readonly code: 'foreign-files' | 'locked' | 'nothing-previous';
  constructor(code: InstallError['code'], message: string) {
    super(message);
    this.name = 'InstallError';
    this.code = code;
  }
}
