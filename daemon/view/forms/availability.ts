// Explains why controls can't be used now, and disables a form without a daemon.
import type { ClientState } from '../client/client-state.ts';
import { type Ask, type ClientTask, commandsOf, type Form, type MenuButton, type Row } from '../form.ts';
import type { Translator } from '../translator.ts';
import type { View } from '../view.ts';

export interface Reason {
  text: string;
  /** True if the reason is short-lived, such as a change under way. */
  passing: boolean;
}

/** Returns the reason that applies to every page, or null if there is none or a banner reports the lost daemon. */
export function generalReason({ client, tunnel, banners }: View, tr: Translator): Reason | null {
  const { offline, snapshot, pending, killSwitchPending } = client;
  if (banners.offline) return null;
  if (offline || !snapshot) return { text: tunnel.sentence, passing: false };
  if (pending || killSwitchPending) return { text: underWay(tr), passing: true };
  return tunnel.settable ? null : { text: tunnel.sentence, passing: false };
}

export function underWay({ _ }: Translator): string {
  return _('A change is under way.');
}

/** Tasks that a client can do without the daemon. */
const OWN_TASKS: readonly ClientTask[] = [
  'start-daemon',
  'try-again',
  'start-service',
  'restart-service',
  'install-killswitch',
  'network-settings',
  'update-command',
  'run-checks',
  'report',
  'shortcuts',
];

function needsDaemon(ask: Ask): boolean {
  if (ask.kind === 'client') return !OWN_TASKS.includes(ask.task);
  return !['open', 'page', 'copy', 'show'].includes(ask.kind);
}

/** Disables the controls that need the daemon. A switch with an unknown position becomes a note. */
export function withoutDaemon(form: Form, { snapshot }: ClientState): Form {
  const usable = <B extends MenuButton>(button: B): B =>
    needsDaemon(button.command.ask) ? { ...button, sensitive: false } : button;
  const inert = (row: Row): Row => {
    const shown: Row = row.menu ? { ...row, menu: row.menu.map(usable) } : row;
    if (shown.kind === 'expander')
      return { ...shown, button: shown.button && usable(shown.button), rows: shown.rows.map(inert) };
    const own = commandsOf({ groups: [{ id: '', rows: [{ ...shown, menu: [] }] }] });
    if (!own.some(({ ask }) => needsDaemon(ask))) return shown;
    const { id, title, subtitle } = shown;
    if (snapshot === null && shown.kind === 'switch') return { kind: 'note', id, title, subtitle };
    return { ...shown, sensitive: false };
  };
  const { status, groups } = form;
  return {
    ...form,
    ...(status && { status: { ...status, buttons: status.buttons.map(usable), menu: status.menu?.map(usable) } }),
    // without a daemon, no order can be sent
    groups: groups.map(({ order: _, ...group }) => ({
      ...group,
      actions: group.actions?.map(usable),
      menu: group.menu?.map(usable),
      rows: group.rows.map(inert),
    })),
  };
}
