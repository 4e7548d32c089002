// Pure: turns the state of the tunnel into what every client shows of it.
import type { ConfigResponse, ConnectionState, Protocol, Blocked as Setup, Snapshot } from '../../api/schema.ts';
import type { ClientState } from '../client/client-state.ts';
import { type Look, lookOf, modeName, setupText, stateLabel, statusLabel } from '../client/labels.ts';
import type { Command, Tone } from '../form.ts';
import { formatCount, formatElapsed, formatLatency, formatLoss } from '../format.ts';
import { worded } from '../message.ts';
import { fill, type Translator } from '../translator.ts';
import { type LostRegistration, lostRegistration, phaseText } from './causes/causes.ts';
import { explainedCause, findingWords } from './causes/diagnosis.ts';
import { pauseLengths } from './changes.ts';
import { blockedText, isBlocking, type State, stateIcon, stateOf, stateText } from './summary/state.ts';

export interface TunnelView {
  look: Look;
  /** The state summed up, with pause, kill switch and missing steps. */
  state: State;
  /** The same in a few words. */
  stateText: string;
  /** The state, or the cause of a failure, in a few words. */
  label: string;
  /** The consequence for the user. */
  sentence: string;
  /** The one thing that helps, or null. */
  remedy: { label: string; command: Command } | null;
  /** Words of the tunnel CLI itself, for the technical details; null if they add nothing. */
  details: string | null;
  icon: string;
  tone: Tone;
  toggle: Toggle;
  /** The tunnel CLI is being waited for longer than usual. */
  waiting: string | null;
  /** The set-up that the user must do first, while the daemon can be asked for it. */
  setup: Setup | null;
  /** Why a device that was registered has to be set up again, or null. */
  lost: LostRegistration | null;
  emulated: boolean;
  mode: string | null;
  /** The mode's name, as people know it. */
  modeTitle: string;
  protocol: Protocol | null;
  /** Mode, protocol and every other action can be asked for. */
  settable: boolean;
  /** The organization manages the tunnel; what it locked, or null. */
  lock: string | null;
  /** Lengths of a pause to offer, in minutes, the one that was used last first. */
  pauses: readonly number[];
  /** Figures of the running tunnel mean something. */
  live: boolean;
}

interface Toggle {
  /** The confirmed state, never the requested one. */
  on: boolean;
  sensitive: boolean;
  /** The action behind it; null if the state is not known, and it could mean either. */
  action: 'connect' | 'disconnect' | null;
  label: string;
}

const ON: ConnectionState[] = ['connected', 'connecting', 'unable'];
const TONES: Record<Look, Tone> = {
  connected: 'success',
  connecting: 'accent',
  disconnecting: 'accent',
  disconnected: 'neutral',
  unable: 'error',
  unknown: 'warning',
  setup: 'warning',
  unavailable: 'neutral',
};

/** Everything that clients show of the tunnel, in the language of `tr`. */
export function describeTunnel(client: ClientState, tr: Translator): TunnelView {
  const { snapshot, offline, pending } = client;
  const look = offline || !snapshot ? 'unavailable' : lookOf(snapshot);
  const current = look === 'unavailable' || !snapshot ? null : snapshot;
  const state = stateOf(client);
  const connection = current && !current.status.blocked ? current.status.state : null;
  const words = describeState(look, current, client, tr);
  const first = current?.status.state === 'unknown' && current.status.raw === null;
  const locked = current?.options.switchLocked === true;
  return {
    look,
    state,
    stateText: stateText(client, words.label, tr),
    ...words,
    icon: stateIcon(offline?.code === 'starting' && client.last ? stateOfLook(client.last) : state),
    tone:
      look === 'connected' && (current?.diagnosis || current?.status.network === 'unstable') ? 'warning' : TONES[look],
    toggle: toggleOf(connection, { free: !pending && !first, locked }, tr),
    waiting: pending && client.slow ? tr._('Waiting for WARP…') : null,
    setup: current?.status.blocked ?? null,
    lost: current && lostRegistration(current.status, tr),
    emulated: snapshot?.tunnelCli.emulated ?? false,
    mode: snapshot?.settings.Mode ?? null,
    modeTitle: snapshot?.settings.Mode ? modeName(snapshot.settings.Mode, tr).title : '',
    protocol: snapshot ? protocolOf(snapshot) : null,
    settable: connection !== null && !pending && !first,
    lock: current ? lockText(current, tr) : null,
    pauses: pauseLengths(snapshot),
    live: connection === 'connected',
  };
}

