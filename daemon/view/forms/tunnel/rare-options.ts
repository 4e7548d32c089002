// Describes options of the tunnel that few people need: versions of HTTP for MASQUE, virtual networks, environment.
import type { ChangeOptions } from '../../../api/changes.ts';
import type { Snapshot, VirtualNetworks } from '../../../api/schema.ts';
import { actionCommand, type Command, type Group, type Row } from '../../form.ts';
import type { Translator } from '../../translator.ts';
import { checks } from '../validate.ts';
import { toBeConfirmed } from './to-be-confirmed.ts';

export function rareGroups(snapshot: Snapshot | null, settable: boolean, tr: Translator): Group[] {
  const { _ } = tr;
  const options = snapshot?.options;
  const button = buttonRow(settable);
  return [
    {
      id: 'masque',
      folded: true,
      title: 'MASQUE',
      rows: [
        ...masque(tr).map(
          ({ value, versions, title, subtitle }): Row => ({
            kind: 'radio',
            id: `masque-${value}`,
            title,
            subtitle,
            // WARP prints such as: MASQUE (HTTP/3 with HTTP/2 fallback)
            checked: (options?.masque ?? '').match(/HTTP\/[23]/g)?.join() === versions,
            sensitive: settable,
            command: actionCommand({ action: 'setMasqueOptions', value, ...limit(snapshot, options?.masque) }),
          }),
        ),
        button(
          'masque-reset',
          _('Default'),
          _('Reset'),
          actionCommand({ action: 'resetMasqueOptions', ...limit(snapshot, options?.masque) }),
        ),
      ],
    },
    {
      id: 'organization',
      folded: true,
      title: _('Organization'),
      rows: [
        ...virtualNetworkRows(options?.virtualNetworks ?? null, settable, tr),
        ...valueRow(tr, 'environment-now', options?.environment),
        button(
          'environment-fed',
          _('FedRAMP High environment'),
          _('Use'),
          actionCommand({ action: 'setEnvironment', value: 'FedRAMP-High' }),
        ),
        button('environment-normal', _('Normal environment'), _('Use'), actionCommand({ action: 'resetEnvironment' })),
      ],
    },
  ];
}

/** @returns what makes rows with a button, which can be used while the tunnel can be set */
export function buttonRow(sensitive: boolean) {
  return (id: string, title: string, label: string, command: Command): Row => ({
    kind: 'button',
    id,
    title,
    label,
    command,
    sensitive,
  });
}

/** The row of a present value; empty if it is not set. */
export function valueRow({ _ }: Translator, id: string, value: string | null | undefined): Row[] {
  return value ? [{ kind: 'fact', id, title: _('Now'), value }] : [];
}

/** A change can revert only where the present value was read. */
export function limit(snapshot: Snapshot | null, now: string | number | null | undefined): ChangeOptions {
  return now == null ? {} : toBeConfirmed(snapshot);
}

function masque({ _ }: Translator) {
  return [
    {
      value: 'h3-with-h2-fallback',
      versions: 'HTTP/3,HTTP/2',
      title: _('HTTP/3, else HTTP/2'),
      subtitle: _('Fast, and works where UDP is blocked'),
    },
    { value: 'h3-only', versions: 'HTTP/3', title: _('HTTP/3 only'), subtitle: _('Needs UDP') },
    { value: 'h2-only', versions: 'HTTP/2', title: _('HTTP/2 only'), subtitle: _('For networks that block UDP') },
  ] as const;
}

/** The virtual networks to choose from; a field for the ID of one where WARP does not list them. */
function virtualNetworkRows(networks: VirtualNetworks | null, settable: boolean, tr: Translator): Row[] {
  const { _ } = tr;
  const use = (value: string) => actionCommand({ action: 'setVirtualNetwork', value });
  if (!networks)
    return [
      {
        kind: 'entry',
        id: 'vnet',
        title: _('Virtual network'),
        label: _('Use'),
        sensitive: settable,
        check: checks(tr).identifier,
        command: use,
      },
    ];
  return networks.networks.map(({ id, name }) => ({
    kind: 'radio',
    id: `vnet-${id}`,
    title: name || id,
    subtitle: _('Virtual network'),
    sensitive: settable,
    checked: id === networks.active,
    command: use(id),
  }));
}
