// Renders the history: what happened in a span as a sentence, a strip and events, with a chart and totals.
import { useSignal, useSignalEffect } from '@preact/signals';
import { useEffect, useId, useMemo } from 'preact/hooks';
import { NOW } from '../../view/graph.ts';
import { type HistoryEvent, historyChoices, openHistory, type Recorded } from '../../view/pages/history.ts';
import { useApp } from '../app.ts';
import { revealRow, rowInAddress } from '../navigation.ts';
import { Charts, StripView, TableView } from '../widgets/chart.tsx';
import { Buttons } from '../widgets/rows/menu.tsx';
import { StatusView } from '../widgets/rows/status.tsx';
import { usePrinted } from '../widgets/virtual-list.tsx';

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
  // renders again after each change
  void changes.value;
  void app.samples.value;
  useEffect(() => {
    const follow = () => rowInAddress() === NOW && page.choose(NOW);
    addEventListener('hashchange', follow);
    addEventListener('beforeprint', page.all);
    return () => {
      removeEventListener('hashchange', follow);
      removeEventListener('beforeprint', page.all);
      page.close();
    };
  }, [page]);
  useSignalEffect(() => {
    // reads what is due each second; only a change renders the page again
    void app.now.value;
    page.view(app.view.peek());
  });
  const { chosen, status, charts, recorded } = page.view(app.view.value);
  const isRead = charts !== null || recorded !== null;
  useEffect(() => {
    if (isRead) revealRow(); // a result of the search may lead to a part of the page
  }, [isRead]);
  return (
    <>
      <div class="toolbar">
        <p class="sum">{recorded?.sentence}</p>
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
      </div>
      {status && <StatusView status={status} alone />}
      {charts && <Charts of={charts} />}
      {recorded && <Records of={recorded} more={page.more} />}
    </>
  );
}

function Records({ of: recorded, more }: { of: Recorded; more(): void }) {
  const { _ } = useApp().tr.value;
  const { off, strip, charts, totals, drops } = recorded;
  const printed = usePrinted();
  return (
    <>
      {off && (
        <div class="banner">
          <p>{_('The history is turned off')}</p>
          <Buttons buttons={[off]} />
        </div>
      )}
      <StripView strip={strip} />
      <Events of={recorded} more={more} />
      <Charts of={charts} />
      {totals && (
        <details class="chart" open={printed} data-row="totals">
          <summary>{_('Totals')}</summary>
          <TableView table={totals} label={_('Totals')} />
          {drops.map(line => (
            <p key={line}>{line}</p>
          ))}
        </details>
      )}
    </>
  );
}

function Events({ of: { days, hasMore }, more }: { of: Recorded; more(): void }) {
  const { _ } = useApp().tr.value;
  const id = useId();
  if (days.length === 0) return null;
  return (
    <section class="chart" data-row="timeline">
      <h2 id={id}>{_('Timeline')}</h2>
      <table class="events" aria-labelledby={id}>
        {days.map(({ title, events }) => (
          <tbody key={title}>
            {title && (
              <tr>
                <th scope="rowgroup" colSpan={3}>
                  {title}
                </th>
              </tr>
            )}
            {events.map(event => (
              <Event key={event.at} event={event} />
            ))}
          </tbody>
        ))}
      </table>
      {hasMore && (
        <button type="button" onClick={more}>
          {_('Show More')}
        </button>
      )}
    </section>
  );
}

function Event({ event: { at, time, title, details, code, lasted } }: { event: HistoryEvent }) {
  const { _ } = useApp().tr.value;
  return (
    <tr>
      <th scope="row">
        <time dateTime={at}>{time}</time>
      </th>
      <td>
        {title}
        {details && <div class="subtitle">{details}</div>}
        {code && (
          <details>
            <summary>{_('Technical details')}</summary>
            <code>{code}</code>
          </details>
        )}
      </td>
      <td class="subtitle">{lasted}</td>
    </tr>
  );
}
