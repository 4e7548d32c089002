// Pure: sums the state up in one word for shells, bars and icons: what the tunnel does, and what a pause, the kill switch or a missing step makes of it.
import type { KillSwitch, Snapshot } from '../../../api/schema.ts';
import { type ClientState, current } from '../../client/client-state.ts';
import { fill, type Translator } from '../../translator.ts';
import { changeText, isPause } from '../changes.ts';

/** Every state; the names are a promise to shells (org.culvert.Client1). More may come. */
export const STATES = [
  'connected',
  'connecting',
  'disconnecting',
  'disconnected',
  /** Off for a while. */
  'paused',
  /** Not connected, and the kill switch blocks all traffic. */
  'blocked',
  /** WARP tries to connect and can't. */
  'unable',
  /** Nothing works before the user has done something, such as signing in to a network. */
  'needs-you',
  'unknown',
] as const;
export type State = (typeof STATES)[number];

/** Signs of Windows Glyph List 4, which nearly every font has, for bars and terminals; their shapes are those of the icons. */
export const SIGNS: Record<State, string> = {
  connected: '●',
  connecting: '▲',
  disconnecting: '▼',
  disconnected: '○',
  paused: '||',
  blocked: '■',
  unable: '×',
  'needs-you': '!',
  unknown: '?',
};

/** A snapshot that is out of date is as good as none. */
export function stateOf(client: ClientState): State {
  const snapshot = current(client);
  return snapshot ? stateIn(snapshot) : 'unknown';
}

export function stateIn({ status, killSwitch, changes }: Pick<Snapshot, 'status' | 'killSwitch' | 'changes'>): State {
  if (status.blocked !== null || (status.state !== 'connected' && wantsSignIn(status))) return 'needs-you';
  const off = status.state === 'disconnected' || status.state === 'unable';
  if (off && isBlocking(killSwitch)) return 'blocked';
  if (status.state === 'disconnected' && changes.some(isPause)) return 'paused';
  return status.state;
}

/** Name of the symbolic icon whose shape shows the state. */
export function stateIcon(state: State): string {
  return `org.culvert.Culvert-${state}-symbolic`;
}

/** A network wants its user to sign in on a page. */
export function wantsSignIn({ reason }: Pick<Snapshot['status'], 'reason'>): boolean {
  return reason?.code?.startsWith('CaptivePortal') === true;
}

/** Traffic outside the tunnel is being blocked, as measured. */
export function isBlocking({ active, pausedUntil }: KillSwitch): boolean {
  return active === true && pausedUntil === null;
}

export function blockedText({ _ }: Translator): string {
  return _('Traffic is blocked by the kill switch');
}

/** The state in a few words. @param label of the tunnel alone */
export function stateText(client: ClientState, label: string, tr: Translator): string {
  const state = stateOf(client);
  const pause = state === 'paused' && current(client)?.changes.find(isPause);
  const text = state === 'blocked' ? blockedText(tr) : pause ? changeText(pause, tr) : label;
  return current(client)?.tunnelCli.emulated ? demoText(text, tr) : text;
}

/** Says that a state is that of the stand-in for WARP. */
export function demoText(text: string, { _ }: Translator): string {
  // Translators: %s is a state such as Connected
  return fill(_('Demo: %s'), text);
}
