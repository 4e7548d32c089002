// Renders a button that runs a command.
import type { JSX } from 'preact';
import type { Command } from '../../../view/form.ts';
import { useApp } from '../../client/app.ts';
import { idList, useGeneralReason } from './words.tsx';

/**
 * A button that keeps the keyboard's focus while it can't be used: what it asked for is under way, and a disabled
 * element would lose the focus to the top of the page.
 * @param current it is the present choice, which pressing does not change
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
