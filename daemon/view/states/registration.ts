// Words each cause of a missing registration, for all clients, the doctor, the API's problems and `culvert explain`.
import type { ActionName } from '../../api/actions.ts';
import type { AccountSummary, RegistrationCause } from '../../api/tunnel.ts';
import type { Message } from '../../api/values.ts';
import { message, wordMessage } from '../message.ts';
import type { Translator } from '../translator.ts';

/** True if the device belongs to an organization; null before the first read of the registration. */
export function isMember({
  account: { registered, managed, organization, type },
}: {
  account: AccountSummary;
}): boolean | null {
  if (!registered) return registered;
  return managed === true || Boolean(organization) || /^teams?$/i.test(type ?? '');
}

/** The way out that a client offers: to register as a consumer's device, to sign in to the organization, or neither. */
type Offer = 'register' | 'join' | null;

interface Words {
  title: Message;
  sentence: Message;
  offer: Offer;
}

type Facts = Omit<RegistrationCause, 'code' | 'evidence'>;

const FILE_NOT_READ = message('WARP did not read the management file');
const FILE_INVALID = message('The management file is invalid');
const NOT_REGISTERED = message('This device is not registered');

/** The one table of words. */
const WORDS: Record<RegistrationCause['code'], (facts: Facts) => Words> = {
  'policy-link': () => ({
    title: FILE_NOT_READ,
    sentence: message(
      '/var/lib/cloudflare-warp/mdm.xml is a symbolic link, which WARP does not follow. Put the file itself there, and restart WARP.',
    ),
    offer: null,
  }),
  'policy-owner': () => ({
    title: FILE_NOT_READ,
    sentence: message(
      'The service of WARP may not read /var/lib/cloudflare-warp/mdm.xml. Make root its owner, and restart WARP.',
    ),
    offer: null,
  }),
  'policy-restart': () => ({
    title: FILE_NOT_READ,
    sentence: message(
      'WARP could not read /var/lib/cloudflare-warp/mdm.xml when it last tried. Nothing shows why anymore: restart WARP.',
    ),
    offer: null,
  }),
  'policy-form': () => ({
    title: FILE_INVALID,
    sentence: message('WARP can’t read /var/lib/cloudflare-warp/mdm.xml. Ask your administrator for a corrected one.'),
    offer: null,
  }),
  'policy-configs': () => ({
    title: message('WARP may not see the organizations of the management file'),
    sentence: message(
      'The management file has its organizations in the list “configs”, which versions of 2024 ignore in XML. Write them as a list without that key.',
    ),
    offer: null,
  }),
  'policy-variables': () => ({
    title: message('The management file is not filled in'),
    sentence: message(
      'The management file has the names of variables instead of their values. The program that writes it has to replace them.',
    ),
    offer: null,
  }),
  'policy-token': () => ({
    title: message('The service token is incomplete'),
    sentence: message(
      'The management file needs an organization, an ID that ends in “.access”, and its secret. Ask your administrator for a corrected one.',
    ),
    offer: null,
  }),
  'policy-organization': () => ({
    title: message('The name of the organization is wrong'),
    sentence: message(
      'The management file needs the bare name of the team, such as “example”, and not an address. Ask your administrator for a corrected one.',
    ),
    offer: null,
  }),
  'policy-hidden': () => ({
    title: message('Only root may read the management file'),
    sentence: message(
      'An organization seems to manage this computer. An administrator sees more with: %s',
      'sudo culvert doctor',
    ),
    offer: null,
  }),
  'token-refused': ({ organization }) => ({
    title: message('The service token has not registered this device'),
    sentence:
      organization === null
        ? message(
            'WARP registers with the service token in /var/lib/cloudflare-warp/mdm.xml, and has not done so yet. If this continues, it may have expired: ask your administrator for a valid one.',
          )
        : message(
            'WARP registers with the service token in /var/lib/cloudflare-warp/mdm.xml, and has not done so yet. If this continues, it may have expired or lack permission, or “%s” may be the wrong name: ask your administrator for a valid one.',
            organization,
          ),
    offer: null,
  }),
  'sign-in': ({ organization }) => ({
    title: NOT_REGISTERED,
    sentence: message(
      'The management file of this computer names the organization “%s”. Sign in to it.',
      organization ?? '?',
    ),
    offer: 'join',
  }),
  consumer: ({ organization }) => ({
    title: message('Registered without your organization'),
    sentence:
      organization === null
        ? message(
            'An organization manages this computer, but WARP registered it as a private device. Remove the registration: WARP then uses the management file.',
          )
        : message(
            'The management file names “%s”, but WARP registered this computer as a private device. Remove the registration: WARP then uses the file.',
            organization,
          ),
    offer: null,
  }),
  'api-unreachable': ({ host }) => ({
    title: message('WARP can’t reach Cloudflare to register'),
    sentence: message(
      'WARP could not reach %s on TCP port 443. A firewall, a DNS filter or the provider may block it: allow it there.',
      host ?? 'api.cloudflareclient.com',
    ),
    offer: 'register',
  }),
  'client-too-old': () => ({
    title: message('Cloudflare WARP is too old'),
    sentence: message('Cloudflare’s servers do not understand this version anymore. Update WARP.'),
    offer: null,
  }),
  'old-registration': ({ managed }) => ({
    title: message('An old registration is in the way'),
    sentence: managed
      ? message(
          'An earlier registration of this device is still there. Remove it: WARP then registers with your organization.',
        )
      : message('An earlier registration of this device is still there. Remove it, then register again.'),
    offer: null,
  }),
  removed: ({ managed }) => ({
    title: message('Your organization removed this device'),
    sentence: managed
      ? message('Ask your administrator to let this device join again.')
      : message('Ask your administrator, or set up WARP again if you may.'),
    offer: null,
  }),
  'unknown-to-api': () => ({
    title: message('Cloudflare does not know this registration'),
    sentence: message(
      'The device was deleted in the dashboard, or joining the organization failed. A service token may have expired.',
    ),
    offer: 'register',
  }),
  changed: () => ({
    title: message('The registration has changed'),
    sentence: message('The tunnel went down because this device was registered again or removed.'),
    offer: 'register',
  }),
};

