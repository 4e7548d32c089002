// Lists the words that commands accept, with their meanings, for checks, help, completions and the manual.
// The contract's types are the keys of the records: a missing or extra word does not compile.
import { type ARGUMENTS, MODES as MODE_NAMES } from '../api/actions.ts';
import type { Config, Mode, Protocol } from '../api/schema.ts';
import { DEFAULTS, flatten } from '../config/keys.ts';
import { modeName } from '../view/client/labels.ts';
import { english } from '../view/translator.ts';

export const MODES = Object.fromEntries(MODE_NAMES.map(mode => [mode, modeName(mode, english).title])) as Record<
  Mode,
  string
>;

export const PROTOCOLS: Record<Protocol, string> = {
  MASQUE: 'HTTP/3, falling back to HTTP/2',
  WireGuard: 'WireGuard over UDP',
};

/** HTTP versions of MASQUE, which `culvert protocol` takes as well. */
export const MASQUE_OPTIONS: Record<(typeof ARGUMENTS.masqueOptions.values)[number], string> = {
  'h2-only': 'MASQUE over HTTP/2 alone (TCP), where UDP is blocked',
  'h3-only': 'MASQUE over HTTP/3 alone (UDP)',
  'h3-with-h2-fallback': 'the default of MASQUE',
};

type ConfigKey = { [G in keyof Config]: `${G}.${keyof Config[G] & string}` }[keyof Config];
export const CONFIG_KEYS: Record<ConfigKey, string> = {
  'server.port': 'TCP port of the API',
  'server.bind': 'address of the TCP listener',
  'webui.enabled': 'serve the browser page',
  'webui.allowRemote': 'let other machines use page and API with the token',
  'webui.address': 'where other machines find the page, such as https://culvert.example.org behind a reverse proxy',
  'warp.cli': 'name or path of the tunnel CLI',
  'warp.killSwitch': 'block traffic outside the tunnel',
  'warp.allowLan': 'leave the local network reachable while the kill switch blocks',
  'warp.endpoints': 'further endpoints that the kill switch lets the tunnel service reach',
  'warp.recordBlocked': 'remember for ten minutes what was blocked, also while nobody looks',
  'warp.traceUrl': 'address that shows whether a request came through the tunnel',
  'ui.openBrowser': 'open the browser page at start',
  'ui.theme': 'system, light or dark',
  'ui.locale': 'language, such as en or pt_BR',
  'ui.firstSteps': 'show the first steps at the next start of window or page',
  'updates.channel': 'stable or beta',
  'updates.checkOnStartup': 'look for updates at start',
  'updates.source': 'base address of the releases; empty for none',
  'tray.autostart': 'start at login',
  'tray.startHidden': 'start at login without the window',
  'tray.shortcuts': 'have the tray take global shortcuts, whose keys the desktop asks for',
  'notifications.level': 'how much to notify of: everything, needs-me or nothing',
  'history.enabled': 'keep changes of the state and statistics of the tunnel for 90 days',
  'metrics.enabled': 'answer GET /api/metrics, for Prometheus',
  'metrics.hashAccounts': 'show accounts of command-line tools in the metrics as hashes, not by name',
  'reminders.offMinutes': 'minutes until the reminder that WARP is still off; 0 for never',
};

const CHOICES: { [K in ConfigKey]?: readonly string[] } = {
  'ui.theme': ['system', 'light', 'dark'],
  'updates.channel': ['stable', 'beta'],
  'notifications.level': ['everything', 'needs-me', 'nothing'],
};
/** Values of each key that accepts only a few; empty for other keys. */
export const CONFIG_VALUES: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  flatten(DEFAULTS).map(([key, value]) => [
    key,
    typeof value === 'boolean' ? ['true', 'false'] : (CHOICES[key as ConfigKey] ?? []),
  ]),
);
