// Describes states that end automatically, with rows that extend or end them, and commands that pause the tunnel.
import type { Change } from '../../api/changes.ts';
import { type ClientState, current } from '../client/client-state.ts';
import { actionCommand, type Button, type Command, type Row, type Span } from '../form.ts';
import { formatDuration, pauseText } from '../format.ts';
import { fill, type Translator } from '../translator.ts';
import { changeText, isPause } from './changes.ts';
import { isOld, stateOf } from './summary.ts';

/** Time that "15 Minutes More" adds, in seconds. */
const EXTENSION_SECONDS = 900;
/** A state that ends automatically, with the commands that extend and end it. */
export interface Timed {
  text: string;
  change: Change;
  /** True if the sentence of the state already contains the text. */
  isSaid: boolean;
  /** null if the change could not be reverted and the daemon tries again. */
  span: Span | null;
  /** null like `span`, and for a pause while the kill switch blocks. */
  extend: Button | null;
  end: Button;
}

/** Describes every change with an end, and every change that could not be reverted yet. */
export function describeTimed(client: ClientState, tr: Translator): Timed[] {
  const { _ } = tr;
  const state = stateOf(client);
  const snapshot = current(client);
  const saysPause = state === 'blocked' || (state === 'paused' && snapshot !== null && !isOld(snapshot.status));
  return (snapshot?.changes ?? [])
    .filter(({ confirmBy, endsAt, problem }) => problem !== null || (confirmBy === null && endsAt !== null))
    .map(change => ({
      change,
      text: changeText(change, tr),
      isSaid: saysPause && isPause(change),
      span: change.problem === null ? { from: Date.parse(change.setAt), until: Date.parse(change.endsAt!) } : null,
      // without internet, a longer pause is useless
      extend:
        change.problem === null && !(state === 'blocked' && isPause(change))
          ? { label: _('15 Minutes More'), command: extension(change) }
          : null,
      end: {
        label: change.problem !== null ? _('Try Again') : isPause(change) ? _('Connect Now') : _('End Now'),
        command: { ask: { kind: 'change', what: 'revert', subjects: [change.subject] } },
      },
    }));
}

/** @param change a change with an end */
function extension({ subject, endsAt }: Change): Command {
  return { ask: { kind: 'extend', subject, endsAt: endsAt!, seconds: EXTENSION_SECONDS } };
}

/** The state that ends next, which the first page shows with its icon. */
export interface Countdown extends Timed {
  span: Span;
  /** True for a pause of the tunnel, which ends with a connection. */
  pause: boolean;
}

/** Describes the state that ends next; null while no state has an end. */
export function describeCountdown(client: ClientState, tr: Translator): Countdown | null {
  let next: Countdown | null = null;
  for (const { span, ...timed } of describeTimed(client, tr))
    if (span && (!next || span.until < next.span.until)) next = { ...timed, span, pause: isPause(timed.change) };
  return next;
}

/** Formats the time left as a clock: `14:32 left`. @param now in ms since the epoch; may lie before the span */
export function timeLeftText({ from, until }: Span, now: number, tr: Translator): string {
  return fill(tr._('%s left'), formatDuration(Math.ceil((until - Math.max(from, now)) / 1000), tr));
}

/** Returns rows for the states that end automatically, except the state of the countdown, to end and extend them. */
export function timedRows(client: ClientState, tr: Translator): Row[] {
  const shown = describeCountdown(client, tr)?.change;
  const others = describeTimed(client, tr).filter(({ change }) => change !== shown);
  return others.flatMap(({ change, text, extend, end }): Row[] => {
    const id = `timed-${change.subject}`;
    const title = change.problem === null ? text : tr._('A change could not be reverted');
    const subtitle = change.problem === null ? null : text;
    const tone = change.problem === null ? 'neutral' : 'warning';
    return [
      { kind: 'button', id, title, subtitle, tone, label: end.label, command: end.command },
      ...(extend
        ? [
            {
              kind: 'button' as const,
              id: `${id}-extend`,
              title: tr._('More time'),
              label: extend.label,
              command: extend.command,
            },
          ]
        : []),
    ];
  });
}

/** Returns the commands that pause the tunnel. @param pauses lengths in minutes */
export function offCommands(
  pauses: readonly number[],
  tr: Translator,
): { minutes: number; title: string; command: Command }[] {
  return pauses.map(minutes => ({
    minutes,
    title: pauseText(minutes, tr),
    command: actionCommand({ action: 'disconnect', forSeconds: minutes * 60 }),
  }));
}