/** Returns the words of a code, or general words for a code that only a newer daemon knows. */
function wordsOf(code: string): (facts: Facts) => Words {
  const known: Partial<Record<string, (facts: Facts) => Words>> = WORDS;
  return known[code] ?? unknownCause;
}

const unknownCause = (): Words => ({
  title: message('Registration of this device'),
  sentence: message('WARP has no registration for it.'),
  offer: null,
});

/** Returns the words of a cause, to translate. On a managed computer, no way out makes a consumer's registration. */
export function causeMessages(cause: Omit<RegistrationCause, 'evidence'>): Words {
  const words = wordsOf(cause.code)(cause);
  return cause.managed && words.offer === 'register' ? { ...words, offer: null } : words;
}

export interface RegistrationWords {
  title: string;
  sentence: string;
  offer: Offer;
}

/** Words a cause in the language of `tr`. */
export function registrationWords(cause: Omit<RegistrationCause, 'evidence'>, tr: Translator): RegistrationWords {
  const { title, sentence, offer } = causeMessages(cause);
  return { title: wordMessage(title, tr), sentence: wordMessage(sentence, tr), offer };
}

/** Words a cause without the facts of a device, such as for a list of all causes. */
export function generalWords(code: RegistrationCause['code'], tr: Translator): RegistrationWords {
  return registrationWords({ code, managed: false, organization: null, host: null }, tr);
}

type StepAction = Extract<ActionName, 'register' | 'deleteRegistration'>;

/** The step that ends a cause: the same one in a terminal, in the API's hints and as the doctor's fix. */
export interface RegistrationStep {
  /** English words for a terminal, to stand before the command and a colon. */
  does: string;
  /** Command for a terminal. */
  command: string;
  /** Actions of the API that make the step; empty if none does. */
  actions: readonly StepAction[];
}

const step = (does: string, command: string, ...actions: StepAction[]): RegistrationStep => ({
  does,
  command,
  actions,
});

const DELETE = 'culvert account delete';
const EVIDENCE = step('See the evidence and the fix with', 'culvert doctor');

/** Returns the step of a cause. On a managed computer, none registers it as a consumer's device. */
export function registrationStep({
  code,
  managed,
  organization,
}: Pick<RegistrationCause, 'code' | 'managed' | 'organization'>): RegistrationStep {
  switch (code) {
    case 'consumer':
      return step('Remove it with', DELETE, 'deleteRegistration');
    case 'old-registration':
      // WARP registers with an organization automatically
      return managed
        ? step('Remove it with', DELETE, 'deleteRegistration')
        : step('Remove it with', DELETE, 'deleteRegistration', 'register');
    case 'sign-in':
      return step('Sign in with', `culvert account register --organization ${organization ?? 'NAME'}`);
    case 'unknown-to-api':
    case 'changed':
      // the client has removed the registration itself
      return managed ? EVIDENCE : step('Register again with', 'culvert account register', 'register');
    case 'api-unreachable':
      return managed ? EVIDENCE : step('Then register again with', 'culvert account register', 'register');
    default:
      return EVIDENCE;
  }
}