function stateOfLook(look: Exclude<Look, 'unavailable'>): State {
  return look === 'setup' ? 'needs-you' : look;
}

type Words = Pick<TunnelView, 'label' | 'sentence' | 'remedy' | 'details'>;

function describeState(look: Look, snapshot: Snapshot | null, client: ClientState, tr: Translator): Words {
  const { _ } = tr;
  const none = { remedy: null, details: null };
  if (!snapshot) return describeOffline(client, tr);
  const { reason, network, raw, blocked } = snapshot.status;
  const cause = explainedCause(snapshot, tr);
  const finding = snapshot.diagnosis && findingWords(snapshot.diagnosis, tr);
  const said = reason ? [reason.code, reason.text].filter(Boolean).join(': ') : null;
  const details = look === 'unable' ? [said, finding?.seen].filter(Boolean).join('\n') || null : said;
  switch (look) {
    case 'connected':
      if (finding)
        return {
          label: stateLabel(look, tr),
          remedy: finding.remedy,
          details: finding.seen,
          // Translators: %s is a sentence on the cause
          sentence: fill(_('Nothing comes back through the tunnel. %s'), finding.sentence),
        };
      return network === 'unstable'
        ? { ...none, label: stateLabel(look, tr), sentence: unstableText(snapshot, tr), details }
        : { ...none, label: stateLabel(look, tr), sentence: coverage(snapshot, tr) };
    case 'connecting':
      return {
        label: stateLabel(look, tr),
        sentence: cause?.title ?? phaseText(reason?.code ?? null, reason?.text ?? '', tr),
        remedy: cause?.remedy ?? null,
        details: cause ? details : null,
      };
    case 'disconnecting':
      return { ...none, label: stateLabel(look, tr), sentence: _('The tunnel is being taken down.') };
    case 'disconnected': {
      const direct = isBlocking(snapshot.killSwitch)
        ? blockedText(tr)
        : _('You are not protected. Your traffic bypasses WARP.');
      if (cause) return { label: cause.title, sentence: cause.sentence, remedy: cause.remedy, details };
      return { ...none, label: stateLabel(look, tr), sentence: direct };
    }
    case 'unable':
      return { label: cause!.title, sentence: cause!.sentence, remedy: cause!.remedy, details };
    case 'setup':
      return {
        label: stateLabel(look, tr),
        remedy: null,
        details: said,
        sentence: lostRegistration(snapshot.status, tr)?.title ?? setupText(blocked!, tr, snapshot.tunnelCli.version),
      };
    default:
      if (raw === null) return { ...none, label: statusLabel(snapshot.status, tr), sentence: _('Reading the status…') };
      // it ended without a word, at the time limit as a rule
      if (raw === '')
        return {
          label: stateLabel(look, tr),
          sentence: _('WARP did not answer in time.'),
          remedy: { label: _('Restart WARP'), command: { ask: { kind: 'client', task: 'restart-service' } } },
          details: null,
        };
      return {
        ...none,
        label: stateLabel(look, tr),
        sentence: _('WARP reports something that Culvert does not understand.'),
        details: raw,
      };
  }
}

/**
 * Uses the figures of the reason, as `NetworkDegraded` in warp/parse/reasons.ts writes them: those of the tunnel are averages,
 * which may not show it yet.
 */
function unstableText({ status }: Snapshot, tr: Translator): string {
  const text = status.reason?.text ?? '';
  const [loss = Number.NaN, latency = Number.NaN] = [/([\d.]+) % loss/, /([\d.]+) ms/].map(figure =>
    Number(figure.exec(text)?.[1] ?? Number.NaN),
  );
  if (Number.isNaN(loss) || Number.isNaN(latency)) return tr._('Slow connection');
  // Translators: a share of packets such as 8 %, then a time such as 400 ms
  return fill(tr._('Slow connection: %s lost, %s'), formatLoss(loss / 100, tr), formatLatency(latency, tr));
}

