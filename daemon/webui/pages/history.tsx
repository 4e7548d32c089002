// Renders the history: graphs over any length of time, totals of days and months, and what happened when.
import { useSignal } from '@preact/signals';
import { useEffect, useId, useRef } from 'preact/hooks';
import type { History } from '../../api/schema.ts';
import { FINEST } from '../../view/client/history.ts';
import { formatDate, formatDuration, formatLatency, formatLoss, formatRate, formatTime } from '../../view/format.ts';
import { NOW, type Slot, type Span, slotsOf, spans } from '../../view/graph.ts';
import { changeWords, dropLines, lasted, readHistory, totalsTable } from '../../view/history/records.ts';
import { type App, useApp } from '../client/app.ts';
import { rowInAddress } from '../navigation.ts';
import { Chart } from '../widgets/chart.tsx';
import { CommandButton } from '../widgets/rows/command-button.tsx';
import { LiveCharts } from './graph.tsx';

/** Changes that are listed at first, and that "Show More" adds. */
const LISTED = 50;
/** Time by which the page may lag behind the records. */
const RENEW_MS = 60_000;
const RENEW_SHORT_MS = 5_000;
const DAY_SECONDS = 86_400;

export function HistoryPage() {
  const app = useApp();
  const tr = app.tr.value;
  const { _ } = tr;
  const chosen = useSignal(rowInAddress() === NOW ? NOW : '1d');
  const all = spans(tr);
  const span = all.find(({ id }) => id === chosen.value) ?? null;
  const clear = async () => {
    const question = {
      heading: _('Delete the history?'),
      body: _('Everything that was recorded is deleted, on this computer and for every window.'),
      accept: _('Delete'),
      destructive: true,
    };
    if (!(await app.messages.ask(question))) return;
    try {
      await app.host.model.call('POST /api/history/clear', { body: {} });
      app.host.toast(_('The history is deleted'));
    } catch (error) {
      app.host.showError(error);
    }
  };
  return (
    <>
      <div class="toolbar">
        <select
          aria-label={_('Length of time')}
          value={chosen}
          onChange={event => {
            chosen.value = event.currentTarget.value;
          }}
        >
          {[{ id: NOW, title: _('Now') }, ...all].map(({ id, title }) => (
            <option key={id} value={id} selected={id === chosen.value}>
              {title}
            </option>
          ))}
        </select>
        <CommandButton
          aria-label={_('Delete the history')}
          command={{ ask: { kind: 'work', work: clear } }}
          sensitive={!app.client.value.offline}
        >
          {_('Delete…')}
        </CommandButton>
      </div>
      {span ? <Recorded span={span} /> : <LiveCharts />}
    </>
  );
}

function Recorded({ span }: { span: Span }) {
  const app = useApp();
  const { _ } = app.tr.value;
  const history = useHistory(app, span);
  if (!history) return null;
  const { samples, changes, enabled, until } = history;
  if (!samples.length && !changes.length)
    return (
      <section class="hero">
        <p class="state">{_('Nothing recorded')}</p>
        <p>{_('Connections and statistics appear here, unless that is turned off.')}</p>
      </section>
    );
  return (
    <>
      {!enabled && <p>{_('The history is turned off. Turn it on in Settings, App.')}</p>}
      <Graphs slots={slotsOf(samples, span, Date.parse(until))} span={span} />
      {history.totals && <Totals totals={history.totals} />}
      <Timeline history={history} />
    </>
  );
}

function Graphs({ slots, span }: { slots: Slot[]; span: Span }) {
  const tr = useApp().tr.value;
  const { _ } = tr;
  const times = slots.map(({ at }) => at);
  const formatAt = (at: number) => (span.seconds < DAY_SECONDS ? formatTime(at, tr) : formatDate(at, tr));
  return (
    <>
      <Chart
        title={_('Latency')}
        times={times}
        formatAt={formatAt}
        format={value => formatLatency(value, tr)}
        finest={FINEST.latencyMs}
        lines={[{ name: _('Latency'), values: slots.map(({ latencyMs }) => latencyMs) }]}
      />
      <Chart
        title={_('Packet loss')}
        times={times}
        formatAt={formatAt}
        format={value => formatLoss(value, tr)}
        finest={FINEST.loss}
        lines={[{ name: _('Packet loss'), values: slots.map(({ loss }) => loss) }]}
      />
      <Chart
        title={_('Speed: received (solid), sent (dashed)')}
        times={times}
        formatAt={formatAt}
        format={value => formatRate(value, tr)}
        finest={FINEST.rate}
        lines={[
          { name: _('Received'), values: slots.map(({ received }) => received) },
          { name: _('Sent'), values: slots.map(({ sent }) => sent) },
        ]}
      />
    </>
  );
}

function Totals({ totals }: { totals: NonNullable<History['totals']> }) {
  const tr = useApp().tr.value;
  const id = useId();
  const { titles, rows } = totalsTable(totals, tr);
  return (
    <figure class="chart">
      <figcaption id={id}>{tr._('Totals')}</figcaption>
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
      {dropLines(totals, tr).map(line => (
        <p key={line}>{line}</p>
      ))}
    </figure>
  );
}

function Timeline({ history }: { history: History }) {
  const tr = useApp().tr.value;
  const id = useId();
  const limit = useSignal(LISTED);
  const { changes } = history;
  const shown = changes.map((change, i) => ({ change, i })).slice(-limit.value);
  return (
    <figure class="chart">
      <figcaption id={id}>{tr._('Timeline')}</figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by keyboard */}
      <section class="table" aria-labelledby={id} tabIndex={0}>
        <table>
          <tbody>
            {shown.reverse().map(({ change, i }) => {
              const { title, details } = changeWords(change, tr);
              return (
                <tr key={change.at}>
                  <th scope="row">
                    <time dateTime={change.at}>{formatDate(change.at, tr)}</time>
                  </th>
                  <td>{title}</td>
                  <td>{details}</td>
                  <td>{change.kind === 'stop' ? '' : formatDuration(lasted(history, i) / 1000, tr)}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </section>
      {changes.length > limit.value && (
        <button
          type="button"
          onClick={() => {
            limit.value += LISTED;
          }}
        >
          {tr._('Show More')}
        </button>
      )}
    </figure>
  );
}

/** The history of a length of time; null until it is there. Read again as time goes on, and when it was deleted. */
function useHistory({ host: { model, showError }, client }: App, { id, query, seconds }: Span): History | null {
  const answer = useSignal<{ id: string; history: History } | null>(null);
  const wanted = useRef(id);
  wanted.current = id;
  const state = client.value.snapshot?.status.state;
  useEffect(() => {
    const load = async () => {
      if (model.state().offline || document.hidden) return;
      try {
        const history = await readHistory(page => model.call('GET /api/history', { query: page }), query);
        if (wanted.current === id) answer.value = { id, history };
      } catch (error) {
        if (wanted.current === id && !model.state().offline) showError(error);
      }
    };
    void load();
    const timer = setInterval(load, seconds < DAY_SECONDS ? RENEW_SHORT_MS : RENEW_MS);
    const unsubscribe = model.onEvent(({ event }) => {
      if (event === 'history' || event === 'snapshot') void load();
    });
    return () => {
      clearInterval(timer);
      unsubscribe();
    };
  }, [id, state]);
  return answer.value?.id === id ? answer.value.history : null;
}
