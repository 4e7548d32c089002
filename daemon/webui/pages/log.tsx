// Renders the commands that Culvert gave to WARP, and their answers.
import { useComputed, useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import type { LogEntry } from '../../api/schema.ts';
import { formatTime } from '../../view/format.ts';
import { searchedText } from '../../view/forms/search-rows.ts';
import {
  asText,
  commandLine,
  emptyStatus,
  outcome,
  passes,
  SHOWS,
  type Shows,
  shortCommand,
  showsName,
} from '../../view/log.ts';
import { useApp } from '../app.ts';
import { rowInAddress } from '../navigation.ts';
import { SearchField } from '../widgets/rows/entry-row.tsx';
import { StatusView } from '../widgets/rows/status.tsx';
import { VirtualList } from '../widgets/virtual-list.tsx';
import { logOf } from './log-of.ts';

const ROW_HEIGHT = 36;

export function LogPage() {
  const app = useApp();
  const { model } = app.host;
  const log = useMemo(() => logOf(model), [model]);
  const tr = app.tr.value;
  const { _ } = tr;
  const query = useSignal(searchedText(rowInAddress()));
  // the search may have led to a read, which the notable commands leave out
  const shows = useSignal<Shows>(query.peek() ? 'all' : 'notable');
  const chosen = useSignal<LogEntry | null>(null);
  const entries = useComputed(() => log.value.filter(entry => passes(entry, shows.value, query.value)));
  const showAll = () => {
    query.value = '';
    shows.value = 'all';
  };
  const text = () => entries.value.map(entry => asText(entry, tr)).join('\n\n');
  return (
    <>
      <div class="toolbar">
        <SearchField
          label={_('Search commands and output')}
          text={query.value}
          type={text => {
            query.value = text;
          }}
        />
        <select
          aria-label={_('Filter')}
          value={shows}
          onChange={event => {
            shows.value = event.currentTarget.value as Shows;
          }}
        >
          {SHOWS.map(name => (
            <option key={name} value={name} selected={name === shows.value}>
              {showsName(name, tr)}
            </option>
          ))}
        </select>
        <button type="button" onClick={() => void app.host.saveText('culvert.log', text())}>
          {_('Save')}
        </button>
        <button type="button" onClick={() => void app.host.copy(text())}>
          {_('Copy')}
        </button>
      </div>
      {entries.value.length === 0 ? (
        <StatusView
          status={emptyStatus({ total: log.value.length, filtered: query.value !== '', showAll }, tr)}
          alone
        />
      ) : (
        <VirtualList items={entries.value} rowHeight={ROW_HEIGHT} label={_('Log')} followEnd>
          {(entry, tabIndex) => (
            <button
              type="button"
              tabIndex={tabIndex}
              class={entry.ok ? 'log-line' : 'log-line failed'}
              aria-expanded={chosen.value?.id === entry.id}
              onClick={() => {
                chosen.value = chosen.value?.id === entry.id ? null : entry;
              }}
            >
              <time dateTime={entry.at}>{formatTime(entry.at, tr)}</time>
              <span class="outcome">{outcome(entry, tr)}</span>
              <code title={commandLine(entry)}>{shortCommand(entry)}</code>
            </button>
          )}
        </VirtualList>
      )}
      {chosen.value && (
        <section class="card output" aria-label={_('Details')}>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by keyboard */}
          <pre tabIndex={0}>{asText(chosen.value, tr)}</pre>
        </section>
      )}
    </>
  );
}
