// Explains why there is no tunnel: looks up the tunnel CLI's reason in the table of causes, and builds its remedy.
import type { Snapshot } from '../../api/schema.ts';
import { nextStep, setupText } from '../client/labels.ts';
import type { Manager } from '../client/service-words.ts';
import { actionCommand, type Button, clientCommand, goTo } from '../form.ts';
import type { Translator } from '../translator.ts';
import { causeEntries, type Entry, OWN_CODES, type Remedy } from './cause-table.ts';
import { isOrganizations, offersHttp2, USE_HTTP2, usesHttp2 } from './http2.ts';
import { type RegistrationStep, type RegistrationWords, registrationStep, registrationWords } from './registration.ts';
import { signInCommand } from './sign-in.ts';
import { wantsSignIn } from './summary.ts';

export interface Cause {
  title: string;
  sentence: string;
  /** The button to offer; null if the user can only wait or ask another person. */
  remedy: Button | null;
  /** Checks of the doctor that look for this cause; null if the table lacks the reason. */
  checks: readonly string[] | null;
}

export interface LostRegistration extends RegistrationWords {
  /** The organization to sign in to if that is the way out; else null. */
  organization: string | null;
  step: RegistrationStep;
}

/**
 * Returns the cause of a status; null if there is nothing to explain (connected, or disconnected by the user).
 * A failure with an unknown code gets a general cause; the technical details show its text.
 */
export function causeOf(snapshot: Snapshot, tr: Translator): Cause | null {
  const { state, reason } = snapshot.status;
  const isLogin = state !== 'connected' && wantsSignIn(snapshot.status);
  if (
    !isLogin &&
    !isProgramFailure(snapshot.status) &&
    state !== 'unable' &&
    state !== 'disconnected' &&
    state !== 'connecting'
  )
    return null;
  const { registration } = snapshot.status;
  if (registration && snapshot.status.blocked === 'not-registered') {
    const { title, sentence, offer } = registrationWords(registration, tr);
    const remedy = remedyOf(offer === 'register' ? 'register' : 'account', snapshot, tr);
    return { title, sentence, remedy, checks: ['mdm-file'] };
  }
  const entry = reason && find(reason, tr);
  if (entry) {
    const [, title, general, remedy, ...checks] = entry;
    const sentence =
      remedy === 'udp' && usesHttp2(snapshot)
        ? tr._(
            'A firewall or this network blocks WARP, which uses TCP 443 (HTTP/2) here. Another protocol may get through.',
          )
        : general;
    return { title, sentence, remedy: remedyOf(remedy, snapshot, tr), checks };
  }
  if (state !== 'unable') return null;
  return {
    title: tr._('Can’t connect'),
    sentence: tr._('WARP keeps trying. You may be offline until it works.'),
    remedy: remedyOf('checks', snapshot, tr),
    checks: null,
  };
}

/** True if the state is unknown because the tunnel CLI crashed or printed nothing. */
export function isProgramFailure({ state, reason }: Snapshot['status']): boolean {
  return state === 'unknown' && reason?.code === 'ProgramFailed';
}

/**
 * Says why a device that should be registered is not, or is registered without its organization; null if it never was
 * registered and the user can do so, or if the user removed the registration.
 */
export function lostRegistration(
  { blocked, reason, registration }: Snapshot['status'],
  tr: Translator,
): LostRegistration | null {
  if (blocked !== null && blocked !== 'not-registered') return null;
  if (registration) {
    const words = registrationWords(registration, tr);
    const { organization } = registration;
    return { ...words, organization, step: registrationStep(registration) };
  }
  // an older daemon sends the tunnel CLI's reason only
  const entry = blocked && reason ? find(reason, tr) : undefined;
  if (entry?.[3] !== 'account') return null;
  const code = entry[0].includes('Revoked') ? 'removed' : 'unknown-to-api';
  return {
    title: entry[1],
    sentence: entry[2],
    offer: code === 'removed' ? null : 'register',
    organization: null,
    step: registrationStep({ code, managed: false, organization: null }),
  };
}

