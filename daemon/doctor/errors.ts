// Defines the errors that a probe throws when it has no verdict.
import { WordedError } from '../view/message.ts';

/** Thrown if a verdict lacks something; the wording says what and why. */
export class Unknown extends WordedError {}

/** Thrown if the check makes no sense here; the wording says why. */
export class NotApplicable extends WordedError {}
