// Renders the parts that rows share: text, the reason why a control can't be used, and the button that runs a command.
import { createContext, Fragment, type JSX } from 'preact';
import { useContext } from 'preact/hooks';
import type { Command, Row, RowKind } from '../../../view/form.ts';
import { generalReason } from '../../../view/forms/availability.ts';
import { useApp } from '../../app.ts';

/** Id of the description of the group around a row. */
export const GroupDescription = createContext<string | undefined>(undefined);

export type RowOf<K extends RowKind> = Extract<Row, { kind: K }>;

/** Title, subtitle, and the reason why a row can't be used. Their IDs label and describe the control next to them. */
export function Words({ row, id }: { row: Row; id?: string }) {
  const reason = useOwnReason(row);
  return (
    <div class="words">
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
    </div>
  );
}

/** Text whose English lines are read aloud as English, and from left to right. */
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

/** The reason of a row, unless a general reason applies to all rows. */
export function useOwnReason({ sensitive, reason }: Row): string | null {
  const general = useGeneralReason();
  return sensitive === false && general === undefined ? (reason ?? null) : null;
}

/** IDs of the texts that describe a control, including the reason why it can't be used. */
export function useDescription(row: Row, id: string): string | undefined {
  const reason = useOwnReason(row);
  const group = useContext(GroupDescription);
  const ids = [row.subtitle ? `${id}-more` : undefined, reason ? `${id}-why` : undefined];
  return idList(...ids, row.sensitive === false && !reason ? group : undefined);
}

/** Ids of the texts that the shell shows: the banners, and the reason above the page. */
export const WHY = { offline: 'why-offline', here: 'why' } as const;

/** ID of the text with the general reason why controls can't be used now; undefined without such a reason. */
export function useGeneralReason(): string | undefined {
  const { view, tr } = useApp();
  if (view.value.banners.offline) return WHY.offline;
  return generalReason(view.value, tr.value) ? WHY.here : undefined;
}

/** IDs in the form of an attribute. */
export function idList(...ids: (string | undefined)[]): string | undefined {
  return ids.filter(Boolean).join(' ') || undefined;
}

/**
 * A button that keeps the focus while it can't be used, such as during its command: a disabled element would lose the focus to
 * the top of the page.
 * @param current true for the present choice, which a press does not change
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
