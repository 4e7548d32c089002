// Renders a command for a terminal, with a button that copies it.
import { useApp } from '../client/app.ts';

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
