// Checks why this device is not registered, or not with its organization, and offers the one step that helps.
import type { Fix } from '../../api/doctor.ts';
import type { RegistrationCause, Snapshot } from '../../api/schema.ts';
import type { Message } from '../../api/values.ts';
import { causeMessages, type RegistrationStep, registrationStep } from '../../view/states/registration.ts';
import { N_ } from '../../view/translator.ts';
import { judgePolicy, type PolicyFile } from '../../warp/parse/policy-file.ts';
import { chosenConfiguration, isOfAttempt, registrationCause } from '../../warp/registration.ts';
import { type Check, inEnglish, labeled, message, notApplicable, notice, ok, problem, quoted } from '../check.ts';
import { limitValues } from '../knowledge.ts';
import { adminCommands, policyFileOf, RESTART_WARP, tunnelOf, vendorPage } from '../world/facts.ts';
import { redactLine, registrationIn } from '../world/journal.ts';
import type { World } from '../world/world.ts';
import { RESTART, rawJournalOf } from './machine.ts';
import { installFix } from './registration.ts';

export const registration: Check = {
  id: 'registration',
  title: N_('Registration of this device'),
  group: 'service',
  source: vendorPage('troubleshooting/client-errors/'),
  limitMs: 10_000,
  async probe(world) {
    const snapshot = tunnelOf(world);
    const { status, account, tunnelCli: cli } = snapshot;
    if (!cli.available) return notApplicable(message('The tunnel CLI is not installed.'));
    if (status.blocked !== null && status.blocked !== 'not-registered')
      return notApplicable(message('The client has to be set up first: see the check "service".'));
    const isMissing = status.blocked === 'not-registered' || account.registered === false;
    const file = cli.emulated ? null : policyFileOf(world);
    const found = await causeOf(world, snapshot, { file, isMissing });
    if (found) {
      const { cause, also } = found;
      const seen = [...cause.evidence, ...(also?.evidence ?? [])];
      const evidence = [...uniqueTexts(seen), ...(cause.code === 'api-unreachable' ? [addresses(world)] : [])];
      const sentences = [cause, ...(also ? [also] : [])].map(causeMessages);
      const explanation = sentences.flatMap(({ title, sentence }) => [message('%s.', { word: title.text }), sentence]);
      // a file that only root may read proves nothing against a private registration
      const say = cause.code === 'policy-hidden' && !isMissing ? notice : problem;
      return say(evidence, explanation, await fixOf(cause, world, file));
    }
    if (isMissing)
      return problem(
        [status.reason?.text ? inEnglish(status.reason.text) : message('warp-cli reports a missing registration')],
        message('This device is not registered.'),
        stepFix(['register'], message('Register this device'), snapshot),
      );
    if (account.registered === null) return notApplicable(message('The registration was not read yet.'));
    return ok(describeAccount(account));
  },
};

interface Machine {
  file: PolicyFile | null;
  isMissing: boolean;
}

interface Causes {
  cause: RegistrationCause;
  /** Second obstacle to a registration; null if no other is known. */
  also: RegistrationCause | null;
}

const alone = (cause: RegistrationCause | null): Causes | null => cause && { cause, also: null };

/** Removes repeated evidence. */
const uniqueTexts = (messages: Message[]) => [
  ...new Map(messages.map(each => [JSON.stringify([each.text, each.values]), each])).values(),
];

/** Finds the cause from the policy file and the journal as they are now, and from what the daemon remembers. */
async function causeOf(
  world: World,
  { status, account, settings, tunnelCli: cli }: Snapshot,
  { file, isMissing }: Machine,
): Promise<Causes | null> {
  const lines = isMissing && !cli.emulated ? await rawJournalOf(world).catch(() => []) : [];
  const inJournal = registrationIn(lines, world.knowledge.patterns, { now: world.now() });
  const line = inJournal && (await redactLine({ at: null, text: inJournal.line }, world.redact)).text;
  const policy = judgePolicy(file, world.owner, cli.version);
  const found = registrationCause({
    status,
    account,
    policy,
    chosen: chosenConfiguration(settings),
    version: cli.version,
    attempt: null,
    journal: inJournal && { ...inJournal, line: line! },
  });
  const told = status.registration;
  // root reads what a user's daemon can't, which takes such a file for that of an organization
  if (
    told &&
    file !== null &&
    file.text !== null &&
    (told.code === 'policy-hidden' || (told.managed && !policy.managed))
  )
    return alone(
      isOfAttempt(told)
        ? { ...told, managed: false, organization: null, host: found?.code === told.code ? found.host : null }
        : found,
    );
  if (!told || !found) return alone(told ?? found);
  if (!isOfAttempt(told)) return alone(told.managed && !found.managed ? told : found);
  // only the daemon knows how the last attempt failed, and a machine counts as managed as long as one of them says so
  const attempt = { ...told, managed: told.managed || found.managed };
  if (!found.code.startsWith('policy-')) return alone(attempt);
  // WARP reads the file before it asks the server; a file that this user may not read proves nothing
  return found.code === 'policy-hidden' ? { cause: attempt, also: found } : { cause: found, also: attempt };
}

