// Renders rows without a setting: values, texts, commands and notes.
import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';
import { isLong } from '../../../view/form.ts';
import { newestPieces } from '../../../view/graph.ts';
import { useApp } from '../../app.ts';
import { addressOfPage } from '../../navigation.ts';
import { RowMenu } from './menu.tsx';
import { type RowOf, Words } from './words.tsx';

export function FactRow({ row }: { row: RowOf<'fact'> }) {
  const id = useId();
  const app = useApp();
  const { _ } = app.tr.value;
  return (
    <div class="row">
      {isLong(row) ? (
        <div class="words">
          <span class="title">{row.title}</span>
          <LongValue text={row.value} />
        </div>
      ) : (
        <>
          <Words row={row} id={id} />
          <span class="value">
            <bdi>{row.value}</bdi>
          </span>
        </>
      )}
      {row.copy && (
        <button type="button" aria-label={`${_('Copy')} ${row.title}`} onClick={() => void app.host.copy(row.value)}>
          {_('Copy')}
        </button>
      )}
      <RowMenu row={row} id={id} />
    </div>
  );
}

/** Number of characters at the end of a long value that stay visible. */
const END = 8;

/** Shows a value on one line, shortened in the middle if necessary. The tooltip and a selection have the whole value. */
function LongValue({ text }: { text: string }) {
  return (
    <code class="long" title={text}>
      <span>{text.slice(0, -END)}</span>
      <span>{text.slice(-END)}</span>
    </code>
  );
}

export function ShellRow({ row }: { row: RowOf<'shell'> }) {
  return (
    <div class="row">
      <Folded row={row}>
        <CommandBox title={row.title} command={row.shell} />
      </Folded>
    </div>
  );
}

export function TextRow({ row }: { row: RowOf<'text'> }) {
  return (
    <div class="row">
      <Folded row={row}>
        <Words row={row} />
        <pre>{row.text}</pre>
      </Folded>
    </div>
  );
}

export function NoteRow({ row }: { row: RowOf<'note'> }) {
  const id = useId();
  return (
    <div class="row">
      <Words row={row} id={id} />
      <RowMenu row={row} id={id} />
    </div>
  );
}

/** Shows values over the curve of one of them, as a link. */
export function FiguresRow({ row: { title, subtitle, figures, curve, page, row } }: { row: RowOf<'figures'> }) {
  return (
    <a class="row values" href={addressOfPage(page, row)}>
      {figures.map(({ title, value }) => (
        <span key={title} class="figure">
          <span class="subtitle">{title}</span>
          <span class="number">{value}</span>
        </span>
      ))}
      <span class="unseen">{[title, subtitle].filter(Boolean).join('. ')}</span>
      <Curve values={curve} />
    </a>
  );
}

/** Shows the curve of the newest statistics, or a dashed line that announces it. */
function Curve({ values }: { values: readonly (number | null)[] }) {
  const pieces = newestPieces(values).map(points =>
    points.map(({ x, y }) => `${(100 * x).toFixed(1)} ${(19 - 18 * y).toFixed(1)}`),
  );
  const isShort = pieces.flat().length < 2;
  const line = pieces.map(points => `M${points.join('L')}h0`).join('');
  return (
    <svg viewBox="0 0 100 20" preserveAspectRatio="none" aria-hidden="true" focusable="false">
      {pieces.map(points => (
        <path key={points[0]} class="area" d={`M${points.join('L')}V20H${points[0]!.split(' ')[0]}Z`} />
      ))}
      <path d={isShort ? 'M0 10h100' : line} class={isShort ? 'none' : undefined} vector-effect="non-scaling-stroke" />
    </svg>
  );
}

/** Shows content that a label unfolds; without a label, the content is always visible. */
function Folded({ row, children }: { row: RowOf<'shell' | 'text'>; children: ComponentChildren }) {
  if (row.folded === undefined) return <>{children}</>;
  return (
    <details>
      <summary aria-label={`${row.title}: ${row.folded}`}>{row.folded}</summary>
      {children}
    </details>
  );
}

/** Shows a terminal command with a button that copies the command. */
export function CommandBox({ title, command }: { title: string; command: string }) {
  const app = useApp();
  const { _ } = app.tr.value;
  return (
    <div class="command-box">
      <p>{title}</p>
      <div class="line">
        <code>{command}</code>
        <button type="button" onClick={() => void app.host.copy(command)}>
          {_('Copy')}
        </button>
      </div>
    </div>
  );
}
