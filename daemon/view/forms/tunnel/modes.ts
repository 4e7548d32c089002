// Describes the page of modes, and the advanced page with the server and options that few people need.
import type { ChangeOptions } from '../../../api/changes.ts';
import type { Mode, Snapshot, VirtualNetworks } from '../../../api/schema.ts';
import type { ClientState } from '../../client/client-state.ts';
import { modeName } from '../../client/labels.ts';
import { actionCommand, type Command, type Form, type Group, type Row } from '../../form.ts';
import { MAIN_MODES, toBeConfirmed, VARIANTS } from '../../states/changes.ts';
import { isHttp2Only, knowsHttp2, versionsIn } from '../../states/http2.ts';
import type { Translator } from '../../translator.ts';
import { checks } from '../validate.ts';
import { modeCommand } from './choose-mode.ts';

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

export function advancedForm(client: ClientState, settable: boolean, tr: Translator): Form {
  const { _ } = tr;
  const snapshot = client.snapshot;
  const options = snapshot?.options;
  const check = checks(tr);
  const button = buttonRow(settable);
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
            placeholder: String(snapshot?.tunnel.proxyPort ?? 40_000),
            check: check.port,
            command: value =>
              actionCommand(
                { action: 'setProxyPort', value, ...limit(snapshot, snapshot?.tunnel.proxyPort) },
                { done: _('Port changed') },
              ),
          },
        ],
      },
      {
        id: 'endpoint',
        title: _('Server'),
        description: _('WARP finds the best server automatically. Set one only if that fails.'),
        rows: [
          ...valueRow(tr, 'endpoint-now', options?.endpoint),
          {
            kind: 'entry',
            id: 'endpoint-set',
            title: _('Address and port'),
            label: _('Use'),
            sensitive: settable,
            placeholder: '162.159.198.2:443',
            check: check.endpoint,
            command: value =>
              actionCommand({ action: 'setEndpoint', value, ...toBeConfirmed(snapshot) }, { done: _('Server set') }),
          },
          button(
            'endpoint-reset',
            _('Server: automatic'),
            _('Reset'),
            actionCommand({ action: 'resetEndpoint', ...toBeConfirmed(snapshot) }),
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
      ...unknownGroup(options?.unknown ?? [], tr),
    ],
  };
}

/** Returns the settings that Culvert does not know, in WARP's own words; no group without any. */
function unknownGroup(unknown: NonNullable<Snapshot['options']['unknown']>, { _ }: Translator): Group[] {
  if (unknown.length === 0) return [];
  const rows = unknown.map(({ name, value }, at): Row => ({ kind: 'fact', id: `unknown-${at}`, title: name, value }));
  return [
    {
      id: 'unknown',
      title: _('Not known to Culvert'),
      description: _('WARP reports these settings. This version of Culvert shows them as they are.'),
      rows,
    },
  ];
}

function rareGroups(snapshot: Snapshot | null, settable: boolean, tr: Translator): Group[] {
  const { _ } = tr;
  const options = snapshot?.options;
  const button = buttonRow(settable);
  const hasHttp2 = !snapshot || knowsHttp2(snapshot);
  return [
    ...(hasHttp2 ? [masqueGroup(snapshot, settable, tr)] : []),
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

/** Returns the HTTP versions of MASQUE; HTTP/2 needs no UDP. */
function masqueGroup(snapshot: Snapshot | null, settable: boolean, tr: Translator): Group {
  const options = snapshot?.options;
  const button = buttonRow(settable);
  return {
    id: 'masque',
    folded: !(snapshot && isHttp2Only(snapshot)),
    title: 'MASQUE',
    rows: [
      ...masque(tr).map(
        ({ value, versions, title, subtitle }): Row => ({
          kind: 'radio',
          id: `masque-${value}`,
          title,
          subtitle,
          checked: versionsIn(options?.masque) === versions,
          sensitive: settable,
          command: actionCommand({ action: 'setMasqueOptions', value, ...limit(snapshot, options?.masque) }),
        }),
      ),
      button(
        'masque-reset',
        tr._('Default'),
        tr._('Reset'),
        actionCommand({ action: 'resetMasqueOptions', ...limit(snapshot, options?.masque) }),
      ),
    ],
  };
}

/** Returns a function that builds button rows, all enabled or all disabled. */
function buttonRow(sensitive: boolean) {
  return (id: string, title: string, label: string, command: Command): Row => ({
    kind: 'button',
    id,
    title,
    label,
    command,
    sensitive,
  });
}

/** Returns the row of a present value; empty if it is not set. */
function valueRow({ _ }: Translator, id: string, value: string | null | undefined): Row[] {
  return value ? [{ kind: 'fact', id, title: _('Now'), value }] : [];
}

/** Returns the option to revert a change, which needs a known present value. */
function limit(snapshot: Snapshot | null, now: string | number | null | undefined): ChangeOptions {
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

/** Returns the virtual networks to choose from, or a field for an ID if WARP does not list them. */
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