function describeOffline({ offline, last }: ClientState, tr: Translator): Words {
  const { _ } = tr;
  const unavailable = stateLabel('unavailable', tr);
  const stopped = { label: _('Start'), command: { ask: { kind: 'client', task: 'start-daemon' } } } as const;
  const words = (label: string, sentence: string, detail: string | null = null, remedy: Words['remedy'] = null) => ({
    label,
    sentence,
    remedy,
    details: detail,
  });
  switch (offline?.code) {
    case 'not-running':
    case 'stopped':
      return words(unavailable, _('Culvert’s background service isn’t running.'), null, stopped);
    case 'not-responding':
      return words(unavailable, _('Culvert’s background service does not respond.'), offline.detail);
    case 'refused':
      return words(unavailable, _('Culvert’s background service doesn’t accept this window.'), offline.detail);
    default:
      return words(last ? stateLabel(last, tr) : _('Starting…'), _('Looking for Culvert’s background service.'));
  }
}

/** Traffic that a connection covers, which the mode decides. */
function coverage({ settings, tunnel }: Snapshot, { _ }: Translator): string {
  switch (settings.Mode) {
    case 'doh':
    case 'dot':
      return _('DNS queries are encrypted; other traffic is not tunneled.');
    case 'proxy':
      return tunnel.proxyPort === null
        ? _('Apps that use the local proxy are tunneled.')
        : // Translators: %s is an address such as 127.0.0.1:40000
          fill(_('Apps that use the proxy at %s are tunneled.'), `127.0.0.1:${tunnel.proxyPort}`);
    case 'tunnel_only':
      return _('Your traffic is tunneled; DNS is not.');
    default:
      return _('Your traffic goes through Cloudflare.');
  }
}

function lockText(snapshot: Snapshot, { _ }: Translator): string | null {
  const { switchLocked, modeLocked } = snapshot.options;
  const organization = snapshot.account.organization ?? snapshot.options.organization;
  if (!switchLocked && !modeLocked) return null;
  // Translators: %s is the name of an organization
  const by = organization ? fill(_('Managed by %s'), organization) : _('Managed by your organization');
  const what = switchLocked ? _('WARP can’t be turned off here.') : _('The mode can’t be changed here.');
  return `${by} · ${what}`;
}

function toggleOf(
  state: ConnectionState | null,
  { free, locked }: { free: boolean; locked: boolean },
  { _ }: Translator,
): Toggle {
  const on = state !== null && ON.includes(state);
  const either = state === null || state === 'unknown';
  return {
    on,
    sensitive: free && !either && state !== 'disconnecting' && !(on && locked),
    action: either ? null : on ? 'disconnect' : 'connect',
    label: on ? (state === 'connecting' ? _('Cancel') : _('Disconnect')) : _('Connect'),
  };
}

/** Old tunnel CLIs do not name it, and spellings differ between text and JSON. */
function protocolOf({ settings, tunnel }: Snapshot): Protocol | null {
  const named = Object.entries(settings).find(([key]) => /^warp[ _]tunnel[ _]protocol$/i.test(key))?.[1];
  const text = typeof named === 'string' ? named : (tunnel.protocol ?? '');
  if (/^masque/i.test(text)) return 'MASQUE';
  return /^wireguard/i.test(text) ? 'WireGuard' : null;
}

/** Duration of the state, in words; null for a state that does not last. */
export function durationText(look: Look, seconds: number, tr: Translator): string | null {
  const { _ } = tr;
  // Translators: %s is a duration such as 12 min; how long the state has lasted
  const says: Partial<Record<Look, string>> = {
    connected: _('Connected for %s'),
    connecting: _('Trying for %s'),
    unable: _('Trying for %s'),
    disconnected: _('For %s'),
  };
  const text = says[look];
  return text ? fill(text, formatElapsed(seconds, tr)) : null;
}

/** The first thing wrong in the configuration files: file, line and reason. */
export function configProblemText(config: ConfigResponse | null, tr: Translator): string | null {
  const [first, ...rest] = config?.problems ?? [];
  if (!first) return null;
  const place = [first.file, first.line].filter(part => part !== null).join(':');
  const text = `${place}: ${first.key ? `${first.key}: ` : ''}${worded(first.message, first.wording && [first.wording], tr)}`;
  // Translators: %s is a problem in a configuration file, %d how many more there are
  const more = tr.ngettext('%s (and %d more)', '%s (and %d more)', rest.length);
  return rest.length ? fill(more, text, formatCount(rest.length, tr)) : text;
}
