// Pure: the page for each thing that must be done before a tunnel is possible, with its one action.
import type { ActionName, Blocked } from '../daemon/api/schema.ts';
import type { Words } from './words.ts';

export interface BlockedPage {
  icon: string;
  title: string;
  description: string;
  /** Commands for a terminal, each with what it is for. */
  commands: { purpose: string; command: string }[];
  links: { label: string; uri: string }[];
  /** At most one of these two. */
  action: { label: string; name: ActionName; confirm: { heading: string; body: string; accept: string } | null } | null;
  open: { label: string; uri: string } | null;
}

/** Page of one blocked state, in the language of `words`. Addresses: Cloudflare's package site and legal pages. */
export function blockedPage(blocked: Blocked, { _ }: Words): BlockedPage {
  // the theme's icons come and go with its versions
  const nothing = { icon: `culvert-${blocked}-symbolic`, commands: [], links: [], action: null, open: null };
  switch (blocked) {
    case 'cli-missing':
      return {
        ...nothing,
        title: _('Cloudflare WARP is not installed'),
        description: _(
          'Culvert controls the official WARP client, which is a package of its own. Install it, and this page goes away by itself.',
        ),
        open: { label: _('Installation Guide'), uri: 'https://pkg.cloudflareclient.com/' },
        commands: [{ purpose: _('Or try the demo, which tunnels nothing:'), command: 'culvert stop; culvert --demo' }],
      };
    case 'service-stopped':
      return {
        ...nothing,
        title: _('The WARP service is not running'),
        description: _(
          'WARP’s background service, warp-svc, does the tunnelling, and only an administrator can start it. Culvert notices when it runs.',
        ),
        commands: [{ purpose: _('Start it now:'), command: 'sudo systemctl start warp-svc' }],
      };
    case 'terms-not-accepted': {
      const links = [
        { label: _('Terms of Service'), uri: 'https://www.cloudflare.com/application/terms/' },
        { label: _('Privacy Policy'), uri: 'https://www.cloudflare.com/application/privacypolicy/' },
      ];
      return {
        ...nothing,
        title: _('Accept Cloudflare’s terms'),
        description: _('WARP is a service of Cloudflare and works only after you agreed to its terms.'),
        links,
        action: {
          label: _('Accept…'),
          name: 'acceptTerms',
          confirm: {
            heading: _('Accept the terms of service?'),
            body: _('You agree to Cloudflare’s Terms of Service and Privacy Policy for WARP on this device.'),
            accept: _('Accept'),
          },
        },
      };
    }
    case 'not-registered':
      return {
        ...nothing,
        title: _('This device is not registered'),
        description: _(
          'Registering gives this device its own keys with Cloudflare. It is free and asks for no e-mail address or password.',
        ),
        action: { label: _('Register'), name: 'register', confirm: null },
      };
    case 'not-authorized':
      return {
        ...nothing,
        title: _('Not authorised'),
        description: _(
          'WARP refuses commands from this user: an organisation manages this device, or another user of it registered WARP. Ask the administrator, or use WARP as that user.',
        ),
        commands: [{ purpose: _('See what WARP answers:'), command: 'culvert logs' }],
      };
  }
}
