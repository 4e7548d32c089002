// Lists the pages that are a form of the state alone. Panel, browser page and search take them from here.
import type { Form, PageName } from '../form.ts';
import type { Translator } from '../translator.ts';
import type { View } from '../view.ts';
import { preferencesForm, UNKNOWN_DESKTOP } from './preferences.ts';
import { advancedForm } from './tunnel/advanced.ts';
import { NOT_READ, recordsBlocked } from './tunnel/blocked.ts';
import { dnsForm } from './tunnel/dns.ts';
import { killSwitchForm } from './tunnel/killswitch.ts';
import { modeForm } from './tunnel/modes.ts';
import { networksForm } from './tunnel/networks.ts';

/** @param now ms since the epoch, asked only by what time moves */
export type PageForm = (view: View, tr: Translator, now: () => number) => Form;

export const PAGE_FORMS = {
  mode: ({ client, tunnel }, tr) => modeForm(client, tunnel.settable, tr),
  // clients add what was blocked while the page is seen
  killswitch: ({ killSwitch, client }, tr, now) =>
    killSwitchForm(killSwitch, now(), tr, { ...NOT_READ, records: recordsBlocked(client) }),
  dns: ({ client, tunnel }, tr) => dnsForm(client, tunnel.settable, tr),
  // only the desktop knows the present network and its own facts, which the panel adds
  networks: ({ client, tunnel }, tr, now) =>
    networksForm(client, { settable: tunnel.settable, network: null, now: now() }, tr),
  advanced: ({ client, tunnel }, tr) => advancedForm(client, tunnel.settable, tr),
  preferences: ({ client }, tr) => preferencesForm(client, UNKNOWN_DESKTOP, tr),
} satisfies { [P in PageName]?: PageForm };
