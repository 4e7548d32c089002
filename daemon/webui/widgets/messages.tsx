// Renders the page's only dialog and its toasts, which screen readers read as they appear.
import { type Signal, useSignal } from '@preact/signals';
import { useEffect, useId, useRef } from 'preact/hooks';
import { type OpenDialog, type Toast, useApp } from '../app.ts';
import { CommandBox } from './rows/text-rows.tsx';

export function Dialog() {
  const { dialog } = useApp().messages;
  return dialog.value && <Shown key={dialog.value.content.heading} open={dialog.value} />;
}

function Shown({ open: { content, answer } }: { open: OpenDialog }) {
  const { tr, view } = useApp();
  const { _ } = tr.value;
  const { client, tunnel } = view.value;
  // without a daemon, nothing can carry out the answer
  const gone = !content.notice && client.offline !== null;
  const id = useId();
  const element = useRef<HTMLDialogElement>(null);
  const secrets = content.secrets ?? [];
  const typed = useSignal<readonly string[]>(secrets.map(() => ''));
  const given = typed.value.map(text => text.trim());
  const complete = given.every(text => text !== '');
  const missing = useSignal(false);
  const accept = () => {
    if (gone) return;
    if (complete) return answer(content.notice ? null : given);
    missing.value = true;
    element.current!.querySelectorAll<HTMLInputElement>('input[type=password]')[given.indexOf('')]?.focus();
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
      {secrets.length > 0 && (
        <Secrets names={secrets} id={id} typed={typed} problem={missing.value && !complete} accept={accept} />
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

interface SecretsProps {
  names: readonly string[];
  /** Prefix of the fields' ids. */
  id: string;
  typed: Signal<readonly string[]>;
  /** True to report that a required field is empty. */
  problem: boolean;
  accept: () => void;
}

/** Shows one field for each secret. Pressing Enter in a field accepts the dialog. */
function Secrets({ names, id, typed, problem, accept }: SecretsProps) {
  const { _ } = useApp().tr.value;
  return (
    <form
      onSubmit={event => {
        event.preventDefault();
        accept();
      }}
    >
      {names.map((name, i) => (
        <div key={name} class="secret">
          <label for={`${id}-${name}`}>{name}</label>
          <input
            id={`${id}-${name}`}
            type="password"
            autocomplete="new-password"
            value={typed.value[i]}
            onInput={({ currentTarget: { value } }) => {
              typed.value = typed.value.map((text, at) => (at === i ? value : text));
            }}
          />
        </div>
      ))}
      {problem && (
        <p class="problem" role="alert">
          {_('Fill in this field first.')}
        </p>
      )}
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
