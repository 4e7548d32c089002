// Renders the state whose end comes next: the ring around the icon, its end in words, the time left, and buttons to change the end.
import type { ComponentChildren } from 'preact';
import { fractionLeft, type Span } from '../../view/states/changes.ts';
import { describeCountdown, timeLeftText } from '../../view/states/timed.ts';
import { useApp } from '../app.ts';
import { CommandButton } from './rows/words.tsx';

function useCountdown() {
  const { view, tr } = useApp();
  return describeCountdown(view.value.client, tr.value);
}

/** The icon, in a ring while a state has an end or a change is to be confirmed. */
export function Ringed({ children }: { children: ComponentChildren }) {
  const span = useCountdown()?.span ?? useApp().view.value.unconfirmed;
  return (
    <div class="disc">
      {children}
      {span && <Ring span={span} />}
    </div>
  );
}

/** A separate component, since it changes each second. */
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

/** A separate component, since it changes each second; screen readers must not read each change. */
function TimeLeft({ span }: { span: Span }) {
  const { now, tr } = useApp();
  return (
    <span role="timer" aria-live="off" class="duration">
      {timeLeftText(span, now.value, tr.value)}
    </span>
  );
}

/** Buttons that end and extend the state; the one above ends a pause. */
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
