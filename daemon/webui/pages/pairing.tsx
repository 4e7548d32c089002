// Asks a device on another machine for the one-time code, until it is paired.
import { useSignal } from '@preact/signals';
import { useId } from 'preact/hooks';
import { useApp } from '../client/app.ts';
import { CommandBox } from '../widgets/command-box.tsx';

export function PairingPage() {
  const app = useApp();
  const { _ } = app.tr.value;
  const id = useId();
  const code = useSignal('');
  const busy = useSignal(false);
  const pair = async () => {
    if (busy.value || code.value.trim() === '') return;
    busy.value = true;
    try {
      await app.model.call('POST /api/pair', { body: { code: code.value.trim(), name: deviceName() } });
      app.model.retry();
    } catch (error) {
      app.showError(error);
    } finally {
      busy.value = false;
    }
  };
  return (
    <section class="hero">
      <p class="state">{_('This device is not paired')}</p>
      <CommandBox title={_('Run this on the computer where Culvert runs:')} command="culvert web --pair" />
      <form
        onSubmit={event => {
          event.preventDefault();
          void pair();
        }}
      >
        <label for={id}>{_('Code')}</label>
        <div class="line">
          <input
            id={id}
            type="text"
            autocomplete="one-time-code"
            autocapitalize="characters"
            spellcheck={false}
            value={code}
            onInput={event => {
              code.value = event.currentTarget.value;
            }}
          />
          <button type="submit" class="suggested" aria-busy={busy.value}>
            {_('Pair')}
          </button>
        </div>
      </form>
      {location.protocol !== 'https:' && (
        <p class="problem">
          {_('This connection is not encrypted. Others on the network can read it and take over the access.')}
        </p>
      )}
    </section>
  );
}

/** Name of this device in the list of devices: `Firefox on Linux`. */
function deviceName(): string {
  const { userAgent } = navigator;
  const find = (names: string[]) => names.find(name => userAgent.includes(name));
  const browser = find(['Firefox', 'Edg', 'Chrome', 'Safari']) ?? 'Browser';
  const system = find(['Android', 'iPhone', 'iPad', 'Windows', 'Mac OS', 'Linux']);
  return system ? `${browser} on ${system}` : browser;
}
