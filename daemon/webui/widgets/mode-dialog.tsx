// Renders the mode dialog: three cards, each chosen with one press, and a link to all modes.
import { useEffect, useId, useRef } from 'preact/hooks';
import { describeModeChoice, type ModeCard } from '../../view/forms/tunnel/choose-mode.ts';
import { useApp } from '../app.ts';
import { goTo } from '../navigation.ts';
import { moveAmongChoices } from './rows/control-rows.tsx';

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
  useEffect(() => {
    const before = document.activeElement;
    element.current!.showModal(); // closes with Escape
    element.current!.querySelector<HTMLElement>('[aria-checked=true]')?.focus();
    return () => before instanceof HTMLElement && before.focus();
  }, []);
  return (
    <dialog ref={element} aria-labelledby={id} onClose={close}>
      <h2 id={id}>{heading}</h2>
      <p role="status" id={`${id}-why`}>
        {remark}
      </p>
      <div class="modes" role="radiogroup" aria-labelledby={id}>
        {cards.map(card => (
          <Card key={card.mode} card={card} sensitive={sensitive} why={`${id}-why`} close={close} />
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

/** @param why id of the text that says why the card can't be used */
function Card({ card, sensitive, why, close }: { card: ModeCard; sensitive: boolean; why: string; close(): void }) {
  const { host } = useApp();
  const id = useId();
  const { title, meaning, active, command } = card;
  const usable = active || sensitive;
  return (
    // biome-ignore lint/a11y/useSemanticElements: the daemon's event selects the card, not the press
    <button
      type="button"
      class="card row radio"
      role="radio"
      aria-checked={active}
      aria-labelledby={id}
      aria-describedby={usable ? `${id}-more` : `${id}-more ${why}`}
      aria-disabled={usable ? undefined : true}
      onKeyDown={moveAmongChoices}
      onClick={() => {
        if (!usable) return;
        close();
        if (!active) void host.run(command);
      }}
    >
      <span class="mark" />
      <span class="words">
        <span class="title" id={id}>
          {title}
        </span>
        <span class="subtitle" id={`${id}-more`}>
          {meaning}
        </span>
      </span>
    </button>
  );
}
