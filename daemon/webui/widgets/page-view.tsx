// Renders a page that consists of a form and an optional list, with the list's search field and commands.
import { useSignal } from '@preact/signals';
import { useId, useLayoutEffect, useMemo } from 'preact/hooks';
import type { List, Search } from '../../view/form.ts';
import { formatCount } from '../../view/format.ts';
import type { Page } from '../../view/pages/page.ts';
import { fill } from '../../view/translator.ts';
import { useApp } from '../app.ts';
import { rowInAddress } from '../navigation.ts';
import { FormView } from './rows/form.tsx';
import { CommandButton, useGeneralReason } from './rows/words.tsx';
import { VirtualList } from './virtual-list.tsx';

export function PageView({ page }: { page: Page }) {
  const { host, view, now } = useApp();
  const changes = useSignal(0);
  const open = useMemo(() => {
    const made = page(host, () => changes.value++);
    made.reveal?.(rowInAddress());
    return made;
  }, [page, host]);
  // renders the form again after each change, and each second if it depends on the time
  void changes.value;
  if (open.ticks) void now.value;
  useLayoutEffect(() => {
    open.shown?.();
    return () => open.close?.();
  }, [open]);
  const form = open.form(view.value);
  return (
    <>
      <FormView form={form} />
      {form.list && <ListView list={form.list} search={form.search} />}
    </>
  );
}

const ROW_HEIGHT = 56;

function ListView({ list, search }: { list: List; search: Search | undefined }) {
  const { tr } = useApp();
  const { _, ngettext } = tr.value;
  const { items, sensitive } = list;
  const id = useId();
  const general = useGeneralReason();
  const reason = sensitive || general !== undefined ? null : list.reason;
  return (
    <>
      <div class="toolbar">
        {search && (
          <input
            type="search"
            aria-label={search.label}
            placeholder={search.label}
            value={search.text}
            onInput={event => search.type(event.currentTarget.value)}
          />
        )}
        <span class="count" role="status">
          {fill(ngettext('%d entry', '%d entries', items.length), formatCount(items.length, tr.value))}
        </span>
      </div>
      <VirtualList items={items} rowHeight={ROW_HEIGHT} label={list.title}>
        {item => {
          const { label, command } = list.removal(item);
          return (
            <div class="row">
              <div class="words">
                <span class="title">{item.title}</span>
                <span class="subtitle">{[item.badge, item.note].filter(Boolean).join(' · ')}</span>
              </div>
              {item.removable && (
                <CommandButton aria-label={label} command={command} sensitive={sensitive}>
                  {_('Remove')}
                </CommandButton>
              )}
            </div>
          );
        }}
      </VirtualList>
      {reason && (
        <p id={id} class="subtitle">
          {reason}
        </p>
      )}
      <div class="toolbar">
        {list.more.entries.map(({ label, command }) => (
          <CommandButton
            key={label}
            class="destructive"
            aria-describedby={reason ? id : undefined}
            command={command}
            sensitive={sensitive}
          >
            {label}
          </CommandButton>
        ))}
      </div>
    </>
  );
}
