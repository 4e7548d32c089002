// Asks for each action in the browser page as a person does, in any browser.
import type { PageName } from '../../../daemon/view/page-list.ts';
import { freePort } from '../ports.ts';

/** The pages and their titles. */
export const PAGES = {
  connection: 'Connection',
  settings: 'Settings',
  mode: 'Mode',
  killswitch: 'Kill Switch',
  routes: 'Routes',
  editor: 'Edit as Text',
  dns: 'DNS',
  tools: 'Tool Accounts',
  certificate: 'Organization Certificate',
  networks: 'Networks',
  account: 'Account',
  apps: 'Apps',
  advanced: 'Server and Proxy',
  history: 'History',
  checks: 'Checks',
  log: 'Log',
  preferences: 'App',
  updates: 'Updates',
  welcome: 'First Steps',
} satisfies Record<PageName, string>;

export type Role = 'button' | 'radio' | 'switch' | 'menuitem';

/** Actions of a person. Each control is found by role and exact name, once it can be used. */
export interface Hands {
  /** @param names one, or several of which one is there */
  click(role: Role, ...names: string[]): Promise<unknown>;
  /** Clicks it in the open dialog. */
  accept(button: string): Promise<unknown>;
  /** Types into a field in the place of what is in it. */
  write(name: string, text: string): Promise<unknown>;
  /** Presses Enter once the form of the field in focus can be sent. */
  enter(): Promise<unknown>;
}

/** True when the form of the field in focus can be sent; a row is not sensitive while its value is being read. */
export const CAN_SEND = `document.activeElement.form?.querySelector('[type=submit]:not([aria-disabled])') != null`;

export type Step = readonly [page: keyof typeof PAGES, what: (hands: Hands) => Promise<unknown>];

const click =
  (role: Role, ...names: string[]) =>
  (hands: Hands) =>
    hands.click(role, ...names);
const press = (...names: string[]) => click('button', ...names);
const fill = (label: string, text: string) => async (hands: Hands) => {
  await hands.write(label, text);
  await hands.enter();
};
const confirmed = (button: string, accept: string) => async (hands: Hands) => {
  await hands.click('button', button);
  await hands.accept(accept);
};
/** Uses an entry of a menu, and does what follows. */
const inMenu = (menu: string, entry: string, step?: Step[1]) => async (hands: Hands) => {
  await hands.click('button', `${menu}: More`);
  await hands.click('menuitem', entry);
  await step?.(hands);
};
const afterOpening = (group: string, step: Step[1]) => async (hands: Hands) => {
  await hands.click('button', group);
  await step(hands);
};
const added = (entry: string): Step[] => [
  ['routes', fill('Address, range or host to add', entry)],
  [
    'routes',
    async hands => {
      await hands.write('Search routes', entry);
      await hands.click('button', `Remove ${entry}`);
    },
  ],
];

/** A page and what is done there, in order. */
export const STEPS: readonly Step[] = [
  ['connection', press('Connect')],
  // otherwise mode and protocol would wait to be confirmed, and revert
  ['connection', press('Disconnect', 'Cancel')],
  ['mode', click('radio', 'All traffic, your own DNS')],
  ...added('192.0.2.7'),
  ['routes', inMenu('Routes', 'Default Addresses…', hands => hands.accept('Reset'))],
  ['networks', click('switch', 'All Wi-Fi networks')],
  ['mode', click('radio', 'WireGuard')],
  ['mode', press('Default protocol: Reset')],
  ...['198.51.100.0/24', 'intranet.example.com'].flatMap(added),
  ['routes', inMenu('Routes', 'Remove All Hosts…', hands => hands.accept('Reset'))],
  ['dns', click('radio', 'Malware')],
  ['dns', fill('Add a domain', 'corp.example.com')],
  ['dns', press('Remove corp.example.com')],
  ['dns', confirmed('Default list: Reset', 'Reset')],
  ['dns', fill('Location ID', 'abc123')],
  ['dns', press('No location: Reset')],
  ['dns', press('Start logging: Start')],
  ['networks', click('switch', 'All wired networks')],
  ['networks', fill('Add Wi-Fi name', 'Café <1>')],
  ['networks', press('Remove Café <1>')],
  ['networks', inMenu('Elsewhere', 'Forget All Trusted Wi-Fi…', hands => hands.accept('Reset'))],
  ['advanced', fill('Port', String(freePort()))],
  ['advanced', fill('Address and port', '162.159.198.2:443')],
  ['advanced', press('Server: automatic: Reset')],
  ['mode', afterOpening('Advanced', click('radio', 'HTTP/2 only'))],
  ['mode', press('Default: Reset')],
  ['mode', fill('Virtual network', 'f00d')],
  ['mode', press('FedRAMP High environment: Use')],
  ['mode', press('Normal environment: Use')],
  // in proxy mode each answer of the emulator takes a start of Node
  ['apps', confirmed('Tunnel Only Chosen Apps', 'Tunnel Chosen Apps')],
  ['advanced', confirmed('Reset all settings of WARP: Reset…', 'Reset')],
  ['account', fill('License key', 'abcd1234-abcd1234-abcd1234')],
  ['account', press('Replace keys: Replace')],
  // on a machine that is too slow for the local proxy, its change was reverted, and nothing is connected
  ['connection', press('Disconnect', 'Cancel', 'Connect')],
  ['account', confirmed('Remove this device: Remove…', 'Remove')],
  [
    'account',
    afterOpening(
      'The browser did not come back? Paste the address of its last page.',
      fill('Address from the browser', 'com.cloudflare.warp://team.cloudflareaccess.com/auth?token=abc'),
    ),
  ],
  ['account', fill('Team name', 'example-team')],
];

/** Steps that only some states of the emulator offer. */
export const FURTHER_STEPS: readonly (readonly [words: readonly string[], step: Step])[] = [
  [
    ['organization=example-team', 'fault=policy-lock'],
    ['account', fill('Override code from your administrator', '1234567')],
  ],
  [
    ['reset', 'organization=example-team'],
    ['networks', click('switch', 'Reach printers and devices nearby')],
  ],
  [['clear'], ['networks', click('switch', 'Reach printers and devices nearby')]],
  [
    ['reset', 'registration=null'],
    ['connection', press('Set Up')],
  ],
  [
    ['reset', 'fault=terms'],
    ['connection', press('Agree and Set Up')],
  ],
];
