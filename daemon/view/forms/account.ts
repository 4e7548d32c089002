// Builds the account page: the plan and the device, then organization, license, removal and devices.
import { teamOf } from '../../api/actions.ts';
import type { Account, Device } from '../../api/schema.ts';
import type { ClientState } from '../client/client-state.ts';
import {
  actionCommand,
  type Command,
  type Form,
  type Group,
  goTo,
  type MenuButton,
  noteForm,
  type Row,
  type Status,
  workCommand,
} from '../form.ts';
import { formatCount } from '../format.ts';
import { type LostRegistration, lostRegistration } from '../states/causes.ts';
import { describeTunnel } from '../states/tunnel.ts';
import { fill, type Translator } from '../translator.ts';
import { setupForm, termsLinks } from './setup.ts';
import { checks } from './validate.ts';

/** The way to join an organization on this computer. */
export interface Joining {
  /** Program that finishes sign-ins: `culvert`, another program, or null; undefined in a browser, where it is unknown. */
  program: string | null | undefined;
  /** Begins to join a team. */
  join(team: string): Promise<unknown>;
}

const ONLY_SHOWN: Joining = { program: undefined, join: async () => {} };

/** @param account the answer of `GET /api/account`, or null before it */
export function accountForm(
  client: ClientState,
  account: Account | null,
  tr: Translator,
  joining: Joining = ONLY_SHOWN,
): Form {
  const { snapshot } = client;
  if (!snapshot) return noteForm(tr._('Not available now'));
  const free = client.pending === null;
  const { blocked } = snapshot.status;
  const registered = snapshot.account.registered && blocked !== 'not-registered';
  const organization = organizationGroup(
    registered === true && snapshot.account.organization !== null,
    free,
    tr,
    joining,
  );
  // before any other step, no user can register the device
  if (!registered && blocked !== null && blocked !== 'not-registered' && blocked !== 'terms-not-accepted') {
    const tunnel = describeTunnel(client, tr);
    return tunnel.setup ? setupForm({ client, tunnel }, tr) : noteForm(tr._('Not available now'));
  }
  if (!registered) return { status: setUpStatus(client, free, tr, joining), groups: [organization] };
  return {
    status: deviceStatus(client, account, tr),
    groups: [
      // the first field of a page must not be secret
      organization,
      licenseGroup(free, tr),
      dangerGroup(client, free, tr),
      // last, since it appears once WARP has answered
      deviceGroup(account, tr),
    ],
  };
}

const waitingText = ({ pending, slow }: ClientState, { _ }: Translator) =>
  pending && slow ? _('Waiting for WARP…') : null;

/** Returns the status that accepts the terms and registers in one step. */
function setUpStatus(client: ClientState, free: boolean, tr: Translator, joining: Joining): Status {
  const { _ } = tr;
  const lost = lostRegistration(client.snapshot!.status, tr);
  return {
    icon: 'culvert-not-registered-symbolic',
    tone: 'warning',
    title: lost?.title ?? _('Set up WARP'),
    sentence: lost?.sentence ?? _('Free, no account needed: this device gets its own keys.'),
    buttons: [lost && lost.offer !== 'register' ? wayOut(lost, free, tr, joining) : setUpButton(client, free, tr)],
    waiting: waitingText(client, tr),
  };
}

/** Returns the button for a device that the user can't register as a private one: to sign in, or the checks with the fix. */
function wayOut(
  { offer, organization }: LostRegistration,
  free: boolean,
  { _ }: Translator,
  { join }: Pick<Joining, 'join'>,
): MenuButton {
  if (offer !== 'join' || organization === null) return { label: _('Run Checks'), command: goTo('checks') };
  const command = workCommand(() => join(organization));
  return { label: _('Sign In…'), style: 'suggested', sensitive: free, command };
}

