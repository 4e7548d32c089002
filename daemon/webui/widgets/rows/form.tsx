// Renders a form as HTML. A row shows the confirmed state: using it sends a command, and the daemon's event updates it.
import { useSignal } from '@preact/signals';
import { useId } from 'preact/hooks';
import type { Form, Group, Row } from '../../../view/form.ts';
import { withoutDaemon } from '../../../view/forms/availability.ts';
import { useApp } from '../../app.ts';
import { rowInAddress } from '../../navigation.ts';
import { ButtonRow, ItemRow, LinkRow, RadioRow, SelectRow, SwitchRow } from './control-rows.tsx';
import { AreaRow, EntryRow } from './entry-row.tsx';
import { FactRow, NoteRow, ShellRow, TextRow } from './text-rows.tsx';
import { GroupDescription } from './words.tsx';

export function FormView({ form }: { form: Form }) {
  const client = useApp().client.value;
  const { groups } = client.offline ? withoutDaemon(form, client) : form;
  const filled = groups.filter(({ rows, live }) => rows.length > 0 || live);
  const folded = filled.filter(group => group.folded);
  return (
    <>
      {filled
        .filter(group => !group.folded)
        .map(group =>
          group.live ? (
            <div key={group.id} role="status">
              {group.rows.length > 0 && <GroupView group={group} />}
            </div>
          ) : (
            <GroupView key={group.id} group={group} />
          ),
        )}
      {folded.length > 0 && <Fold groups={folded} />}
    </>
  );
}

/** Shows a row that unfolds the groups. */
function Fold({ groups }: { groups: Group[] }) {
  const { _ } = useApp().tr.value;
  const row = rowInAddress();
  const named = groups.some(({ rows }) => rows.some(({ id }) => id === row));
  const open = useSignal(named);
  return (
    <>
      <div class="group card">
        <button
          type="button"
          class="row fold"
          aria-expanded={open}
          onClick={() => {
            open.value = !open.value;
          }}
        >
          <span class="words">{_('Advanced')}</span>
          <span class="arrow" aria-hidden="true" />
        </button>
      </div>
      {open.value && groups.map(group => <GroupView key={group.id} group={group} />)}
    </>
  );
}

function GroupView({ group: { title, description, rows } }: { group: Group }) {
  const id = useId();
  const choices = rows.some(({ kind }) => kind === 'radio');
  return (
    <section class="group" aria-labelledby={title ? id : undefined}>
      {title && <h2 id={id}>{title}</h2>}
      {description && (
        <p class="description" id={`${id}-about`}>
          {description}
        </p>
      )}
      <div
        class="card"
        data-rows={rows.map(row => encodeURIComponent(row.id)).join(' ')}
        {...(choices ? { role: 'radiogroup', 'aria-labelledby': id } : {})}
      >
        <GroupDescription.Provider value={description && `${id}-about`}>
          {rows.map(row => (
            <RowView key={`${row.kind} ${row.id}`} row={row} />
          ))}
        </GroupDescription.Provider>
      </div>
    </section>
  );
}

function RowView({ row }: { row: Row }) {
  switch (row.kind) {
    case 'fact':
      return <FactRow row={row} />;
    case 'switch':
      return <SwitchRow row={row} />;
    case 'radio':
      return <RadioRow row={row} />;
    case 'button':
      return <ButtonRow row={row} />;
    case 'link':
      return <LinkRow row={row} />;
    case 'item':
      return <ItemRow row={row} />;
    case 'entry':
      return <EntryRow row={row} />;
    case 'area':
      return <AreaRow row={row} />;
    case 'select':
      return <SelectRow row={row} />;
    case 'shell':
      return <ShellRow row={row} />;
    case 'text':
      return <TextRow row={row} />;
    case 'note':
      return <NoteRow row={row} />;
  }
}