function describeAccount({ type, organization }: Snapshot['account']): Message {
  const account = [type, organization].filter(Boolean).join(', ');
  return account ? quoted(account) : message('the device is registered');
}

/** Addresses of the API, for a firewall that knows no names (Cloudflare, "Cloudflare One Client with firewall"). */
function addresses({ knowledge }: World): Message {
  return message('addresses, on TCP port 443: %s', limitValues(knowledge, 'api-addresses').join(', '));
}

const BY_HAND: Record<RegistrationStep['actions'][number], string[]> = {
  register: ['warp-cli', 'registration', 'new'],
  deleteRegistration: ['warp-cli', 'registration', 'delete'],
};

/** Makes a fix of actions. A daemon that may not read the policy file refuses to register the device: then it takes commands. */
function stepFix(actions: RegistrationStep['actions'], label: Message, { status }: Snapshot): Fix {
  if (actions.includes('register') && status.registration?.managed)
    return {
      kind: 'commands',
      ...labeled(label),
      commands: actions.map(action => BY_HAND[action]),
      undo: [],
      privileged: false,
    };
  return { kind: 'action', ...labeled(label), actions: actions.map(action => ({ action })), undo: [] };
}

const openPage = (label: Message, path: string): Fix => ({ kind: 'open', ...labeled(label), url: vendorPage(path) });
const PARAMETERS = openPage(
  message('Open Cloudflare’s page on the management file'),
  'deployment/mdm-deployment/parameters/',
);

/** Returns the one step that helps. On a machine of an organization, none registers it as a consumer's device. */
async function fixOf(cause: RegistrationCause, world: World, file: PolicyFile | null): Promise<Fix | null> {
  const { code, managed, organization } = cause;
  const byActions = (label: Message) => stepFix(registrationStep(cause).actions, label, tunnelOf(world));
  switch (code) {
    case 'policy-link':
      return file && linkFix(file);
    case 'policy-owner':
      return file && ownerFix(file);
    case 'policy-restart':
      return RESTART_WARP;
    case 'policy-form':
    case 'policy-configs':
    case 'policy-variables':
    case 'policy-token':
    case 'policy-organization':
      return PARAMETERS;
    case 'token-refused':
      return openPage(message('Open Cloudflare’s page on service tokens'), 'deployment/device-enrollment/');
    case 'policy-hidden':
    // a device that joined by sign-in has no policy file, and must not become a private one
    case 'removed':
      return null;
    case 'sign-in':
      // a sign-in begins with this command, which the browser's way back needs
      return {
        kind: 'commands',
        ...labeled(message('Sign in to the organization')),
        commands: [['culvert', 'account', 'register', '--organization', organization!]],
        undo: [],
        privileged: false,
      };
    case 'api-unreachable':
      return managed
        ? openPage(message('Open Cloudflare’s page on firewalls'), 'deployment/firewall/')
        : byActions(message('Register again'));
    case 'client-too-old':
      return installFix(world);
    case 'consumer':
      return byActions(message('Remove the registration'));
    case 'old-registration':
      return byActions(managed ? message('Remove the registration') : message('Register again'));
    case 'unknown-to-api':
    case 'changed':
      return managed ? RESTART_WARP : byActions(message('Register again'));
  }
}

/** Replaces a link by a copy of its file, which others can't read at any time, and which a failure removes. */
const REPLACE_LINK = 'install -m 600 -- "$1" "$1.new" && mv -fT -- "$1.new" "$1" || { rm -f -- "$1.new"; exit 1; }';

function linkFix({ path, link }: PolicyFile): Fix {
  return adminCommands(
    message('Put the file in place of the link'),
    [['sh', '-c', REPLACE_LINK, 'sh', path], RESTART],
    {
      undo: [['ln', '-sfT', '--', link!, path], RESTART],
    },
  );
}

function ownerFix({ path, uid, gid, mode }: PolicyFile): Fix {
  return adminCommands(
    message('Make root its owner'),
    [['chown', 'root:root', path], ['chmod', '600', path], RESTART],
    {
      undo: [['chown', `${uid}:${gid}`, path], ['chmod', (mode & 0o777).toString(8), path], RESTART],
    },
  );
}
