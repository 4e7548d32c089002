// Formats the state as one line for a status bar. Pure.
import type { ClientState } from './client/client-state.ts';
import type { Tone } from './form.ts';
import { describeUnconfirmed, unconfirmedText } from './states/changes.ts';
import { describeKillSwitch } from './states/killswitch.ts';
import { stateSign } from './states/state-table.ts';
import { oldText } from './states/summary.ts';
import { describeTimed } from './states/timed.ts';
import { describeTunnel } from './states/tunnel.ts';
import type { Translator } from './translator.ts';

export const BAR_FORMATS = ['waybar', 'i3bar', 'i3status-rust', 'polybar', 'plain'] as const;
export type BarFormat = (typeof BAR_FORMATS)[number];

/** Names of the tones in i3status-rust. */
const LEVELS: Record<Tone, 'Idle' | 'Info' | 'Good' | 'Warning' | 'Critical'> = {
  success: 'Good',
  accent: 'Info',
  neutral: 'Idle',
  warning: 'Warning',
  error: 'Critical',
};

/** Returns the lines before the first state: i3bar's header and the start of its endless array. */
export function barStart(format: BarFormat): string[] {
  return format === 'i3bar' ? ['{"version":1}', '['] : [];
}

/** @param inArray true if the line is an element of the array that `barStart` opens */
export function barLine(client: ClientState, format: BarFormat, inArray: boolean, tr: Translator): string {
  const { state, stateText, sentence, tone } = describeTunnel(client, tr);
  const symbol = stateSign(state);
  const text = oneLine(`${symbol} ${stateText}`);
  switch (format) {
    case 'waybar': {
      const killSwitch = describeKillSwitch(client, tr);
      const isWorthALine = killSwitch.installed && killSwitch.look !== 'off';
      const timed = describeTimed(client, tr).filter(({ isSaid }) => !isSaid);
      const unconfirmed = describeUnconfirmed(client, tr);
      const lines = [...sentence.split('\n'), ...timed.map(({ text }) => text)];
      if (unconfirmed) lines.push(unconfirmedText(unconfirmed, tr));
      const old = client.snapshot && oldText(client.snapshot, tr);
      if (old) lines.push(old);
      if (isWorthALine) lines.push(killSwitch.sentence);
      // waybar reads both texts as markup (waybar-custom(5))
      const tooltip = [...new Set(lines)].filter(Boolean).map(oneLine).join('\n');
      return JSON.stringify({ text: pango(text), alt: state, tooltip: pango(tooltip), class: state });
    }
    case 'i3bar': {
      const urgent = state === 'blocked' || state === 'needs-you' || state === 'unable';
      const block = { name: 'culvert', instance: state, full_text: text, short_text: symbol, urgent, markup: 'none' };
      return `${JSON.stringify([block])}${inArray ? ',' : ''}`;
    }
    case 'i3status-rust':
      // i3status-rust's default format reads the text as markup
      return JSON.stringify({ state: LEVELS[tone], text: pango(text), short_text: pango(symbol) });
    case 'polybar':
      // these characters begin a tag, and polybar has no escape for them
      return text.replaceAll('%{', '% {');
    case 'plain':
      return text;
  }
}

function oneLine(text: string): string {
  return text.replace(/[\p{C}\s]+/gu, ' ').trim();
}

function pango(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
