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
  'choose-mode',
  'shortcuts',
];

function needsDaemon(ask: Ask): boolean {
  if (ask.kind === 'client') return !OWN_TASKS.includes(ask.task);
  return ask.kind !== 'open' && ask.kind !== 'page' && ask.kind !== 'copy';
}

/** Disables the controls that need the daemon. A switch with an unknown position becomes a note. */
export function withoutDaemon(form: Form, { snapshot }: ClientState): Form {
  const inertButton = <B extends MenuButton>(button: B): B =>
    needsDaemon(button.command.ask) ? { ...button, sensitive: false } : button;
  const inert = (row: Row): Row => {
    // a folded row still unfolds
    if (row.kind === 'expander')
      return {
        ...row,
        rows: row.rows.map(inert),
        ...(row.button ? { button: inertButton(row.button) } : {}),
        ...(row.menu ? { menu: row.menu.map(inertButton) } : {}),
      };
    if (!commandsOf({ groups: [{ id: '', rows: [row] }] }).some(({ ask }) => needsDaemon(ask))) return row;
    const { id, title, subtitle } = row;
    if (snapshot === null && row.kind === 'switch') return { kind: 'note', id, title, subtitle };
    return { ...row, sensitive: false };
  };
  const { status } = form;
  return {
    ...form,
    ...(status && {
      status: {
        ...status,
        buttons: status.buttons.map(inertButton),
        ...(status.menu ? { menu: status.menu.map(inertButton) } : {}),
      },
    }),
    groups: form.groups.map(group => ({
      ...group,
      ...(group.actions ? { actions: group.actions.map(inertButton) } : {}),
      ...(group.menu ? { menu: group.menu.map(inertButton) } : {}),
      rows: group.rows.map(inert),
    })),
  };
}
