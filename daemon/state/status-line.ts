// Formats the tunnel's status line for `culvert status`, and keeps it in a small file that prompts and bars can read every
// second without starting Node (data/bin/culvert.in).
import { existsSync, rmSync } from 'node:fs';
import type { ConnectionState, Snapshot } from '../api/schema.ts';
import { reason } from '../core/errors.ts';
import { replaceFile } from '../core/files.ts';
import { printable } from '../core/printable.ts';
import { thisProcess } from '../core/process.ts';
import { createStyle, plain, type Style } from '../core/terminal.ts';
import { createLongTimer, shownState, untilLong } from '../view/client/client-state.ts';
import { describeRemoteAccess, modeName } from '../view/client/labels.ts';
import { formatStatusFile } from '../view/client/status-file.ts';
import type { Tone } from '../view/form.ts';
import { blockedWords, isProgramFailure, reasonText } from '../view/states/causes.ts';
import { changeText } from '../view/states/changes.ts';
import { coverageOf, coverageText, isAsNamed, leavesTraffic } from '../view/states/coverage.ts';
import { offersHttp2, usesHttp2 } from '../view/states/http2.ts';
import { blockedRest, blockedSentence, blockedText, onlyTunnelText } from '../view/states/killswitch.ts';
import { stateName, stateSign } from '../view/states/state-table.ts';
import {
  asOf,
  isConnectIgnored,
  isOffline,
  isOld,
  isOnlyTunnelLeft,
  silenceText,
  stateIn,
  unknownWord,
} from '../view/states/summary.ts';
import { sourceWarning } from '../view/states/updates.ts';
import { describeState } from '../view/states/words.ts';
import { english } from '../view/translator.ts';
import type { State } from './store.ts';

const COLORS: Record<Tone, keyof Style> = {
  success: 'green',
  accent: 'yellow',
  warning: 'yellow',
  error: 'red',
  neutral: 'dim',
};

/**
 * Formats state, reason, mode and protocol on one line: `● Connected · All traffic · MASQUE`. It contains no time, so it
 * stays true until the state changes. The next command follows a blocking cause.
 * @param now in ms since the epoch
 */
export function statusLine(shown: Snapshot, style: Style = plain, now = Date.now()): string {
  return statusParts(shown, style, now).join(separator(style));
}

/** Returns the line for a daemon that does not answer. */
export function unavailableLine(style: Style): string {
  const { state, label, tone } = describeState(shownState(null), english);
  const paint = style[COLORS[tone]];
  return `${paint(stateSign(state))} ${style.bold(paint(label))}`;
}

/** Returns the separator between the parts of the line. */
export function separator(style: Style): string {
  return style.dim(' · ');
}

/** Returns the parts of the line. @param now in ms since the epoch */
export function statusParts(shown: Snapshot, style: Style, now: number): string[] {
  const { status, settings, tunnel, tunnelCli, remoteAccess, changes, lostChanges, diagnosis } = shown;
  const { state, sentence, tone } = describeState(shownState(shown, now), english);
  const paint = style[COLORS[tone]];
  // the changes show the end of a pause
  const reason = state === 'paused' ? null : reasonText(status, english);
  const isUnread = state === 'unknown' && status.raw === null;
  const isStale = isOld(status);
  const known = isUnread ? 'Reading the state…' : stateName(state, false, english);
  const name = isStale ? asOf(known, status, english) : known;
  const parts = [`${paint(stateSign(state))} ${style.bold(paint(name))}`];
  if (isStale) parts.push(style.yellow(printable(silenceText(status, english).replace(/\.$/, ''))));
  if (isOffline(shown) || isOnlyTunnelLeft(shown)) parts.push(style.yellow(offlineText(shown, state === 'blocked')));
  if (status.blocked) {
    const { what, next } = blockedWords(shown, tunnelCli.serviceManager, english);
    parts.push([what, next].filter(Boolean).join(' '));
  } else {
    const isFailure = isProgramFailure(status);
    if (reason && (isFailure || status.state !== 'unknown')) parts.push(printable(reason));
    const word = unknownWord(status, 'status');
    if (status.state === 'unknown' && word !== null) parts.push(`WARP reports: ${printable(word)}`);
    else if (status.state === 'unknown' && status.raw) parts.push(`it printed: ${firstLine(status.raw)}`);
    if (isFailure || isConnectIgnored(shown) || (diagnosis && status.state === 'unable'))
      parts.push('see: culvert doctor');
    if (!isStale && untilLong(status, now) === 0) parts.push(style.yellow(longText(shown)));
    const network = unknownWord(status, 'network') ?? status.network;
    if (network !== null && network !== 'healthy') parts.push(style.yellow(`network ${printable(network)}`));
    const isSilent = diagnosis && status.state === 'connected';
    const traffic = isStale
      ? null
      : isSilent
        ? style.yellow(printable(sentence).replace(/\.$/, ''))
        : trafficText(shown);
    if (traffic !== null) parts.push(traffic);
    const rest = status.state === 'connected' && leavesTraffic(coverageOf(shown)) ? blockedRest(shown, english) : null;
    if (rest !== null) parts.push(rest.replace(/\.$/, ''));
    const protocol = protocolOf({ settings, tunnel });
    if (protocol)
      parts.push(printable(usesHttp2(shown) && /^masque$/i.test(protocol) ? `${protocol} over HTTP/2` : protocol));
  }
  const remote = describeRemoteAccess(remoteAccess, english);
  if (remote) parts.push(remote.caution ? style.yellow(remote.title) : remote.title);
  for (const change of changes) parts.push(style.yellow(printable(changeText(change, english))));
  if (lostChanges) parts.push(style.yellow('changes did not revert, see: culvert doctor'));
  if (tunnelCli.emulated) parts.push(style.cyan('demo: no tunnel'));
  return parts;
}

