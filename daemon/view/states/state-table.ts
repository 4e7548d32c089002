// Returns the name, sign, tone and icon of each state. Sentences and buttons are in states/words.ts.
import type { State } from '../../api/states.ts';
import type { Tone } from '../form.ts';
import { fill, type Translator } from '../translator.ts';

interface Entry {
  /** The shape of the icon as a character for bars and terminals, from Windows Glyph List 4, which nearly every font has. */
  sign: string;
  tone: Tone;
}

const TABLE: Record<State, Entry> = {
  connected: { sign: '●', tone: 'success' },
  connecting: { sign: '▲', tone: 'accent' },
  disconnecting: { sign: '▼', tone: 'accent' },
  disconnected: { sign: '○', tone: 'neutral' },
  paused: { sign: '||', tone: 'accent' },
  blocked: { sign: '■', tone: 'warning' },
  unable: { sign: '×', tone: 'error' },
  'needs-you': { sign: '!', tone: 'warning' },
  unknown: { sign: '?', tone: 'warning' },
};

/** Names a state in one to three words, without the cause of a failure. @param demo true in the demo */
export function stateName(state: State, demo: boolean, tr: Translator): string {
  const { _ } = tr;
  const names: Record<State, string> = {
    connected: _('Connected'),
    connecting: _('Connecting…'),
    disconnecting: _('Disconnecting…'),
    disconnected: _('Disconnected'),
    paused: _('Paused'),
    blocked: _('Internet is blocked'),
    unable: _('Can’t connect'),
    'needs-you': _('Not ready'),
    unknown: _('State not known'),
  };
  return demo ? demoText(names[state], tr) : names[state];
}

/** Names the state without a daemon. */
export function unavailableText({ _ }: Translator): string {
  return _('Unavailable');
}

/** Marks the name of a state as simulated by the demo. */
export function demoText(text: string, { _ }: Translator): string {
  // Translators: %s is a state such as Connected
  return fill(_('Demo: %s'), text);
}

export function stateSign(state: State): string {
  return TABLE[state].sign;
}

/** Returns the tone of a state; never `success` in the demo, which protects nothing. */
export function stateTone(state: State, demo: boolean): Tone {
  const { tone } = TABLE[state];
  return demo && tone === 'success' ? 'warning' : tone;
}

/** Returns the name of the symbolic icon that shows the state. */
export function stateIcon(state: State): string {
  return `org.culvert.Culvert-${state}-symbolic`;
}
