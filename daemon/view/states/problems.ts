// Translates refusals and failures of the daemon, which are in English, by their codes.
import { ApiError } from '../../api/client.ts';
import type { Problem } from '../../api/schema.ts';
import { Busy } from '../client/client-state.ts';
import { setupText } from '../client/labels.ts';
import { wordMessages } from '../message.ts';
import { english, type Translator } from '../translator.ts';

/** Returns a sentence for each code that users can encounter. */
function sentences(tr: Translator): { [code: string]: string | undefined } {
  const { _ } = tr;
  return {
    'cli-missing': setupText('cli-missing', tr),
    'cli-too-old': setupText('cli-too-old', tr),
    'service-stopped': setupText('service-stopped', tr),
    'service-hangs': setupText('service-hangs', tr),
    'terms-not-accepted': setupText('terms-not-accepted', tr),
    'not-registered': setupText('not-registered', tr),
    'not-authorized': setupText('not-authorized', tr),
    busy: _('WARP is busy. Try again soon.'),
    'unsupported-by-cli': _('This version of WARP can’t do that.'),
    'argument-rejected': _('WARP refused this value.'),
    'tunnel-cli-failed': _('WARP could not do that.'),
    'tunnel-cli-timeout': _('WARP did not answer in time.'),
    'config-broken': _('The configuration file is broken.'),
    'config-not-writable': _('Settings could not be saved.'),
    'key-not-settable': _('This can’t be set here.'),
    'document-invalid': _('The document has mistakes.'),
    'routes-failed': _('Not all routes were changed.'),
    'nothing-to-undo': _('There is nothing to undo.'),
    'nothing-pending': _('No change is waiting.'),
    'previous-unknown': _('The previous setting is not known.'),
    'state-not-writable': _('Culvert could not write its data.'),
    'precondition-failed': _('It has changed in the meantime.'),
    'killswitch-not-installed': _('The kill switch is not installed.'),
    'killswitch-denied': _('You are not allowed to do that.'),
    'killswitch-failed': _('The kill switch reported an error.'),
    'app-not-found': _('This app is no longer there.'),
    'app-not-launchable': _('This app can’t use the proxy.'),
    'app-launch-failed': _('The app did not start.'),
    'proxy-not-enabled': _('The local proxy is off.'),
    'proxy-port-in-use': _('The proxy’s port is in use.'),
    'proxy-not-answering': _('The local proxy does not answer.'),
    'proxy-not-verified': _('The tunnel failed its test.'),
    'update-refused': _('The update was refused.'),
    'update-not-applicable': _('Culvert can’t update itself here.'),
    'update-failed': _('The update failed.'),
    'fix-needs-administrator': _('This needs an administrator.'),
    'fix-failed': _('The fix did not work.'),
    'wrapper-refused': _('The accounts were not changed.'),
    'trust-refused': _('The tools were not changed.'),
    'wrapper-failed': _('The program for accounts failed.'),
    'peer-not-allowed': _('Culvert runs for another user here.'),
    'host-not-allowed': _('Culvert can’t be used at this address.'),
    'origin-not-allowed': _('Another website can’t control Culvert.'),
    'fetch-site-not-allowed': _('Another website can’t control Culvert.'),
    'headers-too-large': _('The browser’s request is too large. Delete its cookies for this address.'),
    'unsupported-media-type': _('Culvert’s background service does not understand this request.'),
    'malformed-request': _('Culvert’s background service does not understand this request.'),
    'malformed-json': _('Culvert’s background service does not understand this request.'),
    'method-not-allowed': _('Culvert’s background service does not understand this request.'),
    'token-required': _('The token is missing or wrong.'),
    'not-found': _('It is no longer there.'),
    'payload-too-large': _('This is too much at once.'),
    'uri-too-long': _('This is too long.'),
    'request-timeout': _('The request took too long.'),
    'invalid-body': _('Culvert’s background service does not understand this request.'),
    'invalid-query': _('Culvert’s background service does not understand this request.'),
    interrupted: _('Culvert stopped during this change.'),
    'internal-error': _('Something went wrong in Culvert.'),
  };
}

/**
 * Words a problem in the user's language. In English, and if the catalog lacks the sentence, returns the daemon's own
 * sentence, which is more exact.
 */
export function problemText(
  { code, detail, wording }: Pick<Problem, 'detail' | 'wording'> & { code: string },
  tr: Translator,
): string {
  if (wording) return wordMessages(wording, tr);
  const words = sentences(tr)[code];
  return words === undefined || words === sentences(english)[code] ? detail : words;
}

/** Words a problem in one sentence, for places from which the daemon's own, more exact sentence is one step away. */
export function problemTitle({ code, detail, wording }: Problem, tr: Translator): string {
  return wording ? wordMessages(wording, tr) : (sentences(tr)[code] ?? detail);
}

/** Words a failure in the user's language; if that is the daemon's own sentence, adds its hint. */
export function errorText(error: unknown, tr: Translator): string {
  if (error instanceof Busy) return tr._('WARP is busy. Try again soon.');
  if (!(error instanceof ApiError)) return error instanceof Error ? error.message : String(error);
  const text = problemText(error.problem, tr);
  return text === error.problem.detail ? error.message : text;
}

/** Like `errorText`, with the daemon's own sentence after a translation, for places without room for details. */
export function errorWithDetail(error: unknown, tr: Translator): string {
  const text = errorText(error, tr);
  return error instanceof ApiError && !error.problem.wording && text !== error.message
    ? `${text} (${error.problem.detail})`
    : text;
}
