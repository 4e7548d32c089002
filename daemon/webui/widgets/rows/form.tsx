// Renders a form as HTML. A row shows the confirmed state: using it sends a command, and the daemon's event updates it.
import { type Signal, useSignal } from '@preact/signals';
import type { ComponentChildren, ComponentType } from 'preact';
import { useId } from 'preact/hooks';
import type { Form, Group, Row, RowKind } from '../../../view/form.ts';
import { withoutDaemon } from '../../../view/forms/availability.ts';
import { useApp } from '../../app.ts';
import { rowInAddress } from '../../navigation.ts';
import { ButtonRow, ItemRow, LinkRow, RadioRow, SelectRow, SwitchRow } from './control-rows.tsx';
import { AreaRow, EntryRow } from './entry-row.tsx';
import { Buttons, Menu, RowMenu } from './menu.tsx';
import { OrderedRows } from './ordered-rows.tsx';
import { StatusView } from './status.tsx';
import { FactRow, FiguresRow, NoteRow, ShellRow, TextRow } from './text-rows.tsx';
import { CommandButton, GroupDescription, type RowOf, Words } from './words.tsx';

export function FormView({ form }: { form: Form }) {
  const client = useApp().client.value;
  const { status, groups } = client.offline ? withoutDaemon(form, client) : form;
  const filled = groups.filter(({ rows, live, actions }) => rows.length > 0 || live || actions?.length);
  const folded = filled.filter(group => group.folded);
  return (
    <>
      {status && <StatusView status={status} alone={status.line === undefined && filled.length === 0 && !form.list} />}
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
  const open = useSignal(groups.some(({ rows }) => isNamed(rows)));
  return (
    <>
      <div class="group card">
        <FoldButton open={open}>
          <span class="words">{_('Advanced')}</span>
        </FoldButton>
      </div>
      {open.value && groups.map(group => <GroupView key={group.id} group={group} />)}
    </>
  );
}

/** True if the address names one of the rows, or a row in an expander. */
function isNamed(rows: readonly Row[]): boolean {
  const named = rowInAddress();
  return rows.some(row => row.id === named || (row.kind === 'expander' && isNamed(row.rows)));
}

function FoldButton({ open, children }: { open: Signal<boolean>; children: ComponentChildren }) {
  return (
    <button
      type="button"
      class="row fold"
      aria-expanded={open}
      onClick={() => {
        open.value = !open.value;
      }}
    >
      {children}
      <span class="arrow" aria-hidden="true" />
    </button>
  );
}

function ExpanderRow({ row }: { row: RowOf<'expander'> }) {
  const id = useId();
  const open = useSignal(isNamed(row.rows));
  return (
    <div class="expander">
      <div class="beside">
        <FoldButton open={open}>
          <Words row={row} id={id} />
        </FoldButton>
        {row.button && <Buttons buttons={[row.button]} />}
        <RowMenu row={row} id={id} />
      </div>
      {open.value && (
        <div class="rows" data-rows={idsOf(row.rows)}>
          {row.rows.map(renderRow)}
        </div>
      )}
    </div>
  );
}

/** IDs of the rows, in the order of the elements of a card. */
const idsOf = (rows: readonly Row[]) => rows.map(({ id }) => encodeURIComponent(id)).join(' ');

const renderRow = (row: Row) => <RowView key={`${row.kind} ${row.id}`} row={row} />;

const SIGNS = { refresh: '⟳', add: '+' };

function GroupHeading({ group: { title, actions = [], menu }, id }: { group: Group; id: string }) {
  if (!title && actions.length === 0 && !menu?.length) return null;
  return (
    <div class="heading">
      {title && <h2 id={id}>{title}</h2>}
      {actions.map(({ label, name, icon, sensitive, command }) => (
        <CommandButton key={label} class="small" aria-label={name} command={command} sensitive={sensitive !== false}>
          <span aria-hidden="true">{SIGNS[icon]}</span> {label}
        </CommandButton>
      ))}
      {menu && menu.length > 0 && <Menu entries={() => menu} name={title} />}
    </div>
  );
}

function GroupView({ group }: { group: Group }) {
  const { title, description, rows, order } = group;
  const id = useId();
  const choices = rows.some(({ kind }) => kind === 'radio');
  return (
    <section class="group" aria-labelledby={title ? id : undefined}>
      <GroupHeading group={group} id={id} />
      {description && (
        <p class="description" id={`${id}-about`}>
          {description}
        </p>
      )}
      <div class="card" data-rows={idsOf(rows)} {...(choices ? { role: 'radiogroup', 'aria-labelledby': id } : {})}>
        <GroupDescription.Provider value={description && `${id}-about`}>
          {order ? (
            <OrderedRows rows={rows} order={order}>
              {renderRow}
            </OrderedRows>
          ) : (
            rows.map(renderRow)
          )}
        </GroupDescription.Provider>
      </div>
    </section>
  );
}

function RowView({ row }: { row: Row }) {
  const id = useId();
  // nothing fits into a link or a choice
  if (row.menu?.length && (row.kind === 'link' || row.kind === 'radio'))
    return (
      <div class="beside">
        <RowView row={{ ...row, menu: [] }} />
        <RowMenu row={row} id={id} />
      </div>
    );
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
    case 'expander':
      return <ExpanderRow row={row} />;
    case 'figures':
      return <FiguresRow row={row} />;
    default: {
      const Further = FURTHER_ROWS.get(row.kind);
      return Further ? <Further row={row as never} /> : null;
    }
  }
}

/** The kinds of rows that only further pages have; their script adds them. */
export const FURTHER_ROWS = new Map<RowKind, ComponentType<{ row: never }>>();
