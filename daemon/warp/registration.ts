// Finds why a device is not registered, or not with its organization, from the evidence about it. The daemon's state, the
// doctor, `culvert account register` and `culvert explain` ask this function only.
import type { AccountSummary, RegistrationCause, Settings, Status } from '../api/schema.ts';
import type { Message } from '../api/values.ts';
import { OLDEST_CLIENT } from '../view/client/labels.ts';
import { inEnglish, message, quoted } from '../view/message.ts';
import { isMember } from '../view/states/registration.ts';
import { compareVersions } from '../view/versions.ts';
import { registrationCauseIn } from './parse/output.ts';
import {
  type Dictionary,
  type Fault,
  faultsOf,
  hasToken,
  isListed,
  isOrganization,
  judgePolicy,
  NO_POLICY,
  nameOf,
  type Policy,
  readPolicyFile,
} from './parse/policy-file.ts';

type Code = RegistrationCause['code'];

/** The newest line of the service's journal that names a cause, redacted. */
export interface JournalCause {
  code: Code;
  line: string;
  /** When it was written, in milliseconds since 1970; null or absent if the journal did not say. */
  at?: number | null;
  /** Host of the API in the line; null or absent if it names none. */
  host?: string | null;
}

/** Everything that the cause is found from. */
export interface RegistrationEvidence {
  status: Pick<Status, 'blocked' | 'reason' | 'raw'>;
  account: AccountSummary;
  policy: Policy;
  /** The name of the configuration that WARP uses, as its settings show it; null if unknown or the only one. */
  chosen: string | null;
  /** Version of the tunnel CLI, or null. */
  version: string | null;
  /** Output of the last failed attempt to register; null without one. */
  attempt: string | null;
  /** null if the journal says nothing, or was not read. */
  journal: JournalCause | null;
}

/** Evidence about a device without a registration, before anything was read. */
export const NO_EVIDENCE: RegistrationEvidence = {
  status: { blocked: 'not-registered', reason: null, raw: null },
  account: { registered: false, type: null, organization: null, managed: null },
  policy: NO_POLICY,
  chosen: null,
  version: null,
  attempt: null,
  journal: null,
};

/** Causes that end an attempt to register, as its output or the journal shows. */
const ENDS: readonly Code[] = ['api-unreachable', 'client-too-old', 'old-registration'];

/** True if a cause explains why an attempt to register failed. */
export const endsAttempt = ({ code }: RegistrationCause): boolean => ENDS.includes(code);

/** The first line of evidence for a cause that only the journal shows. */
const IN_JOURNAL = 'journal: %s';

/** True if the cause comes from the output of an attempt to register. */
export const isOfAttempt = (cause: RegistrationCause): boolean =>
  endsAttempt(cause) && cause.evidence[0]?.text !== IN_JOURNAL;

/** Reasons of the tunnel CLI, or words that a user pasted. A device that the user removed has no cause. */
const REASONS: readonly [seen: RegExp, code: Code][] = [
  [/revoked/i, 'removed'],
  [/not exist in api|notinapi|doesnotexist/i, 'unknown-to-api'],
  [/^(?!.*manual ?deletion).*(?:invalidated|registration ?changed)/is, 'changed'],
];

/**
 * Returns the cause, or null if the device is registered as it should be, or was never registered and the user may do so.
 * The first cause in the order of the work wins: what WARP reads before it asks the server, then the way to the server,
 * then the server's answer.
 */
export function registrationCause(evidence: RegistrationEvidence): RegistrationCause | null {
  const { status, account, policy } = evidence;
  const isMissing = status.blocked === 'not-registered' || (status.blocked === null && account.registered === false);
  const isConsumer = !isMissing && status.blocked === null && policy.managed && isConsumerDevice(account);
  if (!isMissing && !isConsumer) return null;
  const used = usedConfiguration(policy, evidence.chosen);
  const found = isConsumer
    ? (policyCause(policy, used) ?? consumer())
    : (missingCause(evidence, used) ?? managedCause(policy));
  if (!found) return null;
  const { code, seen } = found;
  return {
    code,
    managed: policy.managed,
    organization: organizationIn(policy, used),
    host: code === 'api-unreachable' ? apiHost(evidence) : null,
    evidence: [...seen, ...stateOf(evidence, isConsumer), ...choices(evidence)],
  };
}

interface Found {
  code: Code;
  seen: Message[];
}

