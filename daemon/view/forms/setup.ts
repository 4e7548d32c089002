// Describes the page that a client shows while setup is incomplete and no tunnel is possible.
import type { Blocked as Setup, TunnelCli } from '../../api/schema.ts';
import { DEMO_RESET, setupText } from '../client/labels.ts';
import { serviceCommand, serviceSentence } from '../client/service-words.ts';
import { actionCommand, type Button, type Form, goTo, type MenuButton, type Row } from '../form.ts';
import { wordMessage } from '../message.ts';
import { type LostRegistration, serviceRemedy } from '../states/causes.ts';
import type { Translator } from '../translator.ts';
import type { View } from '../view.ts';

export interface SetupView {
  icon: string;
  title: string;
  description: string;
  /** The main button first, then at most one secondary button. */
  buttons: Button[];
  links: { label: string; uri: string }[];
  /** Commands to run in a terminal. */
  commands: { purpose: string; command: string }[];
}

type ShownCli = Pick<TunnelCli, 'version' | 'installCommand' | 'serviceManager'> & Partial<Pick<TunnelCli, 'emulated'>>;

/** Returns links to Cloudflare's legal pages. */
export function termsLinks({ _ }: Translator): { label: string; uri: string }[] {
  return [
    { label: _('Terms of Service'), uri: 'https://www.cloudflare.com/application/terms/' },
    { label: _('Privacy Policy'), uri: 'https://www.cloudflare.com/application/privacypolicy/' },
  ];
}

/** Says what a stopped service means, and that its button may ask for a password. */
function stoppedText(cli: ShownCli | null, { _ }: Translator): string {
  if (cli?.emulated) return _('The demo simulates this failure.');
  return cli?.serviceManager
    ? _('Without it there is no tunnel.')
    : _('Without it there is no tunnel. You may be asked for an administrator’s password.');
}

/** Builds the page of the missing setup step, in the skeleton of the connection page. */
export function setupForm({ client, tunnel }: Pick<View, 'client' | 'tunnel'>, tr: Translator): Form {
  const cli = client.snapshot?.tunnelCli ?? null;
  const { icon, title, description, buttons, links, commands } = setupView(tunnel.setup!, tr, tunnel.lost, cli);
  const [main, ...others] = buttons.map((button): MenuButton => ({ ...button, sensitive: client.pending === null }));
  return {
    status: {
      icon,
      tone: 'warning',
      title,
      sentence: description,
      // the skeleton of the other states
      line: null,
      buttons: [...(main ? [{ ...main, style: 'suggested' as const }] : []), ...others],
      waiting: tunnel.waiting,
      details: tunnel.details,
    },
    groups: [
      {
        id: 'setup',
        rows: [
          ...links.map(
            ({ label, uri }): Row => ({
              kind: 'button',
              id: `open-${uri}`,
              title: label,
              label: tr._('Open'),
              command: { ask: { kind: 'open', uri } },
            }),
          ),
          ...commands.map(
            ({ purpose, command }, i): Row => ({ kind: 'shell', id: `command-${i}`, title: purpose, shell: command }),
          ),
        ],
      },
    ],
  };
}

/**
 * Describes the page of one setup step. Its links lead to Cloudflare's package site and legal pages.
 * @param lost why the device lost its registration
 * @param cli the installed client
 */
