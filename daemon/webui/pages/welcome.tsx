// Renders the first steps one at a time, with buttons for the next and the previous step.
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { formatCount } from '../../view/format.ts';
import { UNKNOWN_DESKTOP } from '../../view/forms/preferences.ts';
import { seenCommand, WELCOME_STEPS, welcomeStep } from '../../view/forms/welcome.ts';
import { fill } from '../../view/translator.ts';
import { useApp } from '../app.ts';
import { goTo } from '../navigation.ts';
import { FormView } from '../widgets/rows/form.tsx';

export function WelcomePage() {
  const app = useApp();
  const { _ } = app.tr.value;
  const step = useSignal(0);
  const heading = useRef<HTMLHeadingElement>(null);
  const { title, text, form, setup } = welcomeStep(step.value, app.view.value, UNKNOWN_DESKTOP, app.tr.value);
  useEffect(
    () => () => {
      const seen = seenCommand(app.client.value);
      if (seen) void app.host.run(seen);
    },
    [app],
  );
  const turn = (to: number) => {
    if (to < 0 || to === WELCOME_STEPS) return goTo('connection');
    step.value = to;
    heading.current?.focus();
  };
  return (
    <>
      <h2 tabIndex={-1} ref={heading}>
        {setup ? _('Set up WARP') : title}
      </h2>
      {!setup && <p>{text}</p>}
      <FormView form={form} />
      <div class="toolbar">
        <button type="button" onClick={() => turn(step.value - 1)}>
          {step.value === 0 ? _('Skip') : _('Previous')}
        </button>
        {/* Translators: the first %d is the number of a step, the second how many there are */}
        <span>
          {fill(_('%d of %d'), formatCount(step.value + 1, app.tr.value), formatCount(WELCOME_STEPS, app.tr.value))}
        </span>
        <button type="button" class="suggested" onClick={() => turn(step.value + 1)}>
          {step.value === WELCOME_STEPS - 1 ? _('Done') : _('Next')}
        </button>
      </div>
    </>
  );
}