/**
 * Words the step that the user must take first, for a terminal. A lost registration has its own words.
 * @param manager what starts services instead of systemd
 */
export function blockedWords(
  { status, tunnelCli }: Pick<Snapshot, 'status' | 'tunnelCli'>,
  manager: Manager,
  tr: Translator,
): { what: string; next: string | null } {
  const lost = lostRegistration(status, tr);
  if (lost) return { what: `${lost.title}.`, next: `${lost.sentence} ${lost.step.does}: ${lost.step.command}` };
  const blocked = status.blocked!;
  const where = { manager, emulated: tunnelCli.emulated };
  return { what: setupText(blocked, tr, tunnelCli.version), next: nextStep(blocked, where) };
}

/** Words the meaning of a code; null if the table lacks the code. */
export function causeTitle(code: string, tr: Translator): string | null {
  return find({ code, text: '' }, tr)?.[1] ?? null;
}

/** Words a reason, followed by the tunnel CLI's code for a failure; a reason that the table lacks keeps its own text. */
export function reasonText(status: Snapshot['status'], tr: Translator): string | null {
  const { state, reason } = status;
  if (!reason) return null;
  const { code, text, byUser } = reason;
  // a tunnel that never was on has this reason, too
  if (isTurnedOff(status)) return code === 'Manual' && !byUser ? null : choiceText('Manual', tr);
  const title = find(reason, tr)?.[1];
  // Cloudflare's documents do not explain Culvert's own codes
  const isOwn = code !== null && OWN_CODES.includes(code);
  if (title) return code && !isOwn ? `${title} (${code})` : title;
  if (state === 'connecting') return phaseText(code, text, tr);
  return (code && choiceText(code, tr)) || text;
}

/**
 * True if the user turned WARP off. Newer clients report this as a change of settings, old and new (captured from 2026.7):
 * `{"SettingsChanged":{"current":{"always_on":false,…},"previous":{"always_on":true,…}}}`.
 */
export function isTurnedOff({ state, reason, raw }: Pick<Snapshot['status'], 'state' | 'reason' | 'raw'>): boolean {
  if (state !== 'disconnected' || !reason) return false;
  if (reason.code !== 'SettingsChanged') return reason.code === 'Manual';
  const wanted = (part: string) =>
    new RegExp(`"${part}":\\s*\\{[^{}]*?"always_on":\\s*(true|false)`).exec(raw ?? '')?.[1];
  return wanted('current') === 'false' && wanted('previous') === 'true';
}

/** Words a state that the user caused; null for any other code. */
export function choiceText(code: string, { _ }: Translator): string | null {
  if (code === 'Manual') return _('Turned off by you');
  // a code of Culvert's, in use until the tunnel client reports its progress
  if (code === 'ConnectAccepted') return _('Waiting for WARP to connect');
  return code === 'SettingsChanged' ? _('A setting of WARP was changed') : null;
}

/** True for a phase of connecting, which says nothing about the end of the previous connection. */
export function isPhase(code: string): boolean {
  return /^(Performing|Establishing|Checking|Ensuring|Applying|Configuring|Validating|Initializ|NetworkHealthy)/.test(
    code,
  );
}

/** Finds the cause of a reason. Text comes before the code, and the end of the text before its beginning: they say more. */
function find({ code, text }: { code: string | null; text: string }, tr: Translator): Entry | undefined {
  const plain = (name: string) => name.toLowerCase().replace(/[^a-z0-9]/g, '');
  const causes = causeEntries(tr);
  // `Registration Missing due to: Invalidated (Manual Deletion)`
  const pieces = text.split(/due to|[:()]/).reverse();
  for (const name of [text, ...pieces, code ?? ''].map(plain).filter(Boolean)) {
    const entry = causes.find(([codes]) => codes.some(each => plain(each) === name));
    if (entry) return entry;
  }
  // a code inside a longer text
  return causes.find(([codes]) =>
    codes.map(plain).some(each => each.length > 8 && [code ?? '', text].some(name => plain(name).includes(each))),
  );
}

