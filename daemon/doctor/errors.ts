// Defines the errors that a probe throws when it has no verdict.
import { WordedError } from '../view/message.ts';

/** Something that a verdict needs can't be had; the wording says what and why. */
export class Unknown extends WordedError {}

/** The check makes no sense here; the wording says why. */
export class NotApplicable extends WordedError {}
