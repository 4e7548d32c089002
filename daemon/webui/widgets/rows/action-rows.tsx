// Renders rows with buttons, and those that lead elsewhere.
import { useId } from 'preact/hooks';
import { clientCommand } from '../../../view/form.ts';
import { useApp } from '../../client/app.ts';
import { addressOfPage } from '../../navigation.ts';
import { CommandButton } from './command-button.tsx';
import { type RowOf, useDescription, Words } from './words.tsx';

export function ButtonRow({ row }: { row: RowOf<'button'> }) {
  const id = useId();
  const description = useDescription(row, id);
  return (
    <div class={`row tone-${row.tone ?? 'neutral'}`}>
      <Words row={row} id={id} />
      <CommandButton
        class={row.style}
        aria-label={`${row.title}: ${row.label}`}
        aria-describedby={description}
        aria-busy={row.busy}
        command={row.command}
        sensitive={(row.sensitive ?? true) && !row.busy}
      >
        {row.label}
      </CommandButton>
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
    </div>
  );
}
