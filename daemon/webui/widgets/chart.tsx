// Renders the rows of the history: charts over time, the strip of a span, and tables.
import type { RefObject } from 'preact';
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Chart, Kind, Table, Tick } from '../../view/graph.ts';
import { HEIGHTS } from '../../view/states/strip.ts';
import { FURTHER_ROWS } from './rows/form.tsx';
import { moveFocus } from './rows/menu.tsx';
import type { RowOf } from './rows/words.tsx';
import { usePrinted } from './virtual-list.tsx';

/** Adds these kinds of rows to those of the first page. */
export function addPictureRows(): void {
  FURTHER_ROWS.set('chart', ChartRow).set('strip', StripRow).set('table', TableRow);
}

const [HEIGHT, LEFT, RIGHT, BOTTOM, TOP] = [200, 76, 8, 24, 8];
/** Height of the strip's highest part. */
const STRIP = 40;
/** Half the width of most labels of an axis. */
const LABEL = 26;

/** Returns the width of an element in px, so that its drawing keeps the size of its text. */
function useWidth(): [ref: RefObject<SVGSVGElement | null>, width: number] {
  const ref = useRef<SVGSVGElement>(null);
  const [width, setWidth] = useState(640);
  useLayoutEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(Math.max(1, Math.round(entry!.contentRect.width))));
    observer.observe(ref.current!);
    return () => observer.disconnect();
  }, []);
  return [ref, width];
}

/** Labels a time axis. @param from left end of the axis, like `to` and `y` in units of the drawing */
function Ticks({ ticks, from, to, y }: { ticks: readonly Tick[]; from: number; to: number; y: number }) {
  const x = ({ at }: Tick) => from + at * (to - from);
  // a label in the middle must touch neither the label at the end nor the edge
  const fit = ticks.filter(tick => tick.at === 1 || x(tick) < to - 3.5 * LABEL);
  const anchor = (tick: Tick) => (tick.at === 1 ? 'end' : x(tick) < LABEL ? 'start' : 'middle');
  return fit.map(tick => (
    <text key={tick.at} x={x(tick)} y={y} text-anchor={anchor(tick)}>
      {tick.label}
    </text>
  ));
}

/** Shows one of several charts, which the user chooses by tabs. */
function ChartRow({ row: { title, chosen, choose, ...row } }: { row: RowOf<'chart'> }) {
  const { charts, times, ticks } = row.charts;
  const id = useId();
  const tabs = useRef<HTMLDivElement>(null);
  const chart = charts.find(each => each.id === chosen)!;
  return (
    <section class="chart">
      <div
        class="buttons"
        role="tablist"
        aria-label={title}
        ref={tabs}
        onKeyDown={event => moveFocus(event, [...tabs.current!.querySelectorAll('button')])}
      >
        {charts.map(each => (
          <button
            key={each.id}
            type="button"
            role="tab"
            id={`${id}-${each.id}`}
            data-row={each.id}
            aria-selected={each === chart}
            aria-controls={id}
            tabIndex={each === chart ? 0 : -1}
            onClick={() => choose(each.id)}
            onFocus={() => choose(each.id)}
          >
            {each.title} <span class="subtitle">{each.newest}</span>
          </button>
        ))}
      </div>
      <div role="tabpanel" id={id} aria-labelledby={`${id}-${chart.id}`}>
        {chart.caption && <p class="subtitle">{chart.caption}</p>}
        <Curves chart={chart} times={times} ticks={ticks} />
      </div>
    </section>
  );
}

function Curves({ chart, times, ticks }: { chart: Chart; times: readonly number[]; ticks: readonly Tick[] }) {
  const { name, end, text, lines } = chart;
  const [first = 0, last = 0] = [times[0], times.at(-1)];
  const [ref, width] = useWidth();
  const right = Math.max(LEFT + 1, width - RIGHT);
  const x = (time: number) => LEFT + ((time - first) / Math.max(1, last - first)) * (right - LEFT);
  const y = (value: number) => TOP + (1 - value / end) * (HEIGHT - TOP - BOTTOM);
  return (
    <svg ref={ref} viewBox={`0 0 ${width} ${HEIGHT}`} role="img" aria-label={name}>
      {[0, end / 2, end].map(value => (
        <g key={value}>
          <line class="grid" x1={LEFT} x2={right} y1={y(value)} y2={y(value)} />
          <text x={LEFT - 6} y={y(value) + 4} text-anchor="end">
            {text(value)}
          </text>
        </g>
      ))}
      <Ticks ticks={ticks} from={LEFT} to={right} y={HEIGHT - 6} />
      {lines.map(({ title, values }, i) => (
        <path key={title} class={`line line-${i}`} d={pathOf(values, times, x, y)} />
      ))}
    </svg>
  );
}

/** Returns the path of a line, with a gap for each missing value and a dot for a value between gaps. */
function pathOf(
  values: readonly (number | null)[],
  times: readonly number[],
  x: (time: number) => number,
  y: (value: number) => number,
): string {
  // the only value gets a visible width, and the newest value ends where the grid lines end
  const single = values.filter(value => value !== null).length === 1;
  const newest = values.length > 1 && values.at(-1) !== null;
  const dot = single ? `h${newest ? -6 : 6}` : 'h0';
  let pen = 'M';
  return values
    .map((value, i) => {
      if (value === null) {
        pen = 'M';
        return '';
      }
      const step = `${pen}${x(times[i]!).toFixed(1)} ${y(value).toFixed(1)}${pen === 'M' ? dot : ''}`;
      pen = 'L';
      return step;
    })
    .join('');
}

/** Shows the state at each moment of a span. The kinds differ in height as well as in color. */
function StripRow({ row: { strip } }: { row: RowOf<'strip'> }) {
  const { parts, ticks, legend, text } = strip;
  const [ref, width] = useWidth();
  return (
    <section class="chart strip">
      <svg ref={ref} viewBox={`0 0 ${width} ${STRIP + BOTTOM}`} role="img" aria-label={text}>
        {parts.map(({ kind, from, until }) => (
          <Part key={from} kind={kind} x={from * width} width={(until - from) * width} height={STRIP} />
        ))}
        <Ticks ticks={ticks} from={0} to={width} y={STRIP + BOTTOM - 6} />
      </svg>
      <ul class="buttons">
        {legend.map(({ kind, title }) => (
          <li key={kind} class="subtitle">
            <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
              <Part kind={kind} x={0} width={16} height={16} />
            </svg>{' '}
            {title}
          </li>
        ))}
      </ul>
    </section>
  );
}

/** @param height height of the highest kind */
function Part({ kind, height, ...sides }: { kind: Kind; x: number; width: number; height: number }) {
  const own = Math.max(1, HEIGHTS[kind] * height);
  // edges between two pixels would show a mixed color
  return <rect class={kind} shape-rendering="crispEdges" {...sides} y={height - own} height={own} />;
}

function TableRow({ row: { title, table, notes = [] } }: { row: RowOf<'table'> }) {
  return (
    <details class="chart" open={usePrinted()}>
      <summary>{title}</summary>
      <TableView table={table} label={title} />
      {notes.map(line => (
        <p key={line}>{line}</p>
      ))}
    </details>
  );
}

function TableView({ table: { titles, rows }, label }: { table: Table; label: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by keyboard
    <section class="table" aria-label={label} tabIndex={0}>
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
                <td key={titles[i + 1]}>{cell}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
