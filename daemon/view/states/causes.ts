// Explains why there is no tunnel: finds the tunnel CLI's reason in the table of causes, and the command of its remedy.
import type { Snapshot } from '../../api/schema.ts';
import { nextStep, setupText } from '../client/labels.ts';
import { actionCommand, type Button, clientCommand, goTo } from '../form.ts';
import type { Translator } from '../translator.ts';
import { causeEntries, type Entry, OWN_CODES, type Remedy } from './cause-table.ts';
import { wantsSignIn } from './summary.ts';

export interface Cause {
  title: string;
  sentence: string;
  /** The one button, or null if waiting or another person helps. */
  remedy: Button | null;
  /** Checks of the doctor that look for this very cause; null if the table does not know the reason. */
  checks: readonly string[] | null;
}

export interface LostRegistration extends Pick<Cause, 'title' | 'sentence'> {
  /** Only a new token in WARP's policy file registers the device again, so that no button or command offers it. */
  byToken: boolean;
}

/**
 * The cause of a status; null if there is nothing to explain (connected, or disconnected by the user).
 * An unknown code of a failure has a general cause; its text is left to the technical details.
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
  const token = snapshot.status.serviceToken && find({ code: 'ServiceToken', text: '' }, tr);
  const entry = token || (reason && find(reason, tr));
  if (entry) {
    const [, title, sentence, remedy, ...checks] = entry;
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

/** The state is not known, because the tunnel CLI crashed or printed nothing. */
export function isProgramFailure({ state, reason }: Snapshot['status']): boolean {
  return state === 'unknown' && reason?.code === 'ProgramFailed';
}

/**
 * Why a device that should have a registration is not registered; null if it never was and its user can register it, or
 * its user removed it.
 */
export function lostRegistration(
  { blocked, reason, serviceToken }: Snapshot['status'],
  tr: Translator,
): LostRegistration | null {
  if (blocked !== 'not-registered') return null;
  const entry = reason ? find(reason, tr) : undefined;
  const lost = entry?.[3] === 'account' ? entry : null;
  const token = serviceToken && find({ code: 'ServiceToken', text: '' }, tr);
  if (token) return { title: lost?.[1] ?? token[1], sentence: token[2], byToken: true };
  return lost && { title: lost[1], sentence: lost[2], byToken: false };
}

/**
 * Words for what the user has to do first, for a terminal. A registration that was lost is not simply made again.
 * @param systemd it runs this machine
 */
export function blockedWords(
  { status, tunnelCli }: Pick<Snapshot, 'status' | 'tunnelCli'>,
  systemd: boolean,
  tr: Translator,
): { what: string; next: string | null } {
  const lost = lostRegistration(status, tr);
  if (lost) return { what: `${lost.title}.`, next: `${lost.sentence}${lost.byToken ? '' : ' See: culvert account'}` };
  const blocked = status.blocked!;
  const where = { systemd, emulated: tunnelCli.emulated };
  return { what: setupText(blocked, tr, tunnelCli.version), next: nextStep(blocked, where) };
}

/** Meaning of a code, in a few words; null for a code that the table lacks. */
export function causeTitle(code: string, tr: Translator): string | null {
  return find({ code, text: '' }, tr)?.[1] ?? null;
}

/** A reason in a few words, with the tunnel CLI's code behind those of a failure; its text where the table lacks it. */
export function reasonText(status: Snapshot['status'], tr: Translator): string | null {
  const { state, reason } = status;
  if (!reason) return null;
  if (isTurnedOff(status)) return choiceText('Manual', tr);
  const { code, text } = reason;
  const title = find(reason, tr)?.[1];
  // no reader finds a code of Culvert's own in the words of Cloudflare
  const isOwn = code !== null && OWN_CODES.includes(code);
  if (title) return code && !isOwn ? `${title} (${code})` : title;
  if (state === 'connecting') return phaseText(code, text, tr);
  return (code && choiceText(code, tr)) || text;
}

/**
 * The user turned WARP off. Newer clients report that as a change of the settings, with both in full (captured from 2026.7):
 * `{"SettingsChanged":{"current":{"always_on":false,…},"previous":{"always_on":true,…}}}`.
 */
export function isTurnedOff({ state, reason, raw }: Pick<Snapshot['status'], 'state' | 'reason' | 'raw'>): boolean {
  if (state !== 'disconnected' || !reason) return false;
  if (reason.code !== 'SettingsChanged') return reason.code === 'Manual';
  const wanted = (part: string) =>
    new RegExp(`"${part}":\\s*\\{[^{}]*?"always_on":\\s*(true|false)`).exec(raw ?? '')?.[1];
  return wanted('current') === 'false' && wanted('previous') === 'true';
}

/** Words for a state that the user brought about; null for any other code. */
export function choiceText(code: string, { _ }: Translator): string | null {
  if (code === 'Manual') return _('Turned off by you');
  // Culvert's own, until the tunnel client reports what it does
  if (code === 'ConnectAccepted') return _('Waiting for WARP to connect');
  return code === 'SettingsChanged' ? _('Settings changed') : null;
}

/** The entry of a reason: its text says more than its code, and the end of the text more than the beginning. */
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

/** The button that starts or restarts WARP's service; without systemd, and in the demo, the checks say how. */
export function serviceRemedy(
  verb: 'start' | 'restart',
  { systemd, emulated }: Pick<Snapshot['tunnelCli'], 'systemd'> & { emulated?: boolean },
  { _ }: Translator,
): Button {
  if (emulated || systemd === false) return { label: _('Run Checks'), command: goTo('checks') };
  return verb === 'restart'
    ? { label: _('Restart WARP'), command: clientCommand('restart-service') }
    : { label: _('Start the Service'), command: clientCommand('start-service') };
}

/** The button of a remedy; null for one that only waits. */
export function remedyOf(remedy: Remedy, snapshot: Snapshot, tr: Translator): Cause['remedy'] {
  const { settings, tunnel, tunnelCli } = snapshot;
  const { _ } = tr;
  switch (remedy) {
    case 'retry':
      return { label: _('Try Again'), command: actionCommand({ action: 'connect' }) };
    case 'connect':
      return { label: _('Connect'), command: actionCommand({ action: 'connect' }) };
    case 'portal':
      return { label: _('Open Sign-in Page'), command: clientCommand('portal') };
    case 'network':
      return { label: _('Network Settings'), command: clientCommand('network-settings') };
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

/** Meaning of a step of connecting; the tunnel CLI's own names are for its developers. */
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
