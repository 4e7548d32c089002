// Renders the list of a form: a field to search it, the rows in sight, and the commands about all of it.
import { useId } from 'preact/hooks';
import type { List, Search } from '../../../view/form.ts';
import { formatCount } from '../../../view/format.ts';
import { fill } from '../../../view/translator.ts';
import { useApp } from '../../client/app.ts';
import { VirtualList } from '../virtual-list.tsx';
import { CommandButton } from './command-button.tsx';
import { useGeneralReason } from './words.tsx';

const ROW_HEIGHT = 56;

export function ListView({ list, search }: { list: List; search: Search | undefined }) {
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
