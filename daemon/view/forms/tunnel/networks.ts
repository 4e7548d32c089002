// Describes the networks page, with Culvert's rules, WARP's trusted networks and access to the local network.
import type { ClientState } from '../../client/client-state.ts';
import type { RuleEditor } from '../../client/rule-editor.ts';
import { actionCommand, type Form, type Row } from '../../form.ts';
import { timeOfDay } from '../../format.ts';
import type { CurrentNetwork } from '../../host.ts';
import { fill, type Translator } from '../../translator.ts';
import { checks } from '../validate.ts';
import { networkGroups } from './network-rules.ts';

/**
 * @param network null if the desktop does not report it.
 * @param now ms since the epoch
 * @param editor edits the rules; absent if the client can't edit rules
 */
export function networksForm(
  client: ClientState,
  {
    settable,
    network,
    now,
    editor,
  }: { settable: boolean; network: CurrentNetwork | null; now: number; editor?: RuleEditor },
  tr: Translator,
): Form {
  const { _ } = tr;
  const snapshot = client.snapshot;
  const options = snapshot?.options;
  const ssids = options?.trustedSsids ?? null;
  const off = (id: string, title: string, on: boolean, action: 'setTrustedWifi' | 'setTrustedEthernet'): Row => ({
    kind: 'switch',
    id,
    title,
    on,
    sensitive: settable,
    command: actionCommand({ action, value: on ? 'disable' : 'enable' }),
  });
  return {
    groups: [
      ...networkGroups(snapshot?.networks, tr, { snapshot, editor: editor ?? null }),
      ...(network
        ? [{ id: 'current', title: _('This network'), rows: currentRows(network, ssids, settable, tr) }]
        : []),
      {
        id: 'kinds',
        title: _('Turn WARP off on'),
        description: _('WARP stays off where you trust the network.'),
        rows: [
          off('wifi', _('All Wi-Fi networks'), options?.wifiTrusted ?? false, 'setTrustedWifi'),
          off('ethernet', _('All wired networks'), options?.ethernetTrusted ?? false, 'setTrustedEthernet'),
        ],
      },
      { id: 'ssids', title: _('Trusted Wi-Fi'), rows: ssidRows(ssids, settable, tr) },
      {
        id: 'local',
        title: _('Local network'),
        description: options?.localNetwork ?? undefined,
        rows: [localRow(client, settable, now, tr)],
      },
    ],
  };
}

/** Returns a switch if WARP reports the access, or else a button; without an organization, a link to the routes. */
function localRow({ snapshot }: ClientState, settable: boolean, now: number, tr: Translator): Row {
  const { _ } = tr;
  const title = _('Reach printers and devices nearby');
  if (!snapshot?.account.organization)
    return {
      kind: 'link',
      id: 'local',
      title,
      subtitle: _('Networks that bypass WARP can be reached.'),
      page: 'routes',
    };
  const access = snapshot.options.localNetworkAccess;
  if (!access)
    return {
      kind: 'button',
      id: 'local',
      title,
      subtitle: _('WARP doesn’t report whether this is on. It ends automatically.'),
      label: _('Allow'),
      sensitive: settable,
      command: actionCommand({ action: 'allowLocalNetwork' }, { done: _('The local network can be reached') }),
    };
  const { endsAt } = access;
  const on = access.allowed && (endsAt === null || Date.parse(endsAt) > now);
  // Translators: %s is a time of day
  const until = endsAt === null ? _('Ends automatically') : fill(_('On until %s'), timeOfDay(endsAt, false));
  return {
    kind: 'switch',
    id: 'local',
    title,
    subtitle: on ? until : _('For a limited time'),
    on,
    sensitive: settable,
    command: actionCommand({ action: on ? 'stopLocalNetwork' : 'allowLocalNetwork' }),
  };
}

function currentRows({ kind, ssid }: CurrentNetwork, ssids: string[] | null, settable: boolean, tr: Translator): Row[] {
  const { _ } = tr;
  if (kind !== 'wifi' || ssid === null)
    return [
      { kind: 'note', id: 'current', title: kind === 'wired' ? _('Wired network') : _('Another kind of network') },
    ];
  if (ssids === null)
    return [
      {
        kind: 'button',
        id: 'current',
        title: ssid,
        label: _('Trust'),
        sensitive: settable,
        subtitle: _('WARP is off on trusted networks'),
        command: actionCommand(
          { action: 'addTrustedSsid', value: ssid },
          { undo: { kind: 'action', request: { action: 'removeTrustedSsid', value: ssid } }, done: _('Trusted') },
        ),
      },
    ];
  const on = ssids.includes(ssid);
  return [
    {
      kind: 'switch',
      id: 'current',
      title: ssid,
      on,
      sensitive: settable,
      subtitle: on ? _('Trusted: WARP is off here') : _('Not trusted: WARP stays on here'),
      command: actionCommand({ action: on ? 'removeTrustedSsid' : 'addTrustedSsid', value: ssid }),
    },
  ];
}

function ssidRows(ssids: string[] | null, settable: boolean, tr: Translator): Row[] {
  const { _ } = tr;
  const check = checks(tr).ssid;
  const remove = (value: string) =>
    actionCommand(
      { action: 'removeTrustedSsid', value },
      {
        undo: { kind: 'action', request: { action: 'addTrustedSsid', value } },
        done: fill(_('%s removed'), value),
      },
    );
  const reset = {
    heading: _('Forget all trusted Wi-Fi?'),
    body: _('WARP then stays on in all of them.'),
    accept: _('Reset'),
    destructive: true,
  };
  const rows: Row[] = [
    {
      kind: 'entry',
      id: 'ssid-add',
      title: _('Add Wi-Fi name'),
      label: _('Add'),
      sensitive: settable,
      check,
      command: value => actionCommand({ action: 'addTrustedSsid', value }, { done: fill(_('%s is trusted'), value) }),
    },
  ];
  for (const ssid of ssids ?? [])
    rows.push({
      kind: 'item',
      id: `ssid-${ssid}`,
      title: ssid,
      sensitive: settable,
      remove: remove(ssid),
      removeLabel: fill(_('Remove %s'), ssid),
    });
  // without a list from WARP, a name can still be removed by typing it
  if (ssids === null)
    rows.push({
      kind: 'entry',
      id: 'ssid-remove',
      title: _('Remove a Wi-Fi by its name'),
      label: _('Remove'),
      sensitive: settable,
      check,
      command: remove,
    });
  rows.push({
    kind: 'button',
    id: 'ssid-reset',
    title: _('Forget all trusted Wi-Fi'),
    label: _('Reset'),
    sensitive: settable,
    command: actionCommand({ action: 'resetTrustedSsids' }, { confirm: reset }),
  });
  return rows;
}
