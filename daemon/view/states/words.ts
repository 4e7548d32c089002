// Describes every state with its words and buttons, which every client shows. They depend on the tunnel, a pause, unconfirmed
// changes, the kill switch, the demo and the duration of the state.
import type { Snapshot } from '../../api/schema.ts';
import type { State } from '../../api/states.ts';
import { type ClientState, current } from '../client/client-state.ts';
import { setupText } from '../client/labels.ts';
import { type Button, clientCommand, type Tone } from '../form.ts';
import { formatLatency, formatLoss, timeOfDay } from '../format.ts';
import { fill, type Translator } from '../translator.ts';
import { OWN_CODES } from './cause-table.ts';
import { type Cause, lostRegistration, phaseText, remedyOf } from './causes.ts';
import { changeText, isPause } from './changes.ts';
import { coverageOf, coverageTone, tunneledText } from './coverage.ts';
import { explainedCause, findingWords } from './findings.ts';
import { offersHttp2 } from './http2.ts';
import { blockedSentence, blockedText, leaveDemo, onlyTunnelText, wayOut } from './killswitch.ts';
import { demoText, stateIcon, stateName, stateTone, unavailableText } from './state-table.ts';
import {
  asOf,
  isConnectIgnored,
  isOffline,
  isOld,
  isOnlyTunnelLeft,
  isUnmeasured,
  silenceText,
  stateIn,
  unknownWord,
} from './summary.ts';

export interface StateWords {
  /** The state, including a pause, the kill switch and missing setup. */
  state: State;
  /** The state, or the cause of a failure, in a few words. */
  label: string;
  /** Like `label`, for places without the sentence: for a pause, includes its end. */
  stateText: string;
  /** The consequence for the user in one sentence; a further fact, in few words, follows on a separate line. */
  sentence: string;
  tone: Tone;
  icon: string;
  /** The button that helps, or null. */
  remedy: Button | null;
  /** A second button, or null. */
  other: Button | null;
  /** Text for the technical details, such as the tunnel CLI's reason; null if it adds nothing. */
  details: string | null;
}

/** The facts that determine the words of a state. */
interface Situation {
  snapshot: Snapshot;
  demo: boolean;
  cause: Cause | null;
  /** The tunnel CLI's reason: its code and text. */
  said: string | null;
  /** True if connecting takes longer than usual. */
  isLong: boolean;
}

/** Words of a row of the table; all other words follow from the state alone. */
type Row = Pick<StateWords, 'sentence'> & Partial<Pick<StateWords, 'label' | 'tone' | 'remedy' | 'other' | 'details'>>;

const TABLE: Record<State, (situation: Situation, tr: Translator) => Row> = {
  connected: connectedRow,
  connecting: connectingRow,
  disconnecting: (_situation, { _ }) => ({ sentence: _('The tunnel is being taken down.') }),
  disconnected: disconnectedRow,
  paused: pausedRow,
  blocked: blockedRow,
  unable: unableRow,
  'needs-you': needsYouRow,
  unknown: unknownRow,
};

/** Describes the present state. */
export function describeState(client: ClientState, tr: Translator): StateWords {
  const snapshot = current(client);
  return snapshot ? wordsOf(snapshot, client, tr) : offlineWords(client, tr);
}

function wordsOf(snapshot: Snapshot, client: ClientState, tr: Translator): StateWords {
  const { status } = snapshot;
  const { reason } = status;
  const state = stateIn(snapshot);
  const demo = snapshot.tunnelCli.emulated;
  // the title already says what Culvert's own code means
  const said =
    reason && !OWN_CODES.includes(reason.code!) ? [reason.code, reason.text].filter(Boolean).join(': ') : null;
  const cause = explainedCause(snapshot, tr);
  const row = TABLE[state]({ snapshot, demo, cause, said, isLong: client.isLong }, tr);
  const label = row.label === undefined ? stateName(state, demo, tr) : demo ? demoText(row.label, tr) : row.label;
  const words: StateWords = {
    state,
    stateText: label,
    tone: stateTone(state, demo),
    icon: stateIcon(state),
    remedy: null,
    other: null,
    details: null,
    ...row,
    label,
  };
  const end = state === 'paused' ? pauseEnd(snapshot) : null;
  if (end !== null) words.stateText = fill(tr._('%s until %s'), label, timeOfDay(end, false));
  if (isOld(status)) {
    const silence = silenceText(status, tr);
    if (words.tone !== 'error') words.tone = 'warning';
    // the traffic may take another way by now
    words.sentence = silence;
    words.label = asOf(words.label, status, tr);
    words.stateText = asOf(words.stateText, status, tr);
  }
  const isOnlyTunnel = isOnlyTunnelLeft(snapshot);
  if (!isOnlyTunnel && !isOffline(snapshot)) return words;
  // the sentence of a blocked state already says that internet is blocked
  const isSaid = state === 'blocked';
  return {
    ...words,
    sentence: isSaid ? words.sentence : `${words.sentence}\n${isOnlyTunnel ? onlyTunnelText(tr) : blockedText(tr)}`,
    tone: words.tone === 'error' && !isSaid ? 'error' : stateTone('blocked', demo),
    other: words.other ?? wayOut(client, tr),
  };
}

