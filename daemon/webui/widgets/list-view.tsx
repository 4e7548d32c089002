// Renders what a form has below its groups: a list with its search field and commands, or the buttons of a step.
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import type { Form, List, ListItem, Search, Steps } from '../../view/form.ts';
import { formatCount } from '../../view/format.ts';
import { underWay } from '../../view/forms/availability.ts';
import { fill } from '../../view/translator.ts';
import { useApp } from '../app.ts';
import { SearchField } from './rows/entry-row.tsx';
import { Menu } from './rows/menu.tsx';
import { StatusView } from './rows/status.tsx';
import { CommandButton, useGeneralReason } from './rows/words.tsx';
import { VirtualList } from './virtual-list.tsx';

const ROW_HEIGHT = 56;

export function Below({ form: { list, search, steps } }: { form: Form }) {
  return (
    <>
      {list && <ListView list={list} search={search} />}
      {steps && <StepBar steps={steps} />}
    </>
  );
}

function StepBar({ steps: { at, place, back, next } }: { steps: Steps }) {
  const shown = useRef(at);
  useLayoutEffect(() => {
    // the next step begins at its start, also for the keyboard
    if (at !== shown.current) document.querySelector('h1')!.focus();
    shown.current = at;
  }, [at]);
  return (
    <div class="toolbar">
      <CommandButton command={back.command}>{back.label}</CommandButton>
      <span>{place}</span>
      <CommandButton class="suggested" command={next.command}>
        {next.label}
      </CommandButton>
    </div>
  );
}

function ListView({ list, search }: { list: List; search: Search | undefined }) {
  const { tr } = useApp();
  const { ngettext } = tr.value;
  const { items, sensitive } = list;
  const id = useId();
  const reason = useGeneralReason() ? null : list.reason;
  const why = reason ? id : undefined;
  const toolbar = useRef<HTMLDivElement>(null);
  const hadFocus = document.activeElement !== document.body;
  useLayoutEffect(() => {
    // the button in place of the list is gone
    if (hadFocus && document.activeElement === document.body) toolbar.current!.querySelector('input')?.focus();
  });
  return (
    <>
      <div class="toolbar" ref={toolbar}>
        {search && <SearchField {...search} />}
        {search?.options?.map(({ label, on, set }) => (
          <label key={label}>
            <input type="checkbox" checked={on} onChange={event => set(event.currentTarget.checked)} />
            {label}
          </label>
        ))}
        <span class="count" role="status">
          {list.empty.waiting
            ? ''
            : fill(ngettext('%d entry', '%d entries', items.length), formatCount(items.length, tr.value))}
        </span>
        {list.more && (
          <Menu entries={() => list.more!.entries} name={list.title} sensitive={sensitive} description={why} />
        )}
      </div>
      {items.length === 0 && <StatusView status={list.empty} alone />}
      <VirtualList items={items} rowHeight={ROW_HEIGHT} label={list.title}>
        {(item, tabIndex) => <ItemRow item={item} list={list} tabIndex={tabIndex} why={why} />}
      </VirtualList>
      {reason && (
        <p id={id} class="subtitle">
          {reason}
        </p>
      )}
    </>
  );
}

interface ItemProps {
  item: ListItem;
  list: List;
  /** For the part of the row that gets the focus first. */
  tabIndex: number;
  /** ID of the text that says why the list can't be used; by default, the item's own text does. */
  why: string | undefined;
}

function ItemRow({ item, list, tabIndex, why }: ItemProps) {
  const { tr } = useApp();
  const id = useId();
  const { title, badge, note, details, removable, busy = false } = item;
  const { start, toggle, menu } = list.controls?.(item) ?? {};
  const removal = removable ? list.removal?.(item) : undefined;
  const isUsable = list.sensitive && !busy;
  const isStartable = isUsable && start?.sensitive !== false;
  return (
    <div class="row" tabIndex={start ? undefined : tabIndex} aria-busy={busy || undefined}>
      <div class="words">
        <span class="title">
          {/* an address keeps its order in a language that runs from right to left */}
          <bdi>{title}</bdi>
        </span>
        <span class="subtitle" title={details} id={id}>
          {[badge, busy ? underWay(tr.value) : note, details].filter(Boolean).join(' · ')}
        </span>
      </div>
      {start && (
        <CommandButton
          tabIndex={tabIndex}
          aria-label={start.name}
          aria-describedby={isStartable ? undefined : (why ?? id)}
          command={start.command}
          sensitive={isStartable}
        >
          {start.label}
        </CommandButton>
      )}
      {toggle && menu && (
        <Menu
          key={item.id}
          entries={() => [{ ...toggle, name: toggle.label }, ...menu()]}
          name={title}
          sensitive={isUsable}
          description={isUsable ? undefined : (why ?? id)}
          tabIndex={-1}
        />
      )}
      {removal && (
        <CommandButton
          aria-label={removal.label}
          aria-keyshortcuts="Delete"
          tabIndex={-1}
          command={removal.command}
          sensitive={list.sensitive}
        >
          {tr.value._('Remove')}
        </CommandButton>
      )}
    </div>
  );
}
