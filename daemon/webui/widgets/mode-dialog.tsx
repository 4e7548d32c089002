// Renders the mode dialog: three cards, each chosen with one press, and a link to all modes.
import { useEffect, useId, useRef } from 'preact/hooks';
import { describeModeChoice } from '../../view/forms/tunnel/choose-mode.ts';
import { useApp } from '../app.ts';
import { goTo } from '../navigation.ts';
import { RadioRow } from './rows/control-rows.tsx';

export function ModeDialog() {
  return useApp().choosingMode.value ? <Shown /> : null;
}

function Shown() {
  const { view, tr, choosingMode } = useApp();
  const id = useId();
  const element = useRef<HTMLDialogElement>(null);
  const { heading, remark, cards, sensitive, more } = describeModeChoice(view.value, tr.value);
  const close = () => {
    choosingMode.value = false;
  };
  const usable = useRef(false);
  useEffect(() => {
    const before = document.activeElement;
    element.current!.showModal(); // closes with Escape
    element.current!.querySelector<HTMLElement>('[aria-checked=true]')?.focus();
    return () => before instanceof HTMLElement && before.focus();
  }, []);
  return (
    <dialog ref={element} aria-labelledby={id} onClose={close}>
      <h2 id={id}>{heading}</h2>
      <p role="status">{remark}</p>
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: a key on a choice clicks it */}
      <div
        class="modes"
        role="radiogroup"
        aria-labelledby={id}
        // before the command makes the choice unusable
        onClickCapture={({ target }) => {
          usable.current = target instanceof Element && target.closest('[role=radio]:not([aria-disabled])') !== null;
        }}
        onClick={() => usable.current && close()}
      >
        {cards.map(({ mode, title, meaning, active, command }) => (
          <RadioRow
            key={mode}
            row={{
              kind: 'radio',
              id: mode,
              title,
              subtitle: meaning,
              checked: active,
              command,
              sensitive: active || sensitive,
            }}
          />
        ))}
      </div>
      <div class="buttons">
        <button type="button" onClick={close}>
          {tr.value._('Cancel')}
        </button>
        <button
          type="button"
          onClick={() => {
            close();
            goTo('mode');
          }}
        >
          {more}
        </button>
      </div>
    </dialog>
  );
}