/** Describes the state without a daemon. At the start, keeps the last shown state until the daemon is found. */
function offlineWords({ offline, last }: ClientState, tr: Translator): StateWords {
  const { _ } = tr;
  const shown = offline?.code === 'starting' ? last : null;
  const words = (label: string, sentence: string, detail: string | null = null): StateWords => ({
    state: 'unknown',
    label,
    stateText: label,
    sentence,
    tone: 'neutral',
    icon: stateIcon(shown?.state ?? 'unknown'),
    remedy: null,
    other: null,
    details: detail,
  });
  const start = { label: _('Start'), command: clientCommand('start-daemon') };
  const unavailable = unavailableText(tr);
  switch (offline?.code) {
    case 'not-running':
    case 'stopped':
      return { ...words(unavailable, _('Culvert’s background service isn’t running.')), remedy: start };
    case 'not-responding':
      return words(unavailable, _('Culvert’s background service does not respond.'), offline.detail);
    case 'refused':
      return words(unavailable, _('Culvert’s background service doesn’t accept this window.'), offline.detail);
    default:
      return words(
        shown ? stateName(shown.state, shown.demo, tr) : _('Starting…'),
        _('Looking for Culvert’s background service.'),
      );
  }
}

const causeRow = ({ title, sentence, remedy }: Cause, said: string | null): Row => ({
  label: title,
  sentence,
  remedy,
  details: said,
});

function connectedRow({ snapshot, demo, said }: Situation, tr: Translator): Row {
  const { _ } = tr;
  const { diagnosis, status } = snapshot;
  const finding = diagnosis && findingWords(diagnosis, tr);
  if (finding)
    return {
      // Translators: %s is a sentence on the cause
      sentence: fill(_('Nothing comes back through the tunnel. %s'), finding.sentence),
      tone: 'warning',
      remedy: finding.remedy,
      details: finding.seen,
    };
  if (status.network === 'unstable') return { sentence: unstableText(snapshot, tr), tone: 'warning', details: said };
  const network = unknownWord(status, 'network');
  const coverage = coverageOf(snapshot);
  return {
    sentence: tunneledText(snapshot, tr),
    tone: demo ? 'warning' : coverageTone(coverage),
    ...(network === null ? {} : { details: `Network: ${network}` }), // WARP's own line
  };
}

function disconnectedRow(situation: Situation, tr: Translator): Row {
  const { snapshot, cause, said } = situation;
  // the user wanted to connect, but there is no tunnel
  if (cause && isConnectIgnored(snapshot)) return { ...unableRow(situation, tr), tone: 'warning' };
  const sentence = bypassText(snapshot, tr);
  if (cause) return { ...causeRow(cause, said), ...(snapshot.status.reason?.code === 'Paused' && { sentence }) };
  return snapshot.status.reason?.code === 'ConnectAccepted'
    ? { label: tr._('Waiting for WARP'), sentence } // short, because a second line would move the controls
    : { sentence };
}

/** Describes connecting; offers help even without a cause once it takes long. */
function connectingRow({ snapshot, cause, said, isLong }: Situation, tr: Translator): Row {
  const { _ } = tr;
  const { reason } = snapshot.status;
  if (cause) return { sentence: cause.title, remedy: cause.remedy, details: said };
  if (!isLong) return { sentence: phaseText(reason?.code ?? null, reason?.text ?? '', tr) };
  return {
    sentence: offersHttp2(snapshot)
      ? _('This takes longer than usual. UDP may be blocked.')
      : _('This takes longer than usual.'),
    remedy: remedyOf('udp', snapshot, tr),
    other: remedyOf('checks', snapshot, tr),
    details: said,
  };
}

