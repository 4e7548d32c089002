// Renders what a form has below its groups: a list with its search field and commands, or the buttons of a step.
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import type { Form, List, Search, Steps } from '../../view/form.ts';
import { formatCount } from '../../view/format.ts';
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

function StepBar({ steps: { place, back, next } }: { steps: Steps }) {
  const shown = useRef(place);
  useLayoutEffect(() => {
    // the next step begins at its start, also for the keyboard
    if (place !== shown.current) document.querySelector('h1')!.focus();
    shown.current = place;
  }, [place]);
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
  const { _, ngettext } = tr.value;
  const { items, sensitive } = list;
  const id = useId();
  const general = useGeneralReason();
  const reason = sensitive || general !== undefined ? null : list.reason;
  return (
    <>
      <div class="toolbar">
        {search && <SearchField {...search} />}
        <span class="count" role="status">
          {fill(ngettext('%d entry', '%d entries', items.length), formatCount(items.length, tr.value))}
        </span>
        <Menu
          entries={() => list.more.entries}
          name={list.title}
          sensitive={sensitive}
          description={reason ? id : undefined}
        />
      </div>
      {items.length === 0 && <StatusView status={list.empty} alone />}
      <VirtualList items={items} rowHeight={ROW_HEIGHT} label={list.title}>
        {(item, tabIndex) => {
          const { label, command } = list.removal(item);
          return (
            <div class="row" tabIndex={tabIndex}>
              <div class="words">
                <span class="title">
                  {/* an address keeps its order in a language that runs from right to left */}
                  <bdi>{item.title}</bdi>
                </span>
                <span class="subtitle">{[item.badge, item.note].filter(Boolean).join(' · ')}</span>
              </div>
              {item.removable && (
                <CommandButton
                  aria-label={label}
                  aria-keyshortcuts="Delete"
                  tabIndex={-1}
                  command={command}
                  sensitive={sensitive}
                >
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
    </>
  );
}
