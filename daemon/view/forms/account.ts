// Builds the account page, with setup, organization, license, devices and removal.
import { teamOf } from '../../api/actions.ts';
import type { Account } from '../../api/schema.ts';
import type { ClientState } from '../client/client-state.ts';
import { actionCommand, clientCommand, type Form, type Group, noteForm, type Row } from '../form.ts';
import { lostRegistration } from '../states/causes.ts';
import { fill, type Translator } from '../translator.ts';
import { termsLinks } from './setup.ts';
import { checks } from './validate.ts';

/**
 * @param account the answer of `GET /api/account`, or null before it.
 * @param program the program that finishes sign-ins on this desktop: `culvert`, another program, or null; undefined in a
 *   browser, where it is unknown
 */
export function accountForm(
  client: ClientState,
  account: Account | null,
  tr: Translator,
  program?: string | null,
): Form {
  const { _ } = tr;
  const snapshot = client.snapshot;
  const free = snapshot !== null && client.pending === null;
  const registered = snapshot?.account.registered === true && snapshot.status.blocked !== 'not-registered';
  const lost = snapshot && lostRegistration(snapshot.status, tr);
  if (!snapshot) return noteForm(_('Not available now'));
  return {
    groups: registered
      ? [
          statusGroup(client, account, tr),
          // the first field of a page must not be secret
          organizationGroup(free, tr, program),
          licenseGroup(free, tr),
          dangerGroup(client, free, tr),
        ]
      : [
          lost?.byToken
            ? { id: 'setup', title: lost.title, rows: [{ kind: 'note', id: 'token', title: lost.sentence }] }
            : setUpGroup(client, free, tr),
          organizationGroup(free, tr, program),
        ],
  };
}

/** Returns the group that accepts the terms and registers in one step. */
function setUpGroup(client: ClientState, free: boolean, tr: Translator): Group {
  const { _ } = tr;
  const terms = client.snapshot?.status.blocked === 'terms-not-accepted';
  return {
    id: 'setup',
    title: _('Set up WARP'),
    rows: [
      {
        kind: 'button',
        id: 'setup',
        title: _('Free, no account needed'),
        label: _('Set Up'),
        style: 'suggested',
        subtitle: _('This device gets its own keys; no e-mail address, no password.'),
        sensitive: free,
        busy: client.pending === 'register' || client.pending === 'acceptTerms',
        command: terms
          ? actionCommand(
              { action: 'acceptTerms' },
              {
                confirm: {
                  heading: _('Agree to Cloudflare’s terms?'),
                  body: _('To use WARP you must agree to Cloudflare’s terms. This device is then registered.'),
                  accept: _('Agree'),
                  links: termsLinks(tr),
                },
              },
            )
          : actionCommand({ action: 'register' }),
      },
    ],
  };
}

function organizationGroup(free: boolean, tr: Translator, program: string | null | undefined): Group {
  const { _ } = tr;
  const check = checks(tr);
  return {
    id: 'organization',
    title: _('Join an organization'),
    description:
      program === 'culvert'
        ? _('1. Enter the team’s name.\n2. Sign in with the browser.')
        : _('1. Enter the team’s name.\n2. Sign in with the browser.\n3. Paste the address of the last page.'),
    rows: [
      {
        kind: 'entry',
        id: 'team',
        title: _('Team name'),
        label: _('Join'),
        sensitive: free,
        check: check.team,
        command: value => actionCommand({ action: 'registerOrganization', value: teamOf(value) }),
      },
      {
        kind: 'entry',
        id: 'token',
        title: _('Address from the browser'),
        label: _('Finish'),
        sensitive: free,
        placeholder: 'com.cloudflare.warp://…',
        secret: true,
        check: check.token,
        command: value => actionCommand({ action: 'setRegistrationToken', value }),
      },
      ...(program === undefined || program === 'culvert' ? [] : [handOverRow(program, tr)]),
    ],
  };
}

/** Returns the row that makes Culvert finish sign-ins. Another program finishes them until the user changes that. */
function handOverRow(program: string | null, { _ }: Translator): Row {
  return {
    kind: 'button',
    id: 'hand-over',
    title: _('Finish sign-ins without pasting'),
    // Translators: %s is the name of a program
    subtitle:
      program === null ? _('The browser hands the address to Culvert.') : fill(_('Now “%s” handles them.'), program),
    label: _('Use Culvert'),
    command: clientCommand('handle-sign-in', { done: _('Culvert finishes sign-ins now') }),
  };
}

function statusGroup(client: ClientState, account: Account | null, { _ }: Translator): Group {
  const registration = client.snapshot!.account;
  const fact = (id: string, title: string, value: string | null | undefined, copy = false): Row[] =>
    value ? [{ kind: 'fact', id, title, value, copy }] : [];
  return {
    id: 'account',
    title: _('This device'),
    rows: [
      ...fact('type', _('Plan'), registration.type),
      ...fact('org', _('Organization'), registration.organization),
      ...fact('license', _('License'), account?.license),
      ...fact('device', _('Device ID'), account?.deviceId, true),
      ...(account?.devices ?? []).map(
        (device): Row => ({
          kind: 'note',
          id: `device-${device.deviceId}`,
          title: device.name ?? device.model ?? device.deviceId,
          subtitle: [device.model, device.os, device.active ? _('active') : null].filter(Boolean).join(' · '),
        }),
      ),
    ],
  };
}

function licenseGroup(free: boolean, tr: Translator): Group {
  const { _ } = tr;
  return {
    id: 'license',
    title: _('License'),
    description: _('Your WARP+ key (phone app: Account)'),
    rows: [
      {
        kind: 'entry',
        id: 'license-set',
        title: _('License key'),
        label: _('Apply'),
        sensitive: free,
        secret: true,
        check: checks(tr).license,
        command: value => actionCommand({ action: 'setLicense', value }),
      },
    ],
  };
}

function dangerGroup(client: ClientState, free: boolean, tr: Translator): Group {
  const { _ } = tr;
  const { options, account } = client.snapshot!;
  const lock: Row[] = [
    {
      kind: 'entry',
      id: 'override',
      title: _('Override code from your administrator'),
      label: _('Unlock'),
      secret: true,
      sensitive: free,
      check: checks(tr).code,
      command: value => actionCommand({ action: 'setOverrideCode', value }, { done: _('Unlocked for a while') }),
    },
  ];
  return {
    id: 'danger',
    title: _('Security'),
    rows: [
      ...(options.switchLocked || options.modeLocked || account.managed ? lock : []),
      {
        kind: 'button',
        id: 'rotate',
        title: _('Replace keys'),
        label: _('Replace'),
        sensitive: free,
        command: actionCommand({ action: 'rotateKeys' }),
      },
      {
        kind: 'button',
        id: 'delete',
        title: _('Remove this device'),
        label: _('Remove…'),
        style: 'destructive',
        subtitle: _('Deletes its registration with Cloudflare'),
        sensitive: free,
        command: actionCommand(
          { action: 'deleteRegistration' },
          {
            confirm: {
              heading: _('Remove this device?'),
              body: fill(_('The tunnel goes down until WARP is set up again. %s'), options.organization ?? '').trim(),
              accept: _('Remove'),
              destructive: true,
            },
          },
        ),
      },
    ],
  };
}