function setUpButton({ snapshot }: ClientState, free: boolean, tr: Translator): MenuButton {
  const { _ } = tr;
  const command =
    snapshot?.status.blocked === 'terms-not-accepted'
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
      : actionCommand({ action: 'register' });
  return { label: _('Set Up'), style: 'suggested', sensitive: free, command };
}

/** Returns the status with the plan, the organization and the name of this device. */
function deviceStatus(client: ClientState, account: Account | null, tr: Translator): Status {
  const { organization, type } = client.snapshot!.account;
  const own = account?.devices.find(({ deviceId }) => deviceId === account.deviceId);
  const lost = lostRegistration(client.snapshot!.status, tr);
  if (lost)
    return {
      icon: 'culvert-not-registered-symbolic',
      tone: 'warning',
      title: lost.title,
      sentence: [lost.sentence, type].filter(Boolean).join(' · '),
      buttons: [{ label: tr._('Run Checks'), command: goTo('checks') }],
      waiting: waitingText(client, tr),
    };
  return {
    icon: 'culvert-account-symbolic',
    tone: 'neutral',
    title: type ?? tr._('This device'),
    sentence: [organization, own && deviceName(own)].filter(Boolean).join(' · ') || tr._('This device is registered.'),
    buttons: [],
    waiting: waitingText(client, tr),
  };
}

const deviceName = ({ name, model, deviceId }: Device) => name ?? model ?? deviceId;

/** Returns the command that begins to join a team. */
export function joinCommand(team: string): Command {
  return actionCommand({ action: 'registerOrganization', value: teamOf(team) });
}

/** @param isMember true for a device of an organization, which rarely joins another one */
function organizationGroup(isMember: boolean, free: boolean, tr: Translator, { program, join }: Joining): Group {
  const { _ } = tr;
  const title = isMember ? _('Join another organization') : _('Join an organization');
  const check = checks(tr);
  const opens = _('A browser opens for the sign-in.');
  const finishes =
    program === undefined
      ? opens
      : program === null || program === 'culvert'
        ? _('A browser opens for the sign-in, and Culvert finishes it.')
        : // Translators: %s is the name of a program
          fill(_('A browser opens for the sign-in. From now on Culvert finishes sign-ins, not “%s”.'), program);
  return {
    id: 'organization',
    title,
    folded: isMember,
    description: finishes,
    rows: [
      {
        kind: 'entry',
        id: 'team',
        title: _('Team name'),
        label: _('Sign In…'),
        name: `${title}: ${_('Sign In…')}`,
        sensitive: free,
        placeholder: 'example',
        check: check.team,
        command: team => workCommand(() => join(team)),
      },
      {
        kind: 'expander',
        id: 'by-hand',
        title: _('The browser did not come back?'),
        subtitle: _('Paste the address of its last page.'),
        rows: [
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
        ],
      },
    ],
  };
}

function deviceGroup(account: Account | null, tr: Translator): Group {
  const { _ } = tr;
  const fact = (id: string, title: string, value: string | null | undefined, copy = false): Row[] =>
    value ? [{ kind: 'fact', id, title, value, copy }] : [];
  return {
    id: 'account',
    title: _('This device'),
    rows: [
      ...fact('license', _('License'), account?.license),
      ...fact('device', _('Device ID'), account?.deviceId, true),
      ...(account?.devices.length ? [devicesRow(account, tr)] : []),
    ],
  };
}

/** Returns the expander with the devices of the account. */
function devicesRow({ devices, deviceId: own }: Account, tr: Translator): Row {
  const { _, ngettext } = tr;
  return {
    kind: 'expander',
    id: 'devices',
    title: fill(ngettext('%d device', '%d devices', devices.length), formatCount(devices.length, tr)),
    rows: devices.map(device => {
      const { deviceId, model, os, active } = device;
      const facts = [deviceId === own ? _('This device') : null, model, os, active ? _('active') : null];
      return {
        kind: 'note',
        id: `device-${deviceId}`,
        title: deviceName(device),
        subtitle: facts.filter(Boolean).join(' · '),
      };
    }),
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