/**
 * Names the mode; for a connection that covers less than the mode's name says, words what it covers. Null while no mode is
 * known: `Connected` alone claims nothing.
 */
function trafficText(shown: Snapshot): string | null {
  const { status, settings, tunnelCli } = shown;
  const coverage = coverageOf(shown);
  if (!settings.Mode) return null;
  const name = printable(modeName(settings.Mode, english).title);
  if (status.state !== 'connected' || tunnelCli.emulated || isAsNamed(coverage)) return name;
  const text = coverageText(coverage, english).replace(/\.$/, '');
  return coverage.kind === 'unknown' ? `${name}: ${text}` : text;
}

function longText(shown: Snapshot): string {
  const way = offersHttp2(shown) ? '; if this network blocks UDP: culvert protocol h2-only' : '';
  return `This takes longer than usual, see: culvert doctor${way}`;
}

function offlineText(shown: Snapshot, isNamed: boolean): string {
  const { killSwitch, tunnelCli } = shown;
  const word = isOnlyTunnelLeft(shown) ? onlyTunnelText : isNamed ? blockedSentence : blockedText;
  const text = word(english).replace(/\.$/, '');
  const pause = killSwitch.enabled && !tunnelCli.emulated ? '; pause it with: culvert killswitch pause 5' : '';
  return `${text}${pause}`;
}

/** Returns the warning of `culvert status` on stderr that updates can't reach this installation, with a command. */
export function statusWarning({ update }: Pick<Snapshot, 'update'>): string | null {
  const warning = update && sourceWarning(update, english);
  return warning && `${warning}. See: culvert update check`;
}

/**
 * Returns the output of `culvert status --json`, and of each line with `--watch`.
 * @param port the TCP port, or null
 */
export function statusJson(shown: Snapshot, port: number | null) {
  const { status, settings, tunnelCli, remoteAccess, changes, lostChanges } = shown;
  const mode = settings.Mode ?? null;
  const summary = stateIn(shown);
  const json = { ok: true, summary, status, mode, tunnelCli, port, remoteAccess, changes, lostChanges } as const;
  return tunnelCli.emulated ? { ...json, demo: true as const } : json;
}

/** Returns the protocol that is set, else the protocol in use, or null if neither is known. */
export function protocolOf({ settings, tunnel }: Pick<Snapshot, 'settings' | 'tunnel'>): string | null {
  const set = settings['WARP tunnel protocol'];
  return typeof set === 'string' ? set : tunnel.protocol;
}

function firstLine(text: string): string {
  const line = printable(text.split('\n').find(l => l.trim()) ?? '');
  return line.length > 80 ? `${line.slice(0, 79)}…` : line;
}

interface StatusFileOptions {
  port(): number | null;
  isModeKnown(): boolean;
  hasOldParts?(): boolean;
  now?(): number;
}

/**
 * Keeps the status file current.
 * @param now the clock, in ms since the epoch
 * @param isModeKnown returns true if the settings are current; otherwise the line omits mode and protocol
 * @param hasOldParts returns true if shown parts could not be read again; `culvert status` then asks the daemon
 * @returns a function that writes the file if its content changed or the file is missing
 */
export function keepStatusFile(
  path: string,
  state: State,
  { port, isModeKnown, hasOldParts = () => false, now = Date.now }: StatusFileOptions,
): () => void {
  const owner = thisProcess();
  let before = '';
  const write = () => {
    const current = state.snapshot();
    long.follow(current.status)?.unref();
    const hasOld = hasOldParts();
    const isKnown = isModeKnown() && !hasOld;
    const snapshot = isKnown ? current : { ...current, settings: {}, tunnel: { ...current.tunnel, protocol: null } };
    const text = formatStatusFile({
      owner,
      port: port(),
      state: hasOld ? 'old' : fileState(snapshot.status, isKnown),
      line: statusLine(snapshot, plain, now()),
      coloredLine: statusLine(snapshot, createStyle(true), now()),
      json: statusJson(snapshot, port()),
      warning: statusWarning(snapshot),
    });
    if (text === before && existsSync(path)) return;
    try {
      replaceFile(path, text, { durable: false });
      before = text;
    } catch (error) {
      // without the file, "culvert status" asks the daemon instead of showing an outdated state
      before = '';
      removeFile(path);
      console.error(`culvert: ${path} could not be written, so "culvert status" takes longer: ${reason(error)}`);
    }
  };
  const long = createLongTimer(write, now);
  write();
  state.subscribe(({ event }) => {
    if (event !== 'log' && event !== 'routes') write();
  });
  return write;
}

/** Returns the state for `culvert status --check`, to which an outdated state is not known. */
function fileState(status: Snapshot['status'], isModeKnown: boolean): ConnectionState | 'reading' {
  if (isOld(status)) return 'unknown';
  return isModeKnown || status.state !== 'connected' ? status.state : 'reading';
}

/**
 * True if the settings are known. Old settings count, unless they were never read, were forgotten after a change that could
 * not be read, or are being changed.
 */
export function areSettingsKnown(
  {
    stale,
    changing,
  }: {
    stale(): readonly { part: string; ageSeconds: number | null }[];
    changing(): 'now' | 'lately' | null;
  },
  settings: Snapshot['settings'],
): boolean {
  const old = stale().find(({ part }) => part === 'settings');
  return !old || (old.ageSeconds !== null && Object.keys(settings).length > 0 && changing() !== 'now');
}

/** Removes a file. This works even on a full disk. */
function removeFile(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // the log reports the failed write
  }
}
