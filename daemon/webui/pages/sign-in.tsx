// Asks the user of another machine's browser for the token until the token is right.
import { useSignal } from '@preact/signals';
import { useId } from 'preact/hooks';
import { failure } from '../../api/client.ts';
import { useApp } from '../app.ts';
import { CommandBox } from '../widgets/rows/text-rows.tsx';

export function SignInPage() {
  const app = useApp();
  const { _ } = app.tr.value;
  const id = useId();
  const token = useSignal('');
  const busy = useSignal(false);
  const wrong = useSignal(false);
  const signIn = async () => {
    if (busy.value) return;
    busy.value = true;
    try {
      wrong.value = !(await keepToken(token.value.trim()));
      if (!wrong.value) app.host.model.retry();
    } catch (error) {
      app.host.showError(error);
    } finally {
      busy.value = false;
    }
  };
  return (
    <section class="hero">
      <p class="state">{_('Culvert needs its token here')}</p>
      <CommandBox title={_('Run this on the computer where Culvert runs:')} command="culvert token" />
      <form
        onSubmit={event => {
          event.preventDefault();
          void signIn();
        }}
      >
        <label for={id}>{_('Token')}</label>
        <div class="line">
          <input
            id={id}
            type="password"
            autocomplete="current-password"
            aria-invalid={wrong.value}
            aria-describedby={wrong.value ? `${id}-wrong` : undefined}
            value={token}
            onInput={event => {
              token.value = event.currentTarget.value;
            }}
          />
          <button type="submit" class="suggested" aria-busy={busy.value}>
            {_('Continue')}
          </button>
        </div>
        <div role="alert">
          {wrong.value && (
            <p id={`${id}-wrong`} class="problem">
              {_('The token is missing or wrong.')}
            </p>
          )}
        </div>
      </form>
    </section>
  );
}

/** Makes the daemon set a cookie that scripts cannot read. @returns false for a wrong token */
async function keepToken(token: string): Promise<boolean> {
  if (!/^[\w-]+$/.test(token)) return false; // a header cannot carry such a token
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const response = await fetch('/api/session', { method: 'POST', headers, body: '{}' });
  if (!response.ok && response.status !== 401) throw failure(response.status, await response.text());
  return response.ok;
}
