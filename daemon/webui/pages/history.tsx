// Renders the history: graphs over any length of time, totals by day and month, and a timeline of events.
import { useSignal, useSignalEffect } from '@preact/signals';
import { useEffect, useId, useMemo } from 'preact/hooks';
import { NOW } from '../../view/graph.ts';
import { historyChoices, openHistory, type Recorded } from '../../view/pages/history.ts';
import { useApp } from '../app.ts';
import { rowInAddress } from '../navigation.ts';
import { Charts } from '../widgets/chart.tsx';
import { CommandButton } from '../widgets/rows/words.tsx';

export function HistoryPage() {
  const app = useApp();
  const { _ } = app.tr.value;
  const changes = useSignal(0);
  const page = useMemo(
    () =>
      openHistory(app.host, () => changes.value++, {
        ...(rowInAddress() === NOW && { first: NOW }),
        isHidden: () => document.hidden,
      }),
    [app.host],
  );
  void changes.value; // renders again after each change
  useEffect(() => page.close, [page]);
  useSignalEffect(() => {
    // reads what is due each second; only a change redraws the graphs
    void app.now.value;
    page.view(app.view.peek());
  });
  const { chosen, recorded, clear } = page.view(app.view.value);
  return (
    <>
      <div class="toolbar">
        <select
          aria-label={_('Length of time')}
          value={chosen}
          onChange={event => page.choose(event.currentTarget.value)}
        >
          {historyChoices(app.tr.value).map(({ id, title }) => (
            <option key={id} value={id} selected={id === chosen}>
              {title}
            </option>
          ))}
        </select>
        <CommandButton aria-label={_('Delete the history')} command={clear} sensitive={!app.client.value.offline}>
          {_('Delete…')}
        </CommandButton>
      </div>
      {chosen === NOW ? <Charts figures={app.samples.value} /> : recorded && <Records of={recorded} more={page.more} />}
    </>
  );
}

function Records({ of: recorded, more }: { of: Recorded; more(): void }) {
  const { _ } = useApp().tr.value;
  const { figures, formatAt, enabled, isEmpty } = recorded;
  if (isEmpty)
    return (
      <section class="hero">
        <p class="state">{_('Nothing recorded')}</p>
        <p>{_('Connections and statistics appear here, unless that is turned off.')}</p>
      </section>
    );
  return (
    <>
      {!enabled && <p>{_('The history is turned off. Turn it on in Settings, App.')}</p>}
      <Charts figures={figures} formatAt={formatAt} />
      <Totals of={recorded} />
      <Timeline of={recorded} more={more} />
    </>
  );
}

function Totals({ of: { totals, drops } }: { of: Recorded }) {
  const { _ } = useApp().tr.value;
  const id = useId();
  if (!totals) return null;
  const { titles, rows } = totals;
  return (
    <figure class="chart">
      <figcaption id={id}>{_('Totals')}</figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by keyboard */}
      <section class="table" aria-labelledby={id} tabIndex={0}>
        <table>
          <thead>
            <tr>
              {titles.map(title => (
                <th key={title} scope="col">
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map(([name, ...cells]) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                {cells.map((cell, i) => (
                  <td key={titles[i]}>{cell}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      {drops.map(line => (
        <p key={line}>{line}</p>
      ))}
    </figure>
  );
}

function Timeline({ of: { timeline, hasMore }, more }: { of: Recorded; more(): void }) {
  const { _ } = useApp().tr.value;
  const id = useId();
  return (
    <figure class="chart">
      <figcaption id={id}>{_('Timeline')}</figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by keyboard */}
      <section class="table" aria-labelledby={id} tabIndex={0}>
        <table>
          <tbody>
            {timeline.map(({ at, date, title, details, time }) => (
              <tr key={at}>
                <th scope="row">
                  <time dateTime={at}>{date}</time>
                </th>
                <td>{title}</td>
                <td>{details}</td>
                <td>{time}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      {hasMore && (
        <button type="button" onClick={more}>
          {_('Show More')}
        </button>
      )}
    </figure>
  );
}
