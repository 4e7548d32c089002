// Describes the page for each thing that must be set up before a tunnel is possible, with its one action.
import type { Blocked as Setup } from '../../api/schema.ts';
import type { LostRegistration } from '../states/causes.ts';
import { setupText } from '../states/labels.ts';
import type { Translator } from '../translator.ts';
import { actionCommand, type Command, goTo } from './form.ts';

export interface SetupView {
  icon: string;
  title: string;
  description: string;
  /** The main button, and quieter ones below it. */
  buttons: { label: string; command: Command }[];
  links: { label: string; uri: string }[];
  /** For a terminal. */
  commands: { purpose: string; command: string }[];
}

/** Cloudflare's legal pages. */
export function termsLinks({ _ }: Translator): { label: string; uri: string }[] {
  return [
    { label: _('Terms of Service'), uri: 'https://www.cloudflare.com/application/terms/' },
    { label: _('Privacy Policy'), uri: 'https://www.cloudflare.com/application/privacypolicy/' },
  ];
}

/**
 * Page of one set-up step, in the language of `tr`. Addresses: Cloudflare's package site and legal pages.
 * @param lost why a device that was registered is not anymore
 * @param version the installed client's
 */
export function setupView(
  setup: Setup,
  tr: Translator,
  lost: LostRegistration | null = null,
  version: string | null = null,
): SetupView {
  const { _ } = tr;
  const none = { icon: `culvert-${setup}-symbolic`, links: [], commands: [] };
  const guide = {
    label: _('Installation Guide'),
    command: { ask: { kind: 'open', uri: 'https://pkg.cloudflareclient.com/' } },
  } as const;
  const join = { label: _('Join an Organization…'), command: goTo('account') };
  switch (setup) {
    case 'cli-missing':
      return {
        ...none,
        title: _('Cloudflare WARP is not installed'),
        description: _(
          'Culvert controls the official WARP client, which is a separate package. Install it to continue.',
        ),
        buttons: [guide],
        commands: [{ purpose: _('Or try the demo, which tunnels nothing:'), command: 'culvert stop; culvert --demo' }],
      };
    case 'cli-too-old':
      return {
        ...none,
        icon: 'culvert-cli-missing-symbolic',
        title: _('Cloudflare WARP is too old'),
        description: setupText(setup, tr, version),
        buttons: [guide],
      };
    case 'service-stopped':
      return {
        ...none,
        title: _('The WARP service is not running'),
        description: _('It does the tunneling. An administrator’s password may be asked for.'),
        buttons: [
          { label: _('Start the Service'), command: { ask: { kind: 'client', task: 'start-service' } } },
          { label: _('Run Checks'), command: goTo('checks') },
        ],
        commands: [{ purpose: _('Or in a terminal:'), command: 'sudo systemctl enable --now warp-svc' }],
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
        buttons: [{ label: _('Set Up'), command: actionCommand({ action: 'register' }) }, join],
      };
    case 'not-authorized':
      return {
        ...none,
        title: _('You can’t change WARP on this computer'),
        description: _('Another user set up WARP here, or your organization manages it.'),
        buttons: [
          { label: _('Open Account'), command: goTo('account') },
          { label: _('Show Log'), command: goTo('log') },
        ],
      };
  }
}