/** Returns the time when a pause ends; null if its end failed or the pause waits for confirmation. */
function pauseEnd({ changes }: Pick<Snapshot, 'changes'>): string | null {
  const { endsAt = null, confirmBy, problem } = changes.find(isPause) ?? { confirmBy: null, problem: null };
  return problem === null && confirmBy === null ? endsAt : null;
}

function pausedRow({ snapshot, demo }: Situation, tr: Translator): Row {
  const { _ } = tr;
  const end = pauseEnd(snapshot);
  const pause = snapshot.changes.find(isPause)!;
  // Translators: %s is a time of day
  if (end === null || demo) return { sentence: `${bypassText(snapshot, tr)}\n${changeText(pause, tr)}` };
  const text = isUnmeasured(snapshot.killSwitch)
    ? _('Back on at %s. It is not known whether your traffic is blocked.')
    : _('Back on at %s. Your traffic bypasses WARP until then.');
  return { sentence: fill(text, timeOfDay(end, false)) };
}

/** Words what happens to traffic without a tunnel. */
function bypassText({ killSwitch, tunnelCli }: Snapshot, { _ }: Translator): string {
  if (tunnelCli.emulated) return _('Demo: your real traffic is not protected.');
  return isUnmeasured(killSwitch)
    ? _('It is not known whether your traffic is blocked.')
    : _('You are not protected. Your traffic bypasses WARP.');
}

/** Describes a block; keeps the cause of a failure and its remedy. */
function blockedRow({ snapshot, cause, demo, said }: Situation, tr: Translator): Row {
  const pause = snapshot.changes.find(isPause);
  const more = pause ? changeText(pause, tr) : cause?.title;
  const why = cause && fill(tr._('%s: %s'), cause.title, cause.sentence);
  return {
    sentence: [blockedSentence(tr), more].filter(Boolean).join('\n'),
    // this daemon can't end the block
    remedy: demo ? leaveDemo(tr) : (cause?.remedy ?? null),
    details: why && [why, said].filter(Boolean).join('\n'),
  };
}

function unableRow({ snapshot, cause, said }: Situation, tr: Translator): Row {
  const finding = snapshot.diagnosis && findingWords(snapshot.diagnosis, tr);
  return causeRow(cause!, [said, finding?.seen].filter(Boolean).join('\n') || null);
}

/** Describes a step of the setup, or a network that wants the user to sign in. */
function needsYouRow({ snapshot, cause, said }: Situation, tr: Translator): Row {
  const { status, tunnelCli } = snapshot;
  if (status.blocked === null) return causeRow(cause!, said);
  const sentence = lostRegistration(status, tr)?.title ?? setupText(status.blocked, tr, tunnelCli.version);
  return { sentence, details: said };
}

function unknownRow({ snapshot, cause }: Situation, tr: Translator): Row {
  const { _ } = tr;
  const { raw } = snapshot.status;
  if (raw === null) return { label: _('Reading the state…'), sentence: _('Reading the status…') };
  if (cause) return causeRow(cause, raw || null);
  const word = unknownWord(snapshot.status, 'status');
  return {
    ...(word === null ? {} : { label: word }),
    sentence: _('WARP reports something that Culvert does not understand.'),
    details: raw,
  };
}

function unstableText({ status }: Snapshot, tr: Translator): string {
  const figures = unstableFigures(status);
  if (!figures) return tr._('Slow connection');
  // Translators: a share of packets such as 8 %, then a time such as 400 ms
  return fill(tr._('Slow connection: %s lost, %s'), formatLoss(figures.loss, tr), formatLatency(figures.latencyMs, tr));
}

/** Parses the text that `NetworkDegraded` in warp/parse/status.ts writes; null for any other state or reason. */
function unstableFigures({ state, network, reason }: Snapshot['status']): { latencyMs: number; loss: number } | null {
  if (state !== 'connected' || network !== 'unstable') return null;
  const figure = (pattern: RegExp) => Number(pattern.exec(reason?.text ?? '')?.[1] ?? Number.NaN);
  const [percent, latencyMs] = [figure(/([\d.]+) % loss/), figure(/([\d.]+) ms/)];
  return Number.isNaN(percent) || Number.isNaN(latencyMs) ? null : { latencyMs, loss: percent / 100 };
}

/** Returns latency in ms and loss as a fraction, of an unstable network first: the tunnel's averages may lag behind. */
export function figuresOf({
  status,
  tunnel,
}: Pick<Snapshot, 'status' | 'tunnel'>): Pick<Snapshot['tunnel'], 'latencyMs' | 'loss'> {
  return unstableFigures(status) ?? tunnel;
}