export function setupView(
  setup: Setup,
  tr: Translator,
  lost: LostRegistration | null = null,
  cli: ShownCli | null = null,
): SetupView {
  const { _ } = tr;
  const none = { icon: `culvert-${setup}-symbolic`, links: [], commands: [] };
  const join = { label: _('Join an Organization…'), command: goTo('account') };
  const demo: Button = { label: _('Try the Demo'), command: { ask: { kind: 'restart', demo: true } } };
  const installing = installingView(cli?.installCommand, tr);
  switch (setup) {
    case 'cli-missing':
      return {
        ...none,
        title: _('Cloudflare WARP is not installed'),
        description: _('Culvert controls the official WARP client, which is a separate package.'),
        ...installing,
        buttons: [...installing.buttons, demo],
      };
    case 'cli-too-old':
      return {
        ...none,
        icon: 'culvert-cli-missing-symbolic',
        title: _('Cloudflare WARP is too old'),
        description: setupText(setup, tr, cli?.version ?? null),
        ...installing,
      };
    case 'service-stopped':
      return {
        ...none,
        title: _('The WARP service is not running'),
        description: stoppedText(cli, tr),
        ...serviceView('start', cli, tr),
      };
    case 'service-hangs':
      return {
        ...none,
        icon: 'culvert-service-stopped-symbolic',
        title: _('The WARP service does not answer'),
        description: cli?.emulated ? _('The demo simulates this failure.') : setupText(setup, tr),
        ...serviceView('restart', cli, tr),
      };
    case 'terms-not-accepted':
      return {
        ...none,
        title: _('Set up WARP'),
        description: _('To use WARP you must agree to Cloudflare’s terms. It is free, and no account is needed.'),
        links: termsLinks(tr),
        buttons: [{ label: _('Agree and Set Up'), command: actionCommand({ action: 'acceptTerms' }) }, join],
      };
    case 'not-registered':
      return {
        ...none,
        title: lost?.title ?? _('Set up WARP'),
        description: lost?.sentence ?? _('Free, no account needed: this device gets its own keys.'),
        buttons: registrationButtons(lost, join, tr),
      };
    case 'not-authorized':
      return {
        ...none,
        title: _('You can’t change WARP here'),
        description: _('Another user set up WARP here, or your organization manages it.'),
        buttons: [
          { label: _('Open Account'), command: goTo('account') },
          { label: _('Show Log'), command: goTo('log') },
        ],
      };
  }
}

/** Offers what can register the device: on a computer that an organization manages, never a consumer's registration. */
function registrationButtons(lost: LostRegistration | null, join: Button, { _ }: Translator): Button[] {
  const checks = { label: _('Run Checks'), command: goTo('checks') };
  if (!lost || lost.offer === 'register')
    return [{ label: _('Set Up'), command: actionCommand({ action: 'register' }) }, join];
  return lost.offer === 'join' ? [join, checks] : [{ label: _('Open Account'), command: goTo('account') }, checks];
}

/** Offers to start or restart WARP's service; without systemd, only in a terminal. */
function serviceView(
  verb: 'start' | 'restart',
  cli: ShownCli | null,
  tr: Translator,
): Pick<SetupView, 'buttons' | 'commands'> {
  const { _ } = tr;
  const manager = cli?.serviceManager;
  const checks = { label: _('Run Checks'), command: goTo('checks') };
  if (cli?.emulated)
    return {
      buttons: [checks],
      commands: [{ purpose: _('To end it, run this in a terminal:'), command: DEMO_RESET }],
    };
  return {
    buttons: !manager ? [serviceRemedy(verb, cli ?? {}, tr), checks] : [checks],
    commands: [
      {
        purpose: manager ? wordMessage(serviceSentence(verb, manager), tr) : _('Or in a terminal:'),
        command: serviceCommand(verb, manager),
      },
    ],
  };
}

/** Offers the command that installs WARP, to copy, and Cloudflare's guide. */
function installingView(
  shell: string | undefined,
  { _ }: Translator,
): Pick<SetupView, 'buttons' | 'links' | 'commands'> {
  const guide = { label: _('Installation Guide'), uri: 'https://pkg.cloudflareclient.com/' };
  if (shell === undefined) {
    const open = { label: guide.label, command: { ask: { kind: 'open', uri: guide.uri } } } as const;
    return { buttons: [open], links: [], commands: [] };
  }
  const copy: Button = {
    label: _('Copy Command'),
    command: { ask: { kind: 'copy', text: shell }, done: _('Copied. Paste it into a terminal.') },
  };
  const commands = [{ purpose: _('To install it, run this in a terminal:'), command: shell }];
  return { buttons: [copy], links: [guide], commands };
}
