// Holds the table of states: the name, sign, tone and icon of each. Its sentences and buttons are in states/words.ts.
import type { State } from '../../api/states.ts';
import type { Tone } from '../form.ts';
import { fill, type Translator } from '../translator.ts';

interface Entry {
  /** A character of Windows Glyph List 4, which nearly every font has, for bars and terminals; the shapes are those of the icons. */
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

/** A state in one to three words, without the cause of a failure. @param demo the stand-in for WARP is in use */
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

/** The daemon can't be asked. */
export function unavailableText({ _ }: Translator): string {
  return _('Unavailable');
}

/** Says that a state is that of the stand-in for WARP. */
export function demoText(text: string, { _ }: Translator): string {
  // Translators: %s is a state such as Connected
  return fill(_('Demo: %s'), text);
}

export function stateSign(state: State): string {
  return TABLE[state].sign;
}

/** The color; a demo protects nothing, so that it is never that of success. */
export function stateTone(state: State, demo: boolean): Tone {
  const { tone } = TABLE[state];
  return demo && tone === 'success' ? 'warning' : tone;
}

/** Name of the symbolic icon whose shape shows the state. */
export function stateIcon(state: State): string {
  return `org.culvert.Culvert-${state}-symbolic`;
}
