// Describes the first steps, which explain WARP, turn on its protection, and set it up or start the demo.
import type { ClientState } from '../client/client-state.ts';
import { type Command, type Form, type Group, noteRow, type Row } from '../form.ts';
import { PAGES, type PageName, pageTitle } from '../page-list.ts';
import { installRows, killSwitchRow } from '../states/killswitch.ts';
import type { Translator } from '../translator.ts';
import type { View } from '../view.ts';
import { autostartRow, type DesktopFacts, preferencesForm } from './preferences.ts';
import { setupForm } from './setup.ts';

export const WELCOME_STEPS = 3;

/** Returns the command that records that the user saw the first steps; null once it is recorded. */
export function seenCommand({ config }: ClientState): Command | null {
  return config?.config.ui.firstSteps ? { ask: { kind: 'config', patch: { ui: { firstSteps: false } } } } : null;
}

/** @param step counts from 0 */
export function welcomeStep(step: number, view: View, facts: DesktopFacts, tr: Translator): Form {
  const { _ } = tr;
  if (step === 0)
    return stepForm(
      _('What WARP does'),
      _('It sends the traffic of this computer through Cloudflare’s network, encrypted.'),
      [hiddenGroup(tr), visibleGroup(tr)],
    );
  if (step === 1)
    return stepForm(_('Stay protected'), _('You can change all of this at any time.'), [
      protectionGroup(view, facts, tr),
      tasteGroup(view, facts, tr),
    ]);
  const { setup, emulated, look, label, sentence } = view.tunnel;
  // without a daemon, nothing is known about WARP
  if (look === 'unavailable') return stepForm(label, sentence, []);
  const title = emulated ? _('The demo is ready') : _('WARP is ready');
  const text = emulated
    ? _('Try everything. Nothing is protected.')
    : _('It is set up on this computer. Press Connect on the first page.');
  const form = setup === null ? stepForm(title, text, [nextGroup(tr)]) : setupForm(view, tr);
  const demo = { id: 'demo', rows: emulated || setup === 'cli-missing' ? [] : [demoRow(tr)] };
  return { ...form, groups: [...form.groups, demo] };
}

function stepForm(title: string, sentence: string, groups: Group[]): Form {
  return { status: { icon: PAGES.welcome.icon, tone: 'accent', title, sentence, buttons: [] }, groups };
}

function hiddenGroup({ _ }: Translator): Group {
  return {
    id: 'hidden',
    title: _('WARP hides'),
    rows: [
      noteRow(
        'traffic',
        _('Your traffic from the network'),
        _('A Wi-Fi or provider sees only an encrypted connection to Cloudflare.'),
      ),
      noteRow('address', _('Your IP address from websites'), _('They see an address of Cloudflare instead.')),
    ],
  };
}

function visibleGroup({ _ }: Translator): Group {
  return {
    id: 'visible',
    title: _('WARP does not hide'),
    rows: [
      noteRow('place', _('Your region'), _('Websites still learn roughly where you are.')),
      noteRow('identity', _('Who you are'), _('Accounts and cookies still tell websites who you are.')),
      noteRow(
        'operator',
        _('Your connections from Cloudflare'),
        _('Cloudflare carries them, as your provider does without WARP.'),
      ),
    ],
  };
}

function protectionGroup({ client, killSwitch }: View, facts: DesktopFacts, tr: Translator): Group {
  const { config } = client;
  return {
    id: 'protection',
    rows: [
      ...(killSwitch.look === 'not-installed' ? installRows(killSwitch, tr) : [killSwitchRow(killSwitch, tr)]),
      ...(config ? [autostartRow(config, facts, tr)] : []),
    ],
  };
}

/** Preferences that people set on their first day. */
const TASTE: readonly string[] = ['notifications.level', 'ui.theme', 'ui.locale'];

function tasteGroup({ client }: View, facts: DesktopFacts, tr: Translator): Group {
  const rows = client.config ? preferencesForm(client, facts, tr).groups.flatMap(group => group.rows) : [];
  return { id: 'taste', rows: rows.filter(({ id }) => TASTE.includes(id)) };
}

/** Returns links to what people do after they have connected. */
function nextGroup(tr: Translator): Group {
  const { _ } = tr;
  const link = (page: PageName, subtitle: string): Row => ({
    kind: 'link',
    id: `to-${page}`,
    page,
    title: pageTitle(page, tr),
    subtitle,
  });
  return {
    id: 'next',
    title: _('Later'),
    rows: [
      link('mode', _('Which traffic is protected, and how')),
      link('routes', _('Sites and networks that bypass WARP')),
      link('networks', _('Where WARP stays off; local network')),
      link('checks', _('Find out why something does not work')),
    ],
  };
}

/** Returns the button that starts the demo; the banner ends it. */
function demoRow({ _ }: Translator): Row {
  return {
    kind: 'button',
    id: 'demo',
    title: _('Look around first'),
    subtitle: _('The demo shows everything, but tunnels nothing.'),
    label: _('Try the Demo'),
    command: { ask: { kind: 'restart', demo: true } },
  };
}