function missingCause(evidence: RegistrationEvidence, used: Dictionary | null): Found | null {
  const inPolicy = policyCause(evidence.policy, used);
  // a file that this user may not read proves nothing, and an answer of the server proves that WARP read a list
  const isDoubtful =
    inPolicy?.code === 'policy-hidden' || (inPolicy?.code === 'policy-configs' && answerIn(evidence) !== null);
  if (inPolicy && !isDoubtful) return inPolicy;
  const way = wayCause(evidence);
  // WARP said so when it last read the file, which has changed since
  const isPast = (way?.code === 'policy-link' || way?.code === 'policy-owner') && !evidence.policy.isUnseen;
  if (way && !isPast) return way;
  if (way && answerIn(evidence) === null && hasFile(evidence.policy)) return { ...way, code: 'policy-restart' };
  return answerCause(evidence, used) ?? inPolicy;
}

/** False for a machine without a policy file. */
const hasFile = ({ faults, configurations }: Policy) => faults.length > 0 || configurations.length > 0;

/** Returns the fault of another configuration, so that a managed device without a registration always has a cause. */
function managedCause({ managed, configurations }: Policy): Found | null {
  if (!managed) return null;
  return faultCause(configurations.flatMap(faultsOf)) ?? { code: 'policy-organization', seen: [] };
}

const consumer = (): Found => ({ code: 'consumer', seen: [] });

/** A device that WARP registered for a private person: `Account type: Free`, or with a license. */
function isConsumerDevice(account: AccountSummary): boolean {
  return account.registered === true && account.type !== null && !isMember({ account });
}

/** Returns the cause that lies in the policy file. */
function policyCause({ faults, configurations }: Policy, used: Dictionary | null): Found | null {
  const found = faultCause(faults.length > 0 ? faults : used ? faultsOf(used) : []);
  if (found) return found;
  if (!configurations.some(isListed)) return null;
  return {
    code: 'policy-configs',
    seen: [message('the management file has its organizations in the list %s', 'configs')],
  };
}

function faultCause(faults: readonly Fault[]): Found | null {
  const first = faults.find(({ code }) => code !== null);
  return first ? { code: first.code!, seen: messagesOf(faults, first.code) } : null;
}

const messagesOf = (faults: readonly Fault[], code: Fault['code']) =>
  faults.filter(each => each.code === code).map(({ seen }) => seen);

/** Returns the cause that keeps WARP from asking the server. */
function wayCause({ attempt, journal: line, version, status }: RegistrationEvidence): Found | null {
  const told = attempt === null ? null : registrationCauseIn(attempt);
  // an answer of the server proves that there was a way to it
  const journal = line?.code === 'api-unreachable' && told === null && answerIn({ status }) !== null ? null : line;
  const isOld = version !== null && compareVersions(version, OLDEST_CLIENT) < 0;
  const seen = [
    ...(told && attempt !== null ? [inEnglish(lastLine(attempt))] : []),
    ...(journal ? [message(IN_JOURNAL, journal.line)] : []),
  ];
  if (journal?.code === 'client-too-old' || (isOld && told === 'api-unreachable'))
    return { code: 'client-too-old', seen: [...seen, ...(version ? [message('WARP %s', version)] : [])] };
  if (told) return { code: told, seen };
  return journal ? { code: journal.code, seen } : null;
}

/** Returns the cause that the tunnel CLI names as the reason; null for any other reason. */
function answerIn({ status: { reason, raw } }: Pick<RegistrationEvidence, 'status'>): Code | null {
  const text = `${reason?.code ?? ''} ${reason?.text ?? raw ?? ''}`;
  return REASONS.find(([seen]) => seen.test(text))?.[1] ?? null;
}

/** Returns the cause that the server's answer is, or the step that is still missing. */
function answerCause({ status, policy }: RegistrationEvidence, used: Dictionary | null): Found | null {
  const told = answerIn({ status });
  if (told === 'removed') return { code: told, seen: [] };
  if (used && hasToken(used)) return { code: 'token-refused', seen: [] };
  if (organizationIn(policy, used) !== null) return { code: 'sign-in', seen: [] };
  return told && { code: told, seen: [] };
}

/**
 * Returns the configuration that WARP uses: the configuration in its settings, else the first, with which it begins
 * (Cloudflare, "Switch between Zero Trust organizations").
 */
function usedConfiguration({ configurations }: Policy, chosen: string | null): Dictionary | null {
  return configurations.find(each => nameOf(each) === chosen) ?? configurations[0] ?? null;
}

