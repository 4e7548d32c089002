// Describes the page of the kill switch.

import type { Form, Group, Row } from '../../form.ts';
import {
  installRows,
  type KillSwitchView,
  killSwitchCommand,
  killSwitchRow,
  PAUSES,
  pauseLeft,
  pauseName,
  setKillSwitch,
} from '../../states/killswitch.ts';
import { fill, type Translator } from '../../translator.ts';
import { type BlockedState, blockedRows, NOT_READ } from './blocked.ts';

/**
 * @param now ms since the epoch, for what is left of a pause
 * @param blocked the list, which the event stream does not bring, and whether it is recorded while no client asks; null: not known
 */
export function killSwitchForm(
  view: KillSwitchView,
  now: number,
  tr: Translator,
  { records, ...blocked }: BlockedState & { records: boolean | null } = { ...NOT_READ, records: null },
): Form {
  const { _ } = tr;
  const rows: Row[] = [killSwitchRow(view, tr)];
  if (view.look === 'demo') return { groups: [{ id: 'switch', rows }] };
  const installed = view.look !== 'not-installed';
  if (installed)
    rows.push({
      kind: 'switch',
      id: 'lan',
      title: _('Allow local network'),
      subtitle: _('Printers and other devices nearby stay reachable'),
      on: view.allowLan,
      sensitive: view.sensitive,
      command: setKillSwitch(view, { enabled: view.on, allowLan: !view.allowLan }),
    });
  const pauses: Row[] = PAUSES.map(minutes => ({
    // Translators: %s is a duration such as 15 minutes
    kind: 'button',
    id: `pause-${minutes}`,
    title: fill(_('Pause for %s'), pauseName(minutes, tr)),
    label: _('Pause'),
    sensitive: view.pausable,
    reason: view.sensitive ? _('Keep or revert the change first.') : null,
    command: killSwitchCommand({ seconds: 60 * minutes }),
  }));
  const paused: Row[] =
    view.pausedUntil === null
      ? pauses
      : [
          {
            kind: 'button',
            id: 'resume',
            title: _('Paused'),
            label: _('Resume'),
            style: 'suggested',
            // Translators: %s is a clock such as 4:32
            subtitle: fill(_('%s left'), pauseLeft(view.pausedUntil, now, tr)),
            sensitive: view.sensitive,
            command: killSwitchCommand({ seconds: 0 }),
          },
        ];
  const fact = (id: string, title: string, value: string | null): Row[] =>
    value === null ? [] : [{ kind: 'note', id, title, subtitle: value }];
  return {
    groups: [
      { id: 'switch', ...(installed ? { description: consequence(tr) } : {}), rows },
      ...(installed && view.on
        ? [{ id: 'pause', title: _('Pause'), description: _('To sign in to a Wi-Fi, for example'), rows: paused }]
        : []),
      ...(installed ? blockedGroups(blocked, records, tr) : []),
      {
        id: 'protection',
        rows: [
          ...fact('protection', _('Tamper protection'), view.protection),
          ...fact('boot', _('When the system starts'), view.boot),
          ...fact('detail', _('Details'), view.detail),
        ],
      },
      ...(installed ? [] : [{ id: 'install', rows: installRows(view, tr) }]),
      ...(view.command
        ? [
            {
              id: 'command',
              title: _('In a terminal'),
              rows: [{ kind: 'shell', id: 'shell', title: view.command.purpose, shell: view.command.command } as const],
            },
          ]
        : []),
    ],
  };
}

function blockedGroups(blocked: BlockedState, records: boolean | null, tr: Translator): Group[] {
  const { _ } = tr;
  const rows = blockedRows(blocked, tr);
  if (records !== null)
    rows.push({
      kind: 'switch',
      id: 'record',
      title: _('Remember what was blocked'),
      subtitle: _('For ten minutes, also while this page is closed'),
      on: records,
      command: { ask: { kind: 'config', patch: { warp: { recordBlocked: !records } } } },
    });
  return rows.length ? [{ id: 'blocked', title: _('Blocked in the last ten minutes'), rows }] : [];
}

/** Turning on needs no administrator, so the user has to know what it means for others. */
function consequence({ _ }: Translator): string {
  return _('Applies to all users, even after a restart. Turning it off needs an administrator.');
}
