// The one line that says how the tunnel stands; the daemon keeps the same line in its status file.
import type { ConnectionState, Snapshot } from '../api/schema.ts';
import { plain, printable, type Style } from './terminal.ts';
import { BLOCKED, NEXT, STATES } from './vocabulary.ts';

export type Shown = Pick<Snapshot, 'status' | 'settings' | 'tunnel' | 'tunnelCli'>;

const LOOK: Record<ConnectionState, [symbol: string, colour: keyof Style]> = {
  connected: ['●', 'green'],
  connecting: ['◐', 'yellow'],
  disconnecting: ['◑', 'yellow'],
  disconnected: ['○', 'dim'],
  unable: ['✖', 'red'],
  unknown: ['?', 'yellow'],
};

/**
 * State, reason, mode and protocol on one line, without a time, so that it stays true until something changes:
 * `● Connected · warp · MASQUE`. What blocks is followed by the command that ends it.
 */
export function statusLine({ status, settings, tunnel, tunnelCli }: Shown, style: Style = plain): string {
  const [symbol, colour] = LOOK[status.state];
  const paint = style[colour];
  const parts = [`${paint(symbol)} ${style.bold(paint(STATES[status.state]))}`];
  if (status.blocked) {
    const next = NEXT[status.blocked];
    parts.push(BLOCKED[status.blocked] + (next ? `. ${next}` : ''));
  } else {
    if (status.state === 'unknown' && status.raw) parts.push(`it printed: ${firstLine(status.raw)}`);
    else if (status.reason) parts.push(printable(status.reason.text));
    if (status.network === 'unstable') parts.push(style.yellow('network unstable'));
    if (settings.Mode) parts.push(printable(settings.Mode));
    const protocol = protocolOf({ settings, tunnel });
    if (protocol) parts.push(printable(protocol));
  }
  if (tunnelCli.emulated) parts.push(style.cyan('demo: nothing is tunnelled'));
  return parts.join(style.dim(' · '));
}

/** What `culvert status --json` prints, and `--watch` on every line; `port` is the TCP port, or null without one. */
export function statusJson({ status, settings, tunnelCli }: Shown, port: number | null) {
  return { ok: true, status, mode: settings.Mode ?? null, tunnelCli, port } as const;
}

/** The protocol that is set, or else the one in use; null when neither is known. */
export function protocolOf({ settings, tunnel }: Pick<Snapshot, 'settings' | 'tunnel'>): string | null {
  const set = settings['WARP tunnel protocol'];
  return typeof set === 'string' ? set : tunnel.protocol;
}

/** Folds an event of the stream into what is shown; returns the same object for events that show nothing. */
export function fold(shown: Shown | null, event: { event: string; data: unknown }): Shown | null {
  if (event.event === 'snapshot') {
    const { status, settings, tunnel, tunnelCli } = event.data as Snapshot;
    return { status, settings, tunnel, tunnelCli };
  }
  const part = PARTS[event.event];
  return shown && part ? { ...shown, [part]: event.data } : shown;
}
const PARTS: { [event: string]: keyof Shown | undefined } = {
  status: 'status',
  settings: 'settings',
  stats: 'tunnel',
  tunnelCli: 'tunnelCli',
};

function firstLine(text: string): string {
  const line = printable(text.split('\n').find(l => l.trim()) ?? '');
  return line.length > 80 ? `${line.slice(0, 79)}…` : line;
}
