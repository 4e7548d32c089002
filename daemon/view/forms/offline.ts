// Makes a form inert while the daemon can't be asked: the last values stay, and only what needs no daemon can be used.
import type { ClientState } from '../client/client-state.ts';
import { type Ask, type ClientTask, commandsOf, type Form, type Row } from '../form.ts';

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
