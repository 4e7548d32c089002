// Describes the page of the server, the port of the proxy, and the reset.
import type { ClientState } from '../../client/client-state.ts';
import { actionCommand, type Form, type Row } from '../../form.ts';
import type { Translator } from '../../translator.ts';
import { checks } from '../validate.ts';
import { buttonRow, limit, valueRow } from './rare-options.ts';
import { toBeConfirmed } from './to-be-confirmed.ts';

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
            _('Choose automatically'),
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
    ],
  };
}
