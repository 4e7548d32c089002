// Says why controls can't be used now, and makes a form inert while the daemon can't be asked.

import type { ClientState } from '../client/client-state.ts';
import { type Ask, type ClientTask, commandsOf, type Form, type Row } from '../form.ts';
import type { Translator } from '../translator.ts';
import type { View } from '../view.ts';

export interface Reason {
  text: string;
  /** It lasts a moment: a change is under way. */
  passing: boolean;
}

/** The reason that holds on every page; null if no such reason exists, or the banner about the lost daemon has it. */
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

/** Tasks that a client does without the daemon. */
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

/** The form without a daemon. A switch whose position was never read is a row without one. */
export function withoutDaemon(form: Form, { snapshot }: ClientState): Form {
  const inert = (row: Row): Row => {
    if (!commandsOf({ groups: [{ id: '', rows: [row] }] }).some(({ ask }) => needsDaemon(ask))) return row;
    const { id, title, subtitle } = row;
    if (snapshot === null && row.kind === 'switch') return { kind: 'note', id, title, subtitle };
    return { ...row, sensitive: false };
  };
  return { ...form, groups: form.groups.map(group => ({ ...group, rows: group.rows.map(inert) })) };
}
