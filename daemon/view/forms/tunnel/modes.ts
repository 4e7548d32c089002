// Describes the page of the tunnel's modes, which says what each of them means.
import type { Mode, Snapshot } from '../../../api/schema.ts';
import type { ClientState } from '../../client/client-state.ts';
import { modeName } from '../../client/labels.ts';
import { actionCommand, type Form, type Row } from '../../form.ts';
import type { Translator } from '../../translator.ts';
import { modeCommand } from './choose-mode.ts';
import { rareGroups } from './rare-options.ts';
import { MAIN_MODES, toBeConfirmed, VARIANTS } from './to-be-confirmed.ts';

export function modeForm(client: ClientState, settable: boolean, tr: Translator): Form {
  const { _ } = tr;
  const snapshot = client.snapshot;
  const locked = snapshot?.options.modeLocked === true;
  const radio = (mode: Mode): Row => ({
    kind: 'radio',
    id: `mode-${mode}`,
    ...modeName(mode, tr),
    checked: snapshot?.settings.Mode === mode,
    sensitive: settable && !locked,
    command: modeCommand(snapshot, mode, tr),
  });
  const other = snapshot?.settings.Mode;
  const unknown = other && ![...MAIN_MODES, ...VARIANTS].includes(other as Mode);
  return {
    groups: [
      {
        id: 'modes',
        title: _('What goes through the tunnel'),
        ...(locked ? { description: _('Your organization decides the mode.') } : {}),
        rows: [
          ...MAIN_MODES.map(radio),
          ...(unknown ? [{ kind: 'fact', id: 'mode-other', title: _('Now'), value: other } as const] : []),
        ],
      },
      protocolGroup(snapshot, settable, tr),
      {
        id: 'variants',
        folded: !VARIANTS.some(mode => mode === other),
        title: _('More ways to encrypt DNS'),
        ...(locked ? { description: _('Your organization decides the mode.') } : {}),
        rows: VARIANTS.map(radio),
      },
      ...rareGroups(snapshot, settable, tr),
    ],
  };
}

function protocolGroup(snapshot: Snapshot | null, settable: boolean, { _ }: Translator): Form['groups'][number] {
  const now = String(snapshot?.settings['WARP tunnel protocol'] ?? snapshot?.tunnel.protocol ?? '');
  const protocol = (value: 'MASQUE' | 'WireGuard', subtitle: string): Row => ({
    kind: 'radio',
    id: `protocol-${value}`,
    title: value,
    subtitle,
    checked: now.toLowerCase().startsWith(value.toLowerCase()),
    sensitive: settable,
    command: actionCommand({ action: 'setProtocol', value, ...toBeConfirmed(snapshot) }),
  });
  return {
    id: 'protocols',
    title: _('Protocol'),
    rows: [
      protocol('MASQUE', _('Looks like web traffic, so most networks let it through.')),
      protocol('WireGuard', _('Uses less power; some networks block it.')),
      {
        kind: 'button',
        id: 'protocol-reset',
        title: _('Default protocol'),
        label: _('Reset'),
        subtitle: _('WARP chooses it automatically'),
        sensitive: settable,
        command: actionCommand({ action: 'resetProtocol', ...toBeConfirmed(snapshot) }),
      },
    ],
  };
}
