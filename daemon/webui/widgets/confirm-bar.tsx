// Renders a bar on every page while a change waits to be confirmed: what was changed, a countdown, Keep and Revert Now.
import { countdownText } from '../../view/states/changes.ts';
import { useApp } from '../client/app.ts';
import { CommandButton } from './rows/command-button.tsx';

export function ConfirmBar() {
  const { view, now, tr } = useApp();
  const { unconfirmed } = view.value;
  const { _ } = tr.value;
  return (
    <div class="confirm" role="alert">
      {unconfirmed && (
        <div class="banner caution">
          <p class="words">
            <strong>{_('Keep this change?')}</strong>
            <span>{unconfirmed.text}</span>
            {/* it changes each second, which is not to be read out each time */}
            <span role="timer" aria-live="off">
              {countdownText(unconfirmed, now.value, tr.value)}
            </span>
          </p>
          <CommandButton command={unconfirmed.revert}>{_('Revert Now')}</CommandButton>
          <CommandButton class="suggested" command={unconfirmed.keep}>
            {_('Keep')}
          </CommandButton>
        </div>
      )}
    </div>
  );
}
