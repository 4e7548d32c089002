// Renders buttons with a command, alone or in a menu that a button opens.
import { useSignal } from '@preact/signals';
import { useId, useRef } from 'preact/hooks';
import type { MenuButton, Row } from '../../../view/form.ts';
import { useApp } from '../../app.ts';
import { CommandButton, idList, useDescription, useGeneralReason } from './words.tsx';

interface ButtonsProps {
  buttons: readonly MenuButton[];
  /** ID of the text that says why a button can't be used, unless a general reason does. */
  why?: string | undefined;
  role?: 'menuitem';
}

export function Buttons({ buttons, why, role }: ButtonsProps) {
  const general = useGeneralReason();
  return buttons.map(({ label, name, style, sensitive = true, command }, i) => (
    <CommandButton
      key={i} // a button that gets another label keeps the focus
      class={style}
      role={role}
      aria-label={name}
      aria-describedby={sensitive || general ? undefined : why}
      command={command}
      sensitive={sensitive}
    >
      {label}
    </CommandButton>
  ));
}

interface MenuProps {
  /** Called when the menu opens. */
  entries(): readonly MenuButton[];
  /** Subject of the commands, for assistive technology. By default the label says enough. */
  name?: string | undefined;
  /** By default the button has only an icon. */
  label?: string;
  sensitive?: boolean;
  description?: string | undefined;
  tabIndex?: number;
}

/** Shows a menu button. Escape closes the menu and returns the focus to the button, as the browser does for a popover. */
export function Menu({ entries, name, label, sensitive = true, description, tabIndex }: MenuProps) {
  const { _ } = useApp().tr.value;
  const reason = useGeneralReason();
  const id = useId();
  const open = useSignal(false);
  const button = useRef<HTMLButtonElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const items = () => [...list.current!.querySelectorAll<HTMLElement>('[role=menuitem]')];
  const shown = label ?? _('More');
  return (
    <span class="menu">
      <button
        ref={button}
        type="button"
        tabIndex={tabIndex}
        popovertarget={sensitive ? id : undefined}
        aria-haspopup="menu"
        aria-expanded={open}
        aria-label={name === undefined ? shown : `${name}: ${shown}`}
        aria-describedby={sensitive ? description : idList(description, reason)}
        aria-disabled={sensitive ? undefined : true}
      >
        {label ?? <span aria-hidden="true">⋮</span>}
      </button>
      <div
        ref={list}
        id={id}
        popover="auto"
        role="menu"
        tabIndex={-1}
        aria-label={name ?? shown}
        onBeforeToggle={({ newState }) => {
          if (newState !== 'open') return;
          open.value = true;
          placeBelow(button.current!, list.current!);
        }}
        onToggle={({ newState }) => {
          open.value = newState === 'open'; // the browser has returned the focus before a closed menu loses its items
          if (!open.value) return;
          keepInSight(button.current!, list.current!);
          items()[0]?.focus();
        }}
        onKeyDown={event => {
          if (event.key === 'Tab') list.current!.hidePopover();
          else moveFocus(event, items());
        }}
        // before the command, which may make its entry unusable
        onClickCapture={({ target }) => {
          if (target instanceof Element && target.closest('button:not([aria-disabled])')) list.current!.hidePopover();
        }}
      >
        {open.value && (
          <Buttons
            buttons={sensitive ? entries() : entries().map(entry => ({ ...entry, sensitive }))}
            why={sensitive ? undefined : description}
            role="menuitem"
          />
        )}
      </div>
    </span>
  );
}

/** Shows the menu of a row with further commands. */
export function RowMenu({ row, id }: { row: Row; id: string }) {
  const description = useDescription(row, id);
  if (!row.menu?.length) return null;
  const { title, menu, menuLabel, sensitive } = row;
  return <Menu entries={() => menu} name={title} label={menuLabel} sensitive={sensitive} description={description} />;
}

/** Places a menu below its button, so that both end at the same edge. */
function placeBelow(button: HTMLElement, { style }: HTMLElement): void {
  const { left, right, bottom } = button.getBoundingClientRect();
  const isLeftward = getComputedStyle(button).direction === 'rtl';
  style.top = `${bottom + scrollY}px`;
  style.insetInlineEnd = `${isLeftward ? left : document.documentElement.clientWidth - right}px`;
}

/** Moves an open menu above its button if the window ends below the button. */
function keepInSight(button: HTMLElement, list: HTMLElement): void {
  const { top } = button.getBoundingClientRect();
  const { height, bottom } = list.getBoundingClientRect();
  if (bottom > innerHeight && top > height) list.style.top = `${top + scrollY - height}px`;
}

const STEPS: Record<string, number> = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 };

/** Moves the focus among elements with the arrow keys, Home and End. */
export function moveFocus(event: Pick<KeyboardEvent, 'key' | 'preventDefault'>, among: readonly HTMLElement[]): void {
  const at = among.indexOf(document.activeElement as HTMLElement);
  const step = STEPS[event.key];
  const to = event.key === 'Home' ? 0 : event.key === 'End' ? -1 : step && (at + step) % among.length;
  if (to === undefined) return;
  event.preventDefault();
  among.at(to)?.focus();
}
