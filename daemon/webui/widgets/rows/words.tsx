// Renders the parts that rows share: texts, reasons why a control can't be used, and command buttons.
import { createContext, Fragment, type JSX } from 'preact';
import { useContext } from 'preact/hooks';
import { markName } from '../../../view/client/labels.ts';
import { type Command, type Mark, markOf, type Row, type RowKind, type Tone } from '../../../view/form.ts';
import { generalReason } from '../../../view/forms/availability.ts';
import { useApp } from '../../app.ts';

/** ID of the description of a row's group. */
export const GroupDescription = createContext<string | undefined>(undefined);

export type RowOf<K extends RowKind> = Extract<Row, { kind: K }>;

/** Shows a row's title, subtitle and the reason why it can't be used. Their IDs label and describe the row's control. */
export function Words({ row, id }: { row: Row; id?: string }) {
  const reason = useOwnReason(row);
  const { tone = 'neutral', level } = row;
  const mark = markOf(row);
  return (
    <>
      {mark && <Marked mark={mark} tone={tone} />}
      <div class={mark ? 'words' : `words tone-${tone}`}>
        <span id={id} class="title">
          {row.title}
        </span>
        {row.subtitle && (
          <span id={id && `${id}-more`} class="subtitle">
            {row.englishLines ? <Lines text={row.subtitle} english={row.englishLines} /> : row.subtitle}
          </span>
        )}
        {reason && (
          <span id={id && `${id}-why`} class="subtitle">
            {reason}
          </span>
        )}
        {level != null && <meter class={`tone-${tone}`} aria-label={row.title} value={level} />}
      </div>
    </>
  );
}

const SIGNS: Record<Mark, string> = { fine: '✓', active: '●', hint: 'i', problem: '!', waiting: '◔', off: '–' };

/** Shows a row's tone as a sign, which assistive technology reads as a word. */
function Marked({ mark, tone }: { mark: Mark; tone: Tone }) {
  return (
    <span class={`sign tone-${tone} ${mark}`} role="img" aria-label={markName(mark, useApp().tr.value)}>
      {SIGNS[mark]}
    </span>
  );
}

/** Shows text and marks its English lines as English text that runs from left to right. */
function Lines({ text, english }: { text: string; english: readonly number[] }) {
  return text.split('\n').map((line, i) => (
    <Fragment key={i}>
      {i > 0 && '\n'}
      {english.includes(i) ? (
        <span lang="en" dir="ltr">
          {line}
        </span>
      ) : (
        line
      )}
    </Fragment>
  ));
}

/** Returns why a row can't be used; null if it can, or if a general reason applies to all rows. */
export function useOwnReason({ sensitive, reason }: Row): string | null {
  const general = useGeneralReason();
  return sensitive === false && general === undefined ? (reason ?? null) : null;
}

/** Returns the IDs of a control's descriptions, including the reason why it can't be used. */
export function useDescription(row: Row, id: string): string | undefined {
  const reason = useOwnReason(row);
  const group = useContext(GroupDescription);
  const ids = [row.subtitle ? `${id}-more` : undefined, reason ? `${id}-why` : undefined];
  return idList(...ids, row.sensitive === false && !reason ? group : undefined);
}

/** IDs of the shell's texts: the offline banner, and the reason above the page. */
export const WHY = { offline: 'why-offline', here: 'why' } as const;

/** Returns the ID of the general reason why controls can't be used now; undefined without such a reason. */
export function useGeneralReason(): string | undefined {
  const { view, tr } = useApp();
  if (view.value.banners.offline) return WHY.offline;
  return generalReason(view.value, tr.value) ? WHY.here : undefined;
}

/** Joins IDs for an attribute; undefined if there are no IDs. */
export function idList(...ids: (string | undefined)[]): string | undefined {
  return ids.filter(Boolean).join(' ') || undefined;
}

/**
 * Shows a button that keeps the focus while it can't be used, such as during its command: a disabled element would lose the
 * focus to the top of the page.
 * @param current true for the current choice, which a click does not send again
 */
export function CommandButton({
  command,
  sensitive: usable = true,
  current = false,
  ...attributes
}: { command: Command; sensitive?: boolean; current?: boolean } & Omit<
  JSX.IntrinsicElements['button'],
  'onClick' | 'type' | 'command'
>) {
  const { host } = useApp();
  const reason = useGeneralReason();
  const { 'aria-describedby': description, ...others } = attributes;
  return (
    <button
      {...others}
      type="button"
      aria-describedby={usable ? description : idList(description as string | undefined, reason)}
      aria-disabled={usable ? undefined : true}
      onClick={() => usable && !current && void host.run(command)}
    />
  );
}