/** Returns the organization of the configuration in use, else the first one of the file; null without a valid name. */
function organizationIn({ configurations }: Policy, used: Dictionary | null): string | null {
  const names = [...(used ? [used] : []), ...configurations].map(({ values }) => values.get('organization') ?? '');
  // anything else is shown as a fault, without its value
  return names.find(isOrganization) ?? null;
}

/** Returns the line with the error; the line before it is often a warning. */
function lastLine(text: string): string {
  return text.trim().split('\n').at(-1)!;
}

/** Says how the device is registered now. */
function stateOf({ status, account }: RegistrationEvidence, isConsumer: boolean): Message[] {
  if (isConsumer) return [quoted(`Account type: ${account.type}`)];
  return status.reason?.text ? [inEnglish(status.reason.text)] : [message('warp-cli reports a missing registration')];
}

/** Lists the organizations to choose, and the organization that WARP names as its own; empty for a file with one. */
function choices({ policy, chosen }: RegistrationEvidence): Message[] {
  const names = policy.configurations.map(nameOf);
  if (names.length < 2) return [];
  return [
    message('organizations of the management file: %s', names.join(', ')),
    ...(chosen !== null && names.includes(chosen) ? [message('in use: %s', chosen)] : []),
  ];
}

/** Host names of the API (Cloudflare, "Cloudflare One Client with firewall", and its release notes of 2026.6.822.0). */
function apiHost({ policy, version, journal }: RegistrationEvidence): string {
  if (journal?.host) return journal.host;
  if (!policy.managed) return 'api.cloudflareclient.com';
  return version !== null && compareVersions(version, '2026.6.822.0') >= 0
    ? 'api.devices.cloudflare.com'
    : 'zero-trust-client.cloudflareclient.com';
}

/** Keeps what the tunnel's state does not: the last attempt, and what the journal said. */
export interface RegistrationWatch {
  /** Returns the cause, from the policy file as it lies there now. */
  cause(known: Pick<RegistrationEvidence, 'status' | 'account'> & { settings: Settings }): RegistrationCause | null;
  /** Remembers the output of a failed attempt to register; null after a successful one. */
  attempted(output: string | null): void;
  /** Reads the journal again. @returns true if it says something else than before */
  readJournal(): Promise<boolean>;
}

export interface WatchOptions {
  /** The organization's policy file; absent in the demo. */
  policyFile?: string | undefined;
  version(): string | null;
  /** Returns the cause in the service's journal; null without one, or if it can't be read. Never rejects. */
  readJournal?: (() => Promise<JournalCause | null>) | undefined;
  /** Milliseconds since 1970; the clock by default. */
  now?: () => number;
}

/** Age up to which a line about the connection to the server counts: the network may have changed since. */
const RECENT_MS = 10 * 60_000;

export function createRegistrationWatch(options: WatchOptions): RegistrationWatch {
  const { policyFile, version, readJournal, now = Date.now } = options;
  let attempt: string | null = null;
  let journal: JournalCause | null = null;
  let reads = 0;
  const isCurrent = ({ code, at }: JournalCause) => code !== 'api-unreachable' || now() - (at ?? 0) <= RECENT_MS;
  return {
    cause({ status, account, settings }) {
      // another program may have registered the device since
      if (status.blocked === null && account.registered) attempt = null;
      const policy = policyFile === undefined ? NO_POLICY : judgePolicy(readPolicyFile(policyFile), 0, version());
      return registrationCause({
        status,
        account,
        policy,
        chosen: chosenConfiguration(settings),
        version: version(),
        attempt,
        journal: journal && isCurrent(journal) ? journal : null,
      });
    },
    attempted(output) {
      attempt = output;
      if (output !== null) return;
      journal = null;
      reads += 1;
    },
    async readJournal() {
      reads += 1;
      const own = reads;
      const read = (await readJournal?.()) ?? null;
      if (own !== reads) return false; // a later read counts
      const before = journal;
      journal = read && { ...read, at: read.at ?? now() };
      return before?.code !== journal?.code || before?.line !== journal?.line;
    },
  };
}

/** Returns the configuration that WARP names in its settings (`MDM Configuration: <single-config>`). */
export function chosenConfiguration(settings: Settings): string | null {
  const name = settings['MDM Configuration'];
  return typeof name === 'string' && name !== '<single-config>' ? name : null;
}
