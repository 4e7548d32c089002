// Renders text fields: single lines that are checked after each key, text areas, and search fields.
import { useSignal } from '@preact/signals';
import type { TargetedInputEvent } from 'preact';
import { useContext, useId, useRef } from 'preact/hooks';
import type { Search } from '../../../view/form.ts';
import { useApp } from '../../app.ts';
import { GroupDescription, idList, type RowOf, useGeneralReason, useOwnReason } from './words.tsx';

export function EntryRow({ row }: { row: RowOf<'entry'> }) {
  const id = useId();
  const { host, tr } = useApp();
  const text = useSignal('');
  const missing = useSignal(false);
  /** Text of the running request. Its effect may arrive before the reply, and the check would then reject the text. */
  const sent = useSignal<string | null>(null);
  const field = useRef<HTMLInputElement>(null);
  const given = text.value.trim();
  const type = (next: string) => {
    text.value = next;
    row.type?.(next);
  };
  const general = useGeneralReason();
  const reason = useOwnReason(row);
  const group = useContext(GroupDescription);
  const here = row.sensitive ?? true;
  const wrong = row.check(given) ?? (missing.value && given === '' ? tr.value._('Fill in this field first.') : null);
  const problem = given === sent.value ? null : wrong;
  const usable = here && problem === null;
  const problemId = problem === null ? undefined : `${id}-problem`;
  const why = reason ? `${id}-why` : (general ?? group);
  const attributes = {
    id,
    ref: field,
    autocapitalize: 'none' as const,
    spellcheck: false,
    placeholder: row.placeholder,
    value: text,
    onInput(event: TargetedInputEvent<HTMLInputElement>) {
      type(event.currentTarget.value);
    },
    'aria-invalid': problem !== null,
    'aria-describedby': problemId,
  };
  const submit = async () => {
    if (!here || wrong !== null) return;
    if (given === '') {
      missing.value = true;
      field.current!.focus();
      return;
    }
    sent.value = given;
    const done = await host.run(row.command(given));
    sent.value = null;
    if (!done) return;
    missing.value = false;
    // keep text that was typed since
    if (text.value.trim() === given) type('');
  };
  return (
    <form
      class="row entry"
      onSubmit={event => {
        event.preventDefault();
        void submit();
      }}
    >
      <label for={id}>{row.title}</label>
      <div class="line">
        {row.secret ? (
          <input {...attributes} type="password" autocomplete="new-password" />
        ) : (
          <input {...attributes} type="text" autocomplete="off" />
        )}
        <button
          type="submit"
          aria-label={row.name ?? `${row.title}: ${row.label}`}
          aria-describedby={usable ? undefined : idList(problemId, here ? undefined : why)}
          aria-disabled={usable ? undefined : true}
        >
          {row.label}
        </button>
      </div>
      {problem !== null && (
        <p id={problemId} class="problem">
          {problem}
        </p>
      )}
      {reason && (
        <p id={`${id}-why`} class="subtitle">
          {reason}
        </p>
      )}
    </form>
  );
}

export function AreaRow({ row }: { row: RowOf<'area'> }) {
  return (
    <textarea
      autocapitalize="none"
      autocomplete="off"
      spellcheck={false}
      rows={12}
      aria-label={row.title}
      aria-describedby={useContext(GroupDescription)}
      readOnly={row.sensitive === false}
      value={row.text}
      onInput={event => row.type(event.currentTarget.value)}
    />
  );
}

/** Shows a search field. */
export function SearchField({ label, text, type }: Pick<Search, 'label' | 'text' | 'type'>) {
  return (
    <input
      type="search"
      aria-label={label}
      placeholder={label}
      value={text}
      onInput={event => type(event.currentTarget.value)}
    />
  );
}
