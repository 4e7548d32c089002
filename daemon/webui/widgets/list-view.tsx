// Renders a form's list, with its search field and commands.
import { useId } from 'preact/hooks';
import { formatCount } from '../../view/format.ts';
import { fill } from '../../view/translator.ts';
import { useApp } from '../app.ts';
import type { ListProps } from './page-view.tsx';
import { SearchField } from './rows/entry-row.tsx';
import { Menu } from './rows/menu.tsx';
import { StatusView } from './rows/status.tsx';
import { CommandButton, useGeneralReason } from './rows/words.tsx';
import { VirtualList } from './virtual-list.tsx';

const ROW_HEIGHT = 56;

export function ListView({ list, search }: ListProps) {
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
