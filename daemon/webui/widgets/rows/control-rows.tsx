// Renders rows with switches, choices, buttons and links. A control changes with the daemon's event, not with the click.
import type { TargetedKeyboardEvent } from 'preact';
import { useId } from 'preact/hooks';
import { clientCommand } from '../../../view/form.ts';
import { useApp } from '../../app.ts';
import { addressOfPage } from '../../navigation.ts';
import { moveFocus, RowMenu } from './menu.tsx';
import { CommandButton, idList, type RowOf, useDescription, useGeneralReason, Words } from './words.tsx';

export function SwitchRow({ row }: { row: RowOf<'switch'> }) {
  const id = useId();
  const description = useDescription(row, id);
  return (
    <div class="row">
      {row.page ? (
        <a class="opens" href={addressOfPage(row.page)}>
          <Words row={row} id={id} />
        </a>
      ) : (
        <Words row={row} id={id} />
      )}
      <CommandButton
        class="switch"
        role="switch"
        aria-checked={row.on}
        aria-label={row.name}
        aria-labelledby={row.name === undefined ? id : undefined}
        aria-describedby={description}
        command={row.command}
        sensitive={row.sensitive}
      >
        <span class="knob" />
      </CommandButton>
      {row.page && <span class="arrow" aria-hidden="true" />}
      <RowMenu row={row} id={id} />
    </div>
  );
}

/**
 * Shows a radio button that changes with the daemon's event, not with the click. The arrow keys move only the focus, and do
 * not select a choice.
 */
export function RadioRow({ row }: { row: RowOf<'radio'> }) {
  const id = useId();
  const description = useDescription(row, id);
  return (
    <CommandButton
      class="row radio"
      role="radio"
      aria-checked={row.checked}
      aria-labelledby={id}
      aria-describedby={description}
      command={row.command}
      sensitive={row.sensitive}
      current={row.checked}
      onKeyDown={moveAmongChoices}
    >
      <span class="mark" />
      <Words row={row} id={id} />
    </CommandButton>
  );
}

/** Moves the focus among the choices of a group. */
function moveAmongChoices(event: TargetedKeyboardEvent<HTMLElement>): void {
  const group = event.currentTarget.closest('[role=radiogroup]')!;
  moveFocus(event, [...group.querySelectorAll<HTMLElement>('[role=radio]')]);
}

export function SelectRow({ row }: { row: RowOf<'select'> }) {
  const id = useId();
  const description = useDescription(row, id);
  const { host } = useApp();
  const usable = row.sensitive !== false;
  const reason = useGeneralReason();
  return (
    <div class="row">
      <Words row={row} id={id} />
      <select
        aria-labelledby={id}
        aria-describedby={usable ? description : idList(description, reason)}
        disabled={!usable}
        value={row.value}
        onChange={event => {
          const chosen = event.currentTarget.value;
          event.currentTarget.value = row.value; // until the event confirms the choice
          void host.run(row.command(chosen));
        }}
      >
        {row.options.map(({ value, label }) => (
          <option key={value} value={value} selected={value === row.value}>
            {label}
          </option>
        ))}
      </select>
      <RowMenu row={row} id={id} />
    </div>
  );
}

export function ButtonRow({ row }: { row: RowOf<'button'> }) {
  const id = useId();
  const description = useDescription(row, id);
  if (row.label === undefined)
    return (
      <CommandButton class="row fold" command={row.command} sensitive={row.sensitive} aria-describedby={description}>
        <Words row={row} id={id} />
      </CommandButton>
    );
  return (
    <div class="row">
      <Words row={row} id={id} />
      <CommandButton
        class={row.style}
        aria-label={row.name ?? `${row.title}: ${row.label}`}
        aria-describedby={description}
        aria-busy={row.busy}
        command={row.command}
        sensitive={(row.sensitive ?? true) && !row.busy}
      >
        {row.label}
      </CommandButton>
      <RowMenu row={row} id={id} />
    </div>
  );
}

export function LinkRow({ row }: { row: RowOf<'link'> }) {
  const content = (
    <>
      <Words row={row} />
      {row.value && <span class="value">{row.value}</span>}
      <span class="arrow" aria-hidden="true" />
    </>
  );
  if (row.task)
    return (
      <CommandButton class="row opens" aria-haspopup="dialog" command={clientCommand(row.task)}>
        {content}
      </CommandButton>
    );
  return (
    <a class="row" href={addressOfPage(row.page, row.row)}>
      {content}
    </a>
  );
}

export function ItemRow({ row }: { row: RowOf<'item'> }) {
  const { _ } = useApp().tr.value;
  const id = useId();
  const description = useDescription(row, id);
  return (
    <div class="row">
      <Words row={row} id={id} />
      {row.edit && (
        <CommandButton
          aria-label={row.edit.label}
          aria-describedby={description}
          command={row.edit.command}
          sensitive={row.sensitive}
        >
          {_('Edit')}
        </CommandButton>
      )}
      {row.remove && (
        <CommandButton
          aria-label={row.removeLabel}
          aria-describedby={description}
          command={row.remove}
          sensitive={row.sensitive}
        >
          {_('Remove')}
        </CommandButton>
      )}
      <RowMenu row={row} id={id} />
    </div>
  );
}
