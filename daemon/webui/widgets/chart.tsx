// Renders charts of values over time, with axes and a table of the values.
import { useEffect, useId, useState } from 'preact/hooks';
import { formatTime } from '../../view/format.ts';
import { axisEnd, type Curve, curves, type Slot } from '../../view/graph.ts';
import { useApp } from '../app.ts';

interface ChartsProps {
  /** Values in chronological order. */
  figures: readonly Slot[];
  /** Formats a time for the axis and the table (default: as the time of day). */
  formatAt?: (at: number) => string;
}

/** Shows charts of latency, packet loss and throughput, one below the other. */
export function Charts(props: ChartsProps) {
  const { tr } = useApp();
  const [, loss, received, sent] = curves(tr.value);
  return (
    <>
      <LatencyChart {...props} />
      <CurveChart {...props} title={loss.title} of={[loss]} />
      <CurveChart {...props} title={tr.value._('Speed: received (solid), sent (dashed)')} of={[received, sent]} />
    </>
  );
}

export function LatencyChart(props: ChartsProps) {
  const [latency] = curves(useApp().tr.value);
  return <CurveChart {...props} title={latency.title} of={[latency]} />;
}

function CurveChart({ figures, of, ...others }: ChartsProps & { title: string; of: readonly [Curve, Curve?] }) {
  const [{ text, finest }] = of;
  const lines = of.flatMap(curve => (curve ? [{ name: curve.title, values: figures.map(curve.value) }] : []));
  return <Chart {...others} times={figures.map(({ at }) => at)} format={text} finest={finest} lines={lines} />;
}

interface Line {
  name: string;
  values: readonly (number | null)[];
}
interface ChartProps {
  title: string;
  /** ms since the epoch, ascending. */
  times: readonly number[];
  /** One or two lines; the second is dashed. */
  lines: readonly Line[];
  format(value: number): string;
  /** The smallest difference that `format` shows. */
  finest: number;
  /** Formats a time for the axis and the table (default: as the time of day). */
  formatAt?: (at: number) => string;
}

const [WIDE, NARROW, HEIGHT, LEFT, BOTTOM, TOP] = [640, 320, 200, 76, 24, 8];
const PHONE = '(max-width: 30rem)';

/** Returns the drawing's width, chosen to keep its text about as large as the text around it. */
function useWidth(): number {
  const [query] = useState(() => matchMedia(PHONE));
  const [narrow, setNarrow] = useState(query.matches);
  useEffect(() => {
    const follow = () => setNarrow(query.matches);
    query.addEventListener('change', follow);
    return () => query.removeEventListener('change', follow);
  }, [query]);
  return narrow ? NARROW : WIDE;
}

function Chart({ title, times, lines, format, finest, formatAt }: ChartProps) {
  const { tr } = useApp();
  const { _ } = tr.value;
  const timeText = formatAt ?? ((at: number) => formatTime(at, tr.value));
  const id = useId();
  const end = axisEnd(Math.max(0, ...lines.flatMap(({ values }) => values.map(value => value ?? 0))), finest);
  // a time without any value is a gap in the curve, and has no row
  const rows = times
    .map((time, row) => ({ time, row }))
    .filter(({ row }) => lines.some(({ values }) => values[row] != null));
  const [first = 0, last = 0] = [times[0], times.at(-1)];
  const width = useWidth();
  const narrow = width === NARROW;
  // a phone has room for two dates, and the first begins below the labels of the other axis
  const marks = first === last ? [first] : [first, ...(narrow ? [] : [(first + last) / 2]), last];
  const anchor = (time: number) => (time === first ? 'start' : time === last ? 'end' : 'middle');
  const x = (time: number) => LEFT + ((time - first) / Math.max(1, last - first)) * (width - LEFT - 8);
  const y = (value: number) => TOP + (1 - value / end) * (HEIGHT - TOP - BOTTOM);
  return (
    <figure class="chart">
      <figcaption id={id}>{title}</figcaption>
      {/* also without values: the content below must not move when values arrive */}
      <svg viewBox={`0 0 ${width} ${HEIGHT}`} role="img" aria-labelledby={id}>
        <title>{title}</title>
        {[0, 0.5, 1].map(part => (
          <g key={part}>
            <line class="grid" x1={LEFT} x2={width - 8} y1={y(end * part)} y2={y(end * part)} />
            {rows.length > 0 && (
              <text x={LEFT - 6} y={y(end * part) + 4} text-anchor="end">
                {format(end * part)}
              </text>
            )}
          </g>
        ))}
        {rows.length === 0 ? (
          <text x={width / 2} y={HEIGHT - 6} text-anchor="middle">
            {_('No statistics yet.')}
          </text>
        ) : (
          marks.map(time => (
            <text key={time} x={narrow && time === first ? 0 : x(time)} y={HEIGHT - 6} text-anchor={anchor(time)}>
              {timeText(time)}
            </text>
          ))
        )}
        {lines.map(({ name, values }, i) => (
          <path key={name} class={`line line-${i}`} d={pathOf(values, times, x, y)} />
        ))}
      </svg>
      <details>
        <summary>{_('As a table')}</summary>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by keyboard */}
        <section class="table" aria-labelledby={id} tabIndex={0}>
          <table>
            <thead>
              <tr>
                <th scope="col">{_('Time')}</th>
                {lines.map(({ name }) => (
                  <th key={name} scope="col">
                    {name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.map(({ time, row }) => (
                <tr key={time}>
                  <th scope="row">{timeText(time)}</th>
                  {lines.map(({ name, values }) => (
                    <td key={name}>{values[row] == null ? '–' : format(values[row])}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      </details>
    </figure>
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
