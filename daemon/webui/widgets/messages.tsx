// Renders the page's only dialog and its toasts, which screen readers read as they appear.
import { type Signal, useSignal } from '@preact/signals';
import type { TargetedInputEvent } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { type DialogContent, type OpenDialog, type Toast, useApp } from '../app.ts';
import { CommandBox } from './rows/text-rows.tsx';

export function Dialog() {
  const { dialog } = useApp().messages;
  return dialog.value && <Shown key={dialog.value.id} open={dialog.value} />;
}

function Shown({ open: { content, answer } }: { open: OpenDialog }) {
  const { tr, view } = useApp();
  const { _ } = tr.value;
  const { client, tunnel } = view.value;
  // without a daemon, nothing can carry out the answer
  const gone = !content.notice && client.offline !== null;
  const id = useId();
  const element = useRef<HTMLDialogElement>(null);
  const fields = fieldsOf(content);
  const typed = useSignal<readonly string[]>(fields.map(() => ''));
  const given = typed.value.map(text => text.trim());
  const problems = given.map((text, i) => (text === '' ? _('Fill in this field first.') : fields[i]!.check(text)));
  /** True after the user tried to accept the dialog. */
  const tried = useSignal(false);
  const accept = () => {
    if (gone) return;
    const wrong = problems.findIndex(problem => problem !== null);
    if (wrong < 0) return answer(content.notice ? null : given);
    tried.value = true;
    element.current!.querySelectorAll<HTMLInputElement>('.field input')[wrong]?.focus();
  };
  useEffect(() => {
    const before = document.activeElement;
    element.current!.showModal(); // holds the focus, and closes with Escape
    return () => before instanceof HTMLElement && before.focus();
  }, []);
  return (
    <dialog ref={element} aria-labelledby={id} onClose={() => answer(null)}>
      <h2 id={id}>{content.heading}</h2>
      {content.body && <p>{content.body}</p>}
      {content.text && <pre>{content.text}</pre>}
      {content.shell && <CommandBox title="" command={content.shell} />}
      {content.files?.map(({ name, about, text }) => (
        <details key={name}>
          <summary>{`${name} · ${about}`}</summary>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by keyboard */}
          <pre tabIndex={0}>{text}</pre>
        </details>
      ))}
      {content.links?.map(({ label, uri }) => (
        <p key={uri}>
          <a href={uri} target="_blank" rel="noopener noreferrer">
            {label}
          </a>
        </p>
      ))}
      {fields.length > 0 && (
        <Fields
          fields={fields}
          typed={typed}
          problems={problems.map((problem, i) => (tried.value || given[i] !== '' ? problem : null))}
          accept={accept}
        />
      )}
      {gone && (
        <p class="problem" role="alert">
          {tunnel.sentence}
        </p>
      )}
      <div class="buttons">
        {!content.notice && (
          <button type="button" onClick={() => answer(null)}>
            {_('Cancel')}
          </button>
        )}
        <button
          type="button"
          class={content.notice ? undefined : content.destructive ? 'destructive' : 'suggested'}
          disabled={gone}
          onClick={accept}
        >
          {content.accept}
        </button>
      </div>
    </dialog>
  );
}

interface Field {
  label: string;
  secret: boolean;
  placeholder?: string;
  check(text: string): string | null;
}

/** Returns the fields of a dialog: one text that is not secret, then its secrets. */
function fieldsOf({ secrets = [], field }: DialogContent): Field[] {
  const typed = secrets.map(label => ({ label, secret: true, check: () => null }));
  return field ? [{ ...field, secret: false }, ...typed] : typed;
}

interface FieldsProps {
  fields: readonly Field[];
  typed: Signal<readonly string[]>;
  /** Error of each text, or null. */
  problems: readonly (string | null)[];
  accept(): void;
}

/** Shows the fields. Pressing Enter in a field accepts the dialog. */
function Fields({ fields, typed, problems, accept }: FieldsProps) {
  const id = useId();
  return (
    <form
      onSubmit={event => {
        event.preventDefault();
        accept();
      }}
    >
      {fields.map(({ label, secret, placeholder }, i) => {
        const attributes = {
          id: `${id}-${i}`,
          placeholder,
          'aria-invalid': problems[i] !== null,
          'aria-describedby': problems[i] ? `${id}-${i}-problem` : undefined,
          value: typed.value[i],
          onInput({ currentTarget: { value } }: TargetedInputEvent<HTMLInputElement>) {
            typed.value = typed.value.map((text, at) => (at === i ? value : text));
          },
        };
        return (
          <div key={label} class="field">
            <label for={`${id}-${i}`}>{label}</label>
            {secret ? (
              <input {...attributes} type="password" autocomplete="new-password" />
            ) : (
              <input {...attributes} type="text" autocomplete="off" />
            )}
            <p id={`${id}-${i}-problem`} class="problem" role="alert">
              {problems[i]}
            </p>
          </div>
        );
      })}
      <input type="submit" hidden />
    </form>
  );
}

const SHOWN_MS = 6_000;
/** Display time of failures and of toasts with "Undo". */
const SHOWN_LONG_MS = 15_000;

export function Toasts() {
  const { toasts } = useApp().messages;
  return (
    <div class="toasts" role="status">
      {toasts.value.map(toast => (
        <ShownToast key={toast.id} toast={toast} />
      ))}
    </div>
  );
}

function ShownToast({ toast: { id, text, error, undo } }: { toast: Toast }) {
  const { messages, tr } = useApp();
  const { _ } = tr.value;
  useEffect(() => {
    const timer = setTimeout(() => messages.dismiss(id), error || undo ? SHOWN_LONG_MS : SHOWN_MS);
    return () => clearTimeout(timer);
  }, [id]);
  return (
    <div class={error ? 'toast error' : 'toast'}>
      <span>{text}</span>
      {undo && (
        <button
          type="button"
          onClick={() => {
            messages.dismiss(id);
            undo();
          }}
        >
          {_('Undo')}
        </button>
      )}
      <button type="button" class="close" aria-label={_('Close')} onClick={() => messages.dismiss(id)}>
        ×
      </button>
    </div>
  );
}
