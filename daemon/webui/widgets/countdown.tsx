// Renders the countdown to the next end of a state: a ring, words, the time left, and buttons that change the end.
import type { ComponentChildren } from 'preact';
import type { Span } from '../../view/form.ts';
import { fractionLeft } from '../../view/states/changes.ts';
import { describeCountdown, timeLeftText } from '../../view/states/timed.ts';
import { useApp } from '../app.ts';
import { CommandButton } from './rows/words.tsx';

function useCountdown() {
  const { view, tr } = useApp();
  return describeCountdown(view.value.client, tr.value);
}

/** Shows the icon, with a ring while a state has an end or a change is unconfirmed. */
export function Ringed({ children }: { children: ComponentChildren }) {
  const span = useCountdown()?.span ?? useApp().view.value.unconfirmed;
  return (
    <div class="disc">
      {children}
      {span && <Ring span={span} />}
    </div>
  );
}

/** A separate component, since it updates each second. */
function Ring({ span }: { span: Span }) {
  const left = fractionLeft(span, useApp().now.value);
  return (
    <svg class="ring" viewBox="0 0 100 100" aria-hidden="true" focusable="false">
      <circle cx="50" cy="50" r="47" />
      {left > 0 && (
        <circle
          class="left"
          cx="50"
          cy="50"
          r="47"
          pathLength="100"
          stroke-dasharray={`${(100 * left).toFixed(2)} 100`}
        />
      )}
    </svg>
  );
}

export function CountdownWords() {
  const countdown = useCountdown();
  if (!countdown) return null;
  return (
    <p class="countdown">
      {!countdown.isSaid && <span>{countdown.text} </span>}
      <TimeLeft span={countdown.span} />
    </p>
  );
}

/** Shows the time left; a separate component, since it updates each second. Screen readers must not read each update. */
function TimeLeft({ span }: { span: Span }) {
  const { now, tr } = useApp();
  return (
    <span role="timer" aria-live="off" class="duration">
      {timeLeftText(span, now.value, tr.value)}
    </span>
  );
}

/** Shows buttons that end or extend the state; the main button above already ends a pause. */
export function CountdownButtons() {
  const countdown = useCountdown();
  if (!countdown) return null;
  const { end, extend, pause } = countdown;
  return (
    <div class="buttons">
      {!pause && <CommandButton command={end.command}>{end.label}</CommandButton>}
      {extend && <CommandButton command={extend.command}>{extend.label}</CommandButton>}
    </div>
  );
}
