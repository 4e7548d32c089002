// Describes the banners above every page, which report failures, blocked traffic, updates and configuration errors.
import type { ClientState } from '../client/client-state.ts';
import { describeRemoteAccess } from '../client/labels.ts';
import { type Button, clientCommand, goTo } from '../form.ts';
import type { Translator } from '../translator.ts';
import { lostChangesText } from './changes.ts';
import { killSwitchBanner, leaveDemo } from './killswitch.ts';
import { oldText } from './summary.ts';
import { configProblemText, type TunnelView } from './tunnel.ts';
import type { UpdateView } from './updates.ts';

export const BANNERS = [
  'offline',
  'demo',
  'refusal',
  'lost-changes',
  'old',
  'kill-switch',
  'certificate',
  'remote',
  'update',
  'config',
] as const;
interface Banner {
  title: string;
  caution: boolean;
  button: Button | null;
}

/** True if the connection page already says the same. */
export function isSaidByState({ title }: Banner, { label, sentence, setup }: TunnelView): boolean {
  return setup === null && [label, sentence].some(text => text.includes(title));
}

/** Returns all banners; null for a banner that is not shown. */
export function describeBanners(
  client: ClientState,
  { tunnel, update }: { tunnel: TunnelView; update: UpdateView },
  tr: Translator,
): Record<(typeof BANNERS)[number], Banner | null> {
  const { _ } = tr;
  const config = configProblemText(client.config, tr);
  const blocking = killSwitchBanner(client, tunnel.look, tr);
  const demo = tunnel.emulated && !client.offline;
  return {
    offline: offlineBanner(client, tunnel, tr),
    demo: demo ? { title: _('Demo: nothing is tunneled'), caution: true, button: leaveDemo(tr) } : null,
    refusal: refusalBanner(client, tunnel, tr),
    'lost-changes': lostChangesBanner(client, tr),
    old: oldBanner(client, tr),
    'kill-switch': blocking && { ...blocking, caution: true },
    certificate: certificateBanner(client, tr),
    remote: client.offline ? null : remoteBanner(client, tr),
    update: client.offline ? null : updateBanner(update, tr),
    config: config === null ? null : { title: config, caution: true, button: null },
  };
}

/** Returns the banner after a refusal. A lock has its own text; without it, no banner repeats a `not-authorized` state. */
function refusalBanner({ isRefused, snapshot }: ClientState, { lock }: TunnelView, { _ }: Translator): Banner | null {
  if (!isRefused || (!lock && snapshot?.status.blocked === 'not-authorized')) return null;
  const button = { label: _('Account'), command: goTo('account') };
  return { title: lock ?? _('You can’t change WARP here'), caution: true, button };
}

function lostChangesBanner({ snapshot, offline }: ClientState, tr: Translator): Banner | null {
  if (offline || !snapshot?.lostChanges) return null;
  // the request of the button would also confirm a change
  const isUnconfirmed = snapshot.changes.some(({ confirmBy }) => confirmBy !== null);
  const button = { label: tr._('Got It'), command: { ask: { kind: 'acknowledge' } } as const };
  return { title: lostChangesText(tr), caution: true, button: isUnconfirmed ? null : button };
}

/** Returns the banner over values that could not be read again; null where the state itself says that nothing can be read. */
function oldBanner({ old, snapshot, offline }: ClientState, tr: Translator): Banner | null {
  const shown = old.some(part => part === 'settings' || part === 'splitTunnel');
  const title = snapshot && !offline && oldText({ ...snapshot, hasOldParts: shown }, tr);
  return title ? { title, caution: true, button: { label: tr._('Run Checks'), command: goTo('checks') } } : null;
}

/** Returns the banner without a daemon; null while a client first looks for the daemon. */
function offlineBanner({ offline }: ClientState, { sentence, remedy }: TunnelView, { _ }: Translator): Banner | null {
  if (!offline || offline.code === 'starting') return null;
  const button = remedy ?? { label: _('Try Again'), command: clientCommand('try-again') };
  return { title: sentence, caution: true, button };
}

function certificateBanner({ snapshot, offline }: ClientState, { _ }: Translator): Banner | null {
  if (offline || !snapshot?.trust?.removalDue) return null;
  const button = { label: _('Show'), command: goTo('certificate') };
  return { title: _('Tools still trust a certificate that is no longer valid'), caution: true, button };
}

function remoteBanner({ snapshot }: ClientState, tr: Translator): Banner | null {
  const remote = describeRemoteAccess(snapshot?.remoteAccess ?? null, tr);
  if (!remote) return null;
  const { title, detail, caution } = remote;
  return {
    title: detail ? `${title}. ${detail}` : title,
    caution,
    button: { label: tr._('Settings'), command: goTo('preferences') },
  };
}

function updateBanner({ banner }: UpdateView, { _ }: Translator): Banner | null {
  if (!banner) return null;
  const { title, button } = banner;
  const task = button === 'apply' ? 'apply-update' : 'update-command';
  const label = button === 'apply' ? _('Update') : _('How');
  return { title, caution: false, button: button && { label, command: clientCommand(task) } };
}
