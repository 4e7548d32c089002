// Short words on what has been done or has failed, read out as they come.
import { useEffect } from 'preact/hooks';
import { type Toast, useApp } from '../client/app.ts';

const SHOWN_MS = 6_000;
/** Failures, and toasts with "Undo", stay longer. */
const SHOWN_LONG_MS = 15_000;

export function Toasts() {
  const { toasts } = useApp().messages;
  return (
    <div class="toasts" role="status">
      {toasts.value.map(toast => (
        <Shown key={toast.id} toast={toast} />
      ))}
    </div>
  );
}

function Shown({ toast: { id, text, error, undo } }: { toast: Toast }) {
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
