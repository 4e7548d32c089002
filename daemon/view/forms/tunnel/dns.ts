// Describes the DNS page, which sets the family filter, fallback domains, Gateway location and query log.
import type { Snapshot } from '../../../api/schema.ts';
import type { ClientState } from '../../client/client-state.ts';
import { DEFAULT_FALLBACK } from '../../default-routes.ts';
import { actionCommand, type Form, type Group, type Row } from '../../form.ts';
import { toBeConfirmed } from '../../states/changes.ts';
import { fill, type Translator } from '../../translator.ts';
import { checks } from '../validate.ts';
import { originName, ownFirst } from './split-tunnel.ts';

export function dnsForm(client: ClientState, settable: boolean, tr: Translator): Form {
  const { _ } = tr;
  const { snapshot } = client;
  const options = snapshot?.options;
  const check = checks(tr);
  const otherFilter = options?.unknown?.find(({ name }) => /families/i.test(name))?.value;
  const family = (value: 'off' | 'malware' | 'full', title: string, subtitle: string): Row => ({
    kind: 'radio',
    id: `families-${value}`,
    title,
    subtitle,
    sensitive: settable,
    checked: options?.families === value,
    command: actionCommand({ action: 'setFamilies', value }),
  });
  return {
    groups: [
      {
        id: 'families',
        title: _('Filter'),
        ...(options?.families === null && otherFilter === undefined
          ? { description: _('WARP does not report which filter is on.') }
          : {}),
        rows: [
          family('off', _('No filter'), _('Blocks nothing.')),
          family('malware', _('Malware'), _('Blocks known dangerous sites.')),
          family('full', _('Malware and adult content'), _('Blocks adult sites as well.')),
          ...(otherFilter === undefined
            ? []
            : [{ kind: 'fact', id: 'families-other', title: _('Now'), value: otherFilter } as const]),
        ],
      },
      fallbackGroup(snapshot, settable, tr),
      {
        id: 'gateway',
        title: _('Gateway'),
        description: _('A DNS location of Cloudflare Zero Trust.'),
        rows: [
          ...(options?.gatewayId
            ? [{ kind: 'fact', id: 'gateway-now', title: _('In use'), value: options.gatewayId } as const]
            : []),
          {
            kind: 'entry',
            id: 'gateway-set',
            title: _('Location ID'),
            label: _('Use'),
            sensitive: settable,
            check: check.gateway,
            command: value => actionCommand({ action: 'setGatewayId', value, ...toBeConfirmed(snapshot) }),
          },
          {
            kind: 'button',
            id: 'gateway-reset',
            title: _('No location'),
            label: _('Reset'),
            sensitive: settable,
            command: actionCommand({ action: 'resetGatewayId', ...toBeConfirmed(snapshot) }),
          },
        ],
      },
      logGroup(settable, tr),
    ],
  };
}

function fallbackGroup(snapshot: Snapshot | null, settable: boolean, tr: Translator): Group {
  const { _ } = tr;
  const domains = snapshot?.options.fallbackDomains ?? [];
  const originOf = (domain: string) =>
    snapshot?.account.managed ? _('Organization') : originName(DEFAULT_FALLBACK.includes(domain), tr);
  const listed = new Set(domains.map(({ domain }) => domain));
  const rows = ownFirst(domains, ({ domain }) => DEFAULT_FALLBACK.includes(domain)).map(
    ({ domain, note }): Row => ({
      kind: 'item',
      id: `fallback-${domain}`,
      title: domain,
      subtitle: [note, originOf(domain)].filter(Boolean).join(' · '),
      sensitive: settable,
      // Translators: %s is a domain
      removeLabel: fill(_('Remove %s'), domain),
      remove: actionCommand(
        { action: 'removeFallbackDomain', value: domain },
        {
          undo: { kind: 'action', request: { action: 'addFallbackDomain', value: domain } },
          done: fill(_('%s removed'), domain),
        },
      ),
    }),
  );
  return {
    id: 'fallback',
    title: _('Domains for your own DNS'),
    description: _('Names that your own DNS servers look up, outside the tunnel.'),
    rows: [
      {
        kind: 'entry',
        id: 'fallback-add',
        title: _('Add a domain'),
        label: _('Add'),
        sensitive: settable,
        placeholder: 'corp.example.com',
        check: text => checks(tr).domain(text) ?? (listed.has(text) ? _('It is already on the list') : null),
        command: value =>
          actionCommand(
            { action: 'addFallbackDomain', value },
            {
              undo: { kind: 'action', request: { action: 'removeFallbackDomain', value } },
              // Translators: %s is a domain
              done: fill(_('%s added'), value),
            },
          ),
      },
      ...rows,
      {
        kind: 'button',
        id: 'fallback-reset',
        title: _('Default list'),
        label: _('Reset'),
        sensitive: settable,
        command: actionCommand(
          { action: 'resetFallbackDomains' },
          {
            confirm: {
              heading: _('Back to the default domains?'),
              body: _('Domains that you added are lost.'),
              accept: _('Reset'),
              destructive: true,
            },
          },
        ),
      },
    ],
  };
}

function logGroup(settable: boolean, { _ }: Translator): Group {
  const row = (value: 'enable' | 'disable', title: string, label: string): Row => ({
    kind: 'button',
    id: `log-${value}`,
    title,
    label,
    sensitive: settable,
    command: actionCommand(
      { action: 'setDnsLog', value },
      { done: value === 'enable' ? _('Logging') : _('Not logging') },
    ),
  });
  return {
    id: 'log',
    title: _('Log of DNS queries'),
    description: _('WARP’s service keeps it, for troubleshooting. It does not report whether it is on.'),
    rows: [row('enable', _('Start logging'), _('Start')), row('disable', _('Stop logging'), _('Stop'))],
  };
}
