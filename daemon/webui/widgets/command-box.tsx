// Renders a command for a terminal, with a button that copies it.
import { useApp } from '../client/app.ts';
import { copy } from '../tasks/clipboard.ts';

export function CommandBox({ title, command }: { title: string; command: string }) {
  const app = useApp();
  const { _ } = app.tr.value;
  return (
    <div class="command-box">
      <p>{title}</p>
      <div class="line">
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a long command scrolls, also by keyboard */}
        <code tabIndex={0}>{command}</code>
        <button type="button" onClick={() => void copy(app, command)}>
          {_('Copy')}
        </button>
      </div>
    </div>
  );
}