/** Returns the button that starts or restarts WARP's service; without systemd and in the demo, the button runs the checks. */
export function serviceRemedy(
  verb: 'start' | 'restart',
  { serviceManager, emulated }: Pick<Snapshot['tunnelCli'], 'serviceManager'> & { emulated?: boolean },
  { _ }: Translator,
): Button {
  if (emulated || serviceManager) return { label: _('Run Checks'), command: goTo('checks') };
  return verb === 'restart'
    ? { label: _('Restart WARP'), command: clientCommand('restart-service') }
    : { label: _('Start the Service'), command: clientCommand('start-service') };
}

/** Returns the button of a remedy; null if the user can only wait. */
export function remedyOf(remedy: Remedy, snapshot: Snapshot, tr: Translator): Cause['remedy'] {
  const { settings, tunnel, tunnelCli } = snapshot;
  const { _ } = tr;
  switch (remedy) {
    case 'retry':
      return { label: _('Try Again'), command: actionCommand({ action: 'connect' }) };
    case 'connect':
      return { label: _('Connect'), command: actionCommand({ action: 'connect' }) };
    case 'portal':
      return { label: _('Open Sign-in Page'), command: signInCommand(snapshot, 'portal', tr) };
    case 'network':
      return { label: _('Network Settings'), command: clientCommand('network-settings') };
    case 'udp':
      if (offersHttp2(snapshot)) return { label: _('Use HTTP/2'), command: actionCommand(USE_HTTP2) };
      return usesHttp2(snapshot) && !isOrganizations(snapshot)
        ? { label: _('Allow HTTP/3 Again'), command: actionCommand({ action: 'resetMasqueOptions' }) }
        : remedyOf('protocol', snapshot, tr);
    case 'protocol': {
      const masque = /masque/i.test(String(settings['WARP tunnel protocol'] ?? tunnel.protocol ?? ''));
      return {
        label: masque ? _('Try WireGuard') : _('Try MASQUE'),
        command: actionCommand({ action: 'setProtocol', value: masque ? 'WireGuard' : 'MASQUE' }),
      };
    }
    case 'restart':
    case 'start':
      return serviceRemedy(remedy, tunnelCli, tr);
    case 'register':
      return { label: _('Set Up'), command: goTo('account') };
    case 'account':
      return { label: _('Open Account'), command: goTo('account') };
    case 'networks':
      return { label: _('Trusted Networks'), command: goTo('networks') };
    case 'tunnel-only':
      return { label: _('Leave DNS Alone'), command: actionCommand({ action: 'setMode', value: 'tunnel_only' }) };
    case 'proxy-port':
      return { label: _('Change Port'), command: goTo('advanced') };
    case 'checks':
      return { label: _('Run Checks'), command: goTo('checks') };
    case 'wait':
      return null;
  }
}

/** Words a step of connecting, as the tunnel CLI's own names are meant for its developers. */
export function phaseText(code: string | null, text: string, { _ }: Translator): string {
  const plain = `${code ?? ''} ${text}`.toLowerCase();
  if (/happy.?eyeballs|ip connection/.test(plain)) return _('Looking for the fastest way to Cloudflare…');
  if (/checkingnetwork|validating network/.test(plain)) return _('Checking your network…');
  if (/connectivity checks|connectivitychecks|confirming tunnel/.test(plain)) return _('Testing the connection…');
  if (/dns/.test(plain)) return _('Setting up DNS…');
  if (/firewall|rout/.test(plain)) return _('Setting up routes and firewall…');
  if (/proxy/.test(plain)) return _('Starting the local proxy…');
  if (/establish/.test(plain)) return _('Connecting to the server…');
  return _('Setting up the tunnel…');
}
