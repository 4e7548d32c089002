// Describes the page of what few people need: endpoint, MASQUE, port of the proxy, virtual network, environment, reset.
import type { ChangeOptions } from '../../../api/schema/changes.ts';
import type { Snapshot, VirtualNetworks } from '../../../api/schema.ts';
import type { ClientState } from '../../client/client-state.ts';
import type { Translator } from '../../translator.ts';
import { actionCommand, type Command, type Form, type Row } from '../form.ts';
import { checks } from '../validate.ts';
import { toBeConfirmed } from './modes.ts';

export function advancedForm(client: ClientState, settable: boolean, tr: Translator): Form {
  const { _ } = tr;
  const known = client.snapshot;
  const options = known?.options;
  const check = checks(tr);
  const button = (id: string, title: string, label: string, command: Command): Row => ({
    kind: 'button',
    id,
    title,
    label,
    command,
    sensitive: settable,
  });
  const now = (id: string, value: string | null | undefined): Row[] =>
    value ? [{ kind: 'fact', id, title: _('Now'), value }] : [];
  return {
    groups: [
      {
        id: 'proxy',
        title: _('Local proxy'),
        rows: [
          {
            kind: 'entry',
            id: 'proxy-port',
            title: _('Port'),
            label: _('Use'),
            sensitive: settable,
            placeholder: String(known?.tunnel.proxyPort ?? 40_000),
            check: check.port,
            command: value =>
              actionCommand(
                { action: 'setProxyPort', value, ...limit(known, 'proxyPort') },
                { done: _('Port changed') },
              ),
          },
        ],
      },
      {
        id: 'endpoint',
        title: _('Server'),
        description: _('WARP finds the best server by itself. Set one only where that fails.'),
        rows: [
          ...now('endpoint-now', options?.endpoint),
          {
            kind: 'entry',
            id: 'endpoint-set',
            title: _('Address and port'),
            label: _('Use'),
            sensitive: settable,
            placeholder: '162.159.198.2:443',
            check: check.endpoint,
            command: value =>
              actionCommand({ action: 'setEndpoint', value, ...toBeConfirmed(known) }, { done: _('Server set') }),
          },
          button(
            'endpoint-reset',
            _('Choose automatically'),
            _('Reset'),
            actionCommand({ action: 'resetEndpoint', ...toBeConfirmed(known) }),
          ),
        ],
      },
      {
        id: 'masque',
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
              command: actionCommand({ action: 'setMasqueOptions', value, ...limit(known, 'masque') }),
            }),
          ),
          button(
            'masque-reset',
            _('Default'),
            _('Reset'),
            actionCommand({ action: 'resetMasqueOptions', ...limit(known, 'masque') }),
          ),
        ],
      },
      {
        id: 'organization',
        title: _('Organization'),
        rows: [
          ...virtualNetworkRows(options?.virtualNetworks ?? null, settable, tr),
          ...now('environment-now', options?.environment),
          button(
            'environment-fed',
            _('FedRAMP High environment'),
            _('Use'),
            actionCommand({ action: 'setEnvironment', value: 'FedRAMP-High' }),
          ),
          button(
            'environment-normal',
            _('Normal environment'),
            _('Use'),
            actionCommand({ action: 'resetEnvironment' }),
          ),
        ],
      },
      {
        id: 'reset',
        title: _('Reset'),
        rows: [
          {
            ...button('reset', _('Reset all settings of WARP'), _('Reset…'), {
              ask: { kind: 'action', request: { action: 'resetSettings' } },
              confirm: {
                heading: _('Reset all settings of WARP?'),
                body: _('Mode, routes, DNS and trusted networks go back to their defaults. The registration stays.'),
                accept: _('Reset'),
                destructive: true,
              },
            }),
            style: 'destructive',
          } as Row,
        ],
      },
    ],
  };
}

/** A change can revert only where the present value was read. */
function limit(known: Snapshot | null, what: 'masque' | 'proxyPort'): ChangeOptions {
  const now = what === 'masque' ? known?.options.masque : known?.tunnel.proxyPort;
  return now == null ? {} : toBeConfirmed(known);
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
function virtualNetworkRows(known: VirtualNetworks | null, settable: boolean, tr: Translator): Row[] {
  const { _ } = tr;
  const use = (value: string) => actionCommand({ action: 'setVirtualNetwork', value });
  if (!known)
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
  return known.networks.map(({ id, name }) => ({
    kind: 'radio',
    id: `vnet-${id}`,
    title: name || id,
    subtitle: _('Virtual network'),
    sensitive: settable,
    checked: id === known.active,
    command: use(id),
  }));
}
