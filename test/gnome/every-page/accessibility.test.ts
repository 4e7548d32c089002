// The panel as assistive technology sees it, over AT-SPI: one walk per page and dialog. The order of the Tab key is read
// from within the panel, which sends the signal of that key itself.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, afterEach, before, describe, test } from 'node:test';
import { PAGE_NAMES, type PageName } from '../../../daemon/view/page-list.ts';
import { createDaemon, type FakeDaemon, problem } from '../../support/gnome/daemon.ts';
import { type Ask, type Desktop, missing, openDesktop, startDriver, talk } from '../../support/gnome/desktop.ts';
import {
  app,
  change,
  checkResult,
  KILL_SWITCH,
  logEntry,
  MODE_FIX,
  ROUTE_ANSWERS,
  recorded,
  richTool,
  tool,
} from '../../support/gnome/initial.ts';
import { type Stage, stageOf } from '../../support/gnome/stage.ts';
import { backwardStops, type Stop } from '../../support/reading-order.ts';
import { inTurn, sample, third } from '../../support/thoroughness.ts';
import { until } from '../../support/until.ts';

interface Node {
  name: string;
  role: string;
  parent: string;
  description: string;
  /** The text of an entry; least, present and greatest value of a bar. */
  value: string | [number, number, number] | null;
  checked: boolean;
  selected: boolean;
  focusable: boolean;
  pressable: boolean;
}

/** Mistakes of a page or a dialog. */
function faults(nodes: Node[], rows: { title: string; subtitle: string }[], stops: Stop[]): string[] {
  const found: string[] = [];
  const controls = nodes.filter(({ pressable, focusable }) => pressable && focusable);
  for (const { name, role, parent } of nodes) {
    // the button that closes a toast is libadwaita's, which gives it no name before 1.4
    if (/^(Gtk|Adw)/.test(name) && !/^Adw(Toast|Gizmo)/.test(parent + name)) found.push(`${role} is called ${name}`);
  }
  for (const { name, role, parent } of controls)
    if (name === '' && parent !== 'AdwToastWidget') found.push(`a ${role} in “${parent}” has no name`);
  // GTK's scroll bars have a value in whatever role
  for (const { name, role, value } of nodes)
    if (value && !name && !/panel|filler|scroll bar/.test(role)) found.push(`a ${role} with a value has no name`);
  // rows of a closed drop-down, of which GTK 4.8 makes one ahead
  for (const { name, role, parent } of nodes.filter(({ role }) => role === 'list item'))
    if (name === '' && !DROP_DOWNS.includes(parent)) found.push(`a ${role} of “${parent}” has no name`);
  const twice = controls.map(({ role, name }) => `${role} ${name}`).filter((name, i, all) => all.indexOf(name) < i);
  // while the kill switch blocks, its banner and the page offer the same; windows have a button to close them; AdwMessageDialog has its buttons in two layouts
  for (const name of twice)
    if (!/^push button (Connect|Close|(.+) \2)$/.test(name)) found.push(`two are called ${name}`);
  for (const { title, subtitle } of rows)
    if (subtitle && !nodes.some(({ description }) => description.includes(subtitle)))
      found.push(`the description of “${title}” lacks “${subtitle}”`);
  const hidden = stops.filter(({ box: [left, top, right, bottom] }) => left === right || top === bottom);
  return [...found, ...hidden.map(({ name }) => `Tab comes to “${name}”, which is not drawn`), ...backwardStops(stops)];
}
const DROP_DOWNS = ['Length of time', 'Theme', 'Language', 'Channel', 'Notify me of'];

describe('assistive technology', { skip: missing('xdotool'), concurrency: false }, () => {
  let desktop: Desktop;
  let daemon: FakeDaemon;
  let stage: Stage;
  let atspi: Ask;

  before(async () => {
    desktop = await openDesktop();
    daemon = createDaemon(desktop.socket);
    daemon.apps = [app('firefox', 'Firefox', { kind: 'firefox', method: 'profile' }), app('mail', 'Mail')];
    daemon.entries = [logEntry(1, 'warp-cli connect')];
    daemon.tools = [richTool(Date.now()), tool('netlify')];
    daemon.snapshot.splitTunnel = { mode: 'exclude', ips: [{ value: '10.0.0.0/8', description: null }], hosts: [] };
    daemon.snapshot.killSwitch = { ...KILL_SWITCH, enabled: true, active: true };
    daemon.snapshot.options = {
      ...daemon.snapshot.options,
      families: 'malware',
      fallbackDomains: [{ domain: 'corp', note: null }],
      trustedSsids: ['Home'],
    };
    daemon.answers = ROUTE_ANSWERS;
    daemon.snapshot.changes = [change('mode', { value: 'doh', confirmBy: '2999-01-01T00:00:00.000Z' })];
    const about = { source: 'https://culvert.example/about', fixId: 'x' };
    daemon.checks = [
      checkResult('a', 'problem', { ...about, fix: MODE_FIX }),
      checkResult('b', 'problem', { ...about, fix: { ...MODE_FIX!, label: 'Use another protocol' } }),
      checkResult('c', 'ok'),
    ];
    daemon.history = recorded(6);
    atspi = startDriver(desktop, 'driver.py');
    // the accessibility bus starts on first use; a window that opens before then may miss it
    await atspi({ do: 'names' });
    await daemon.listen();
    const panel = desktop.start('gjs', ['-m', join(desktop.prefix, 'share', 'culvert', 'inside.js')]);
    stage = stageOf(desktop, daemon, panel, talk(panel));
    await stage.find('Internet is blocked');
    stage.x('windowfocus', '--sync', stage.window());
  });
  after(async () => {
    await desktop.close();
    await daemon.stop();
  });

  // a test that fails in a dialog leaves it open, and the next one would meet it
  afterEach(() => stage.ask({ do: 'clear' }));

  const survey = () => atspi({ do: 'survey' }) as Promise<Node[]>;
  const stops = () => stage.ask({ do: 'stops' }) as Promise<Stop[]>;
  /**
   * Controls that a screen reader and the Tab key meet, once nothing is wrong with it: a change reaches the accessibility bus later than the screen. Fails with everything that stays wrong, and with what of `shown` stays away.
   * @param open opens it where it is closed: the way of the Tab key may close a menu
   */
  const examine = async (shown: readonly string[] = [], open?: () => Promise<unknown>) => {
    let wrong: string[] = [];
    return until(
      async () => {
        await open?.();
        const rows = (await stage.ask({ do: 'rows' })) as { title: string; subtitle: string }[];
        const tabbed = await stops();
        const nodes = await survey();
        const absent = shown.filter(name => !nodes.some(node => node.name === name));
        wrong = [...faults(nodes, rows, tabbed), ...absent.map(name => `there is no ${name}`)];
        return wrong.length === 0 ? { nodes, tabbed } : null;
      },
      () => `a page without faults, which are: ${wrong.join('; ')}`,
      { pollMs: 500 },
    );
  };
  const turn = async (page: PageName, shows?: string) => {
    await stage.turn(page);
    await stage.settled();
    if (shows) await stage.find(shows);
  };

  /** Controls of each page, at the least: the last one comes with the data that the page reads. */
  const pages: Record<PageName, string[]> = {
    connection: ['Connect', 'Mode', 'Kill Switch', 'Connection', 'Apps', 'Settings', 'Main Menu', 'Keep'],
    apps: ['Search apps', 'Show all', 'Tunnel Only Chosen Apps', 'Start Firefox'],
    settings: ['Search settings', 'Routes', 'Account'],
    mode: ['All traffic', 'DNS only', 'MASQUE', 'Back'],
    killswitch: ['Kill Switch', 'Allow local network', 'Pause for 15 minutes: Pause'],
    routes: ['Address, range or host to add', 'More for routes', 'Edit as Text', 'Remove 10.0.0.0/8'],
    editor: ['Edit as Text', 'No preview yet: Preview', 'Apply changes: Apply', 'Keep', 'Last change: Undo'],
    dns: ['Malware', 'Add a domain', 'Add a domain: Add', 'Remove corp'],
    networks: ['All Wi-Fi networks', 'Elsewhere: More', 'Remove Home'],
    account: ['Join an organization: Sign In…', 'License key', 'Remove this device: Remove…'],
    advanced: ['Address and port', 'Reset all settings of WARP: Reset…'],
    tools: ['Use these accounts for “firecrawl”', 'team-b: Use Now', 'netlify: Set Up…'],
    certificate: ['Tools that trust the certificate: Check', 'Git: Undo…', 'Node.js: Apply…'],
    history: ['Length of time', 'Timeline', 'Latency', 'Packet loss', 'Speed', 'As a table', 'Totals'],
    // findings are summed up at the end
    checks: ['Run Again', 'Fix: Title of a', 'Fix: Title of b', '1 check is fine', '2 things to look at'],
    log: ['Search commands and output', 'Which commands are listed', 'Save what is listed', 'warp-cli connect, OK'],
    preferences: ['Start at login', 'Theme', 'Language', 'Export settings: Export…'],
    updates: ['Back', 'Check'],
    welcome: ['What WARP does', 'Skip', 'Next'],
  };
  type Wanted = Partial<Pick<Node, 'role' | 'value' | 'description' | 'checked' | 'selected'>>;
  /** The role of a control, and its state. */
  const values: { [page in PageName]?: Record<string, Wanted> } = {
    connection: {
      Connect: { role: 'push button' },
      Mode: { role: 'list item', description: 'All traffic' },
      'Kill Switch': { role: 'check box', checked: true },
      Connection: { role: 'page tab', selected: true },
      Apps: { role: 'page tab', selected: false },
    },
    mode: {
      'All traffic': { role: 'radio button', checked: true },
      'DNS only': { role: 'radio button', checked: false },
      Back: { role: 'push button' },
    },
    killswitch: { 'Allow local network': { role: 'check box', checked: false } },
    dns: { Malware: { checked: true }, 'No filter': { checked: false }, 'Add a domain': { value: '' } },
    routes: { 'Search routes': { role: 'entry', value: '' } },
    editor: { 'Edit as Text': { role: 'text' } },
    advanced: { Port: { role: 'text', value: '' } },
    account: {
      'License key': { role: 'password text' },
      'Remove this device: Remove…': { role: 'push button' },
    },
    tools: { 'Use these accounts for “firecrawl”': { role: 'check box', checked: true } },
    history: { Latency: { role: 'page tab', selected: true }, Speed: { role: 'page tab', selected: false } },
    preferences: {
      'Start at login': { role: 'check box', checked: false },
      Theme: { role: 'combo box', description: 'Follow system' },
      'Keep a history': { role: 'check box', checked: true },
    },
  };
  // pages of the same widgets: a third of those with values, and of the others
  for (const page of third(PAGE_NAMES, name => String(name in values)))
    test(`the page "${page}" has names, roles, values, descriptions, and the order of the Tab key`, async () => {
      const names = pages[page];
      await turn(page, names.at(-1));
      const { nodes } = await examine();
      const all = new Set(nodes.map(({ name }) => name));
      for (const name of names) assert.ok(all.has(name), `${name} in ${[...all].join(' | ')}`);
      for (const [name, expected] of Object.entries(values[page] ?? {})) {
        const keys = Object.keys(expected) as (keyof Wanted)[];
        const found = nodes.filter(node => node.name === name);
        assert.ok(
          found.some(node => keys.every(key => node[key] === expected[key])),
          `${name}: ${JSON.stringify(expected)} in ${JSON.stringify(found)}`,
        );
      }
    });

  /** A page, what opens a dialog there (a button, or a menu and its entry), what it shows at the least, and what closes it. */
  const dialogs: [page: PageName, opens: string, shown: string[], closes: string][] = [
    ['account', 'Remove this device: Remove…', ['Remove this device?', 'Remove', 'Cancel'], 'Cancel'],
    ['dns', 'Default list: Reset', ['Cancel'], 'Cancel'],
    ['advanced', 'Reset all settings of WARP: Reset…', ['Cancel'], 'Cancel'],
    ['preferences', 'Delete the history: Delete…', ['Delete the history?', 'Delete', 'Cancel'], 'Cancel'],
    ['tools', 'team-d: More › Remove…', ['Cancel'], 'Cancel'],
    ['tools', 'netlify: Set Up…', ['Cancel'], 'Cancel'],
    ['certificate', 'Node.js: Apply…', ['Make these changes?', 'Apply', 'Cancel'], 'Cancel'],
    ['checks', 'Fix: Title of a', ['Use another mode', 'Apply', 'Cancel'], 'Cancel'],
  ];
  for (const [page, opens, shown, closes] of sample(dialogs, 3))
    test(`the dialog behind “${opens}” has names and the order of the Tab key`, async () => {
      const [first, ...others] = opens.split(' › ');
      await turn(page, first);
      for (const name of [first!, ...others]) await stage.press(name);
      for (const name of shown) await stage.find(name);
      const { nodes, tabbed } = await examine();
      // GTK 4.8 names a dialog's button twice
      const all = nodes.map(({ name }) => name);
      for (const name of shown) assert.ok(all.includes(name) || all.includes(`${name} ${name}`), name);
      assert.ok(
        tabbed.some(({ name }) => name === closes),
        tabbed.map(({ name }) => name).join(' > '),
      );
      await stage.press(closes);
      await stage.gone(shown.at(-1)!);
    });

  for (const [button, entry, shown] of [
    ['Main Menu', null, ['Keyboard Shortcuts', 'Report a Problem…', 'About Culvert', 'Quit Culvert']],
    ['Main Menu', 'Keyboard Shortcuts', ['Connect or disconnect', 'Main menu']],
    ['Main Menu', 'About Culvert', ['0.0.0-test', 'The Culvert contributors']],
    ['More for routes', null, ['Default Addresses…', 'Remove All Hosts…']],
    ['Firefox: More', null, ['Start Only Through the Tunnel', 'Add to App Menu, Only Through the Tunnel']],
  ] as const)
    test(`${entry ? `the window behind “${entry}”` : `the menu “${button}”`} has names and the order of the Tab key`, async () => {
      const page =
        ({ 'Main Menu': 'connection', 'More for routes': 'routes' } as const)[button as 'Main Menu'] ?? 'apps';
      await turn(page, button);
      const open = async () => {
        if (((await stage.ask({ do: 'names' })) as string[]).includes(shown[0])) return;
        await stage.press(button);
        if (entry) await stage.press(entry);
        for (const name of shown) await stage.find(name);
      };
      await examine(shown, open);
      await stage.ask({ do: 'close' });
      await stage.gone(shown[0]);
    });

  test('an entry says what is wrong with what is typed', async () => {
    await turn('dns', 'Add a domain');
    await stage.enter('Add a domain', 'no spaces here');
    // a change reaches the accessibility bus later than the screen, its text and its description one by one
    let entries: Node[] = [];
    await until(
      async () => {
        entries = (await survey()).filter(({ name, value }) => name === 'Add a domain' && value !== null);
        const [only] = entries;
        return entries.length === 1 && only!.value === 'no spaces here' && /domain/i.test(only!.description);
      },
      () => `the text and what is wrong with it, not ${JSON.stringify(entries)}`,
      { pollMs: 500 },
    );
    await stage.enter('Add a domain', '');
  });

  test('the button of the connection says the state, and a press reaches the daemon', async () => {
    daemon.setChanges([]);
    daemon.set('killSwitch', KILL_SWITCH);
    await turn('connection', 'Connect');
    const says = 'Disconnected. You are not protected. Your traffic bypasses WARP.';
    const isSaid = ({ name, description }: Node) => name === 'Connect' && description === says;
    await until(async () => (await survey()).some(isSaid), `a button that says: ${says}`, { pollMs: 500 });
    await atspi({ do: 'press', name: 'Connect' });
    await stage.acted(1);
    daemon.set('status', { state: 'connected', raw: 'Connected' });
    await stage.find('Connected');
  });

  test('a page that is not shown is not there', async () => {
    await turn('mode', 'MASQUE');
    const names = (await survey()).map(({ name }) => name);
    assert.ok(!names.includes('Search settings') && !names.includes('License key'));
  });

  test('a failure, a step of the set-up and the text of a toast have names and actions', async () => {
    await turn('connection', 'Connected');
    const states: [change: Parameters<typeof daemon.set<'status'>>[1], offers: string][] = [
      [{ state: 'unable', reason: { code: 'CaptivePortalTimedOut', text: 'vendor' } }, 'Open Sign-in Page'],
      [{ state: 'unable', reason: null, blocked: 'not-registered' }, 'Set Up'],
      [{ blocked: 'terms-not-accepted' }, 'Agree and Set Up'],
      [{ blocked: 'service-stopped' }, 'Start the Service'],
      [{ blocked: 'cli-missing' }, 'Installation Guide'],
      [{ state: 'unknown', raw: 'Mystery', blocked: null }, 'Disconnect'],
    ];
    for (const [status, offers] of sample(states, 3)) {
      daemon.set('status', status);
      await stage.settled();
      const { nodes } = await examine();
      assert.ok(
        nodes.some(({ name, pressable }) => pressable && name === offers),
        `${offers} in ${nodes.filter(({ pressable }) => pressable).map(({ name }) => name)}`,
      );
    }
    daemon.set('status', { state: 'disconnected', reason: null, raw: 'Disconnected', blocked: null });
    daemon.onAction = () => {
      throw problem('tunnel-cli-failed', 502, 'warp-cli failed.');
    };
    await stage.press('Connect');
    await stage.find('Details');
    await examine();
    await stage.press('Details');
    await stage.find('OK');
    await examine();
    await stage.press('OK');
    await stage.gone('OK');
  });

  /** The order of the Tab key on pages, which must follow the eyes; a page that shows nothing has too few stops. */
  const orders = async (pages: readonly PageName[], rightToLeft: boolean) => {
    const wrong: string[] = [];
    for (const page of pages) {
      await turn(page);
      const met = await stops();
      assert.ok(met.length >= 3, `${page}: ${met.map(({ name }) => name).join(' > ')}`);
      wrong.push(...backwardStops(met).map(fault => `${page}: ${fault}`));
      for (const stop of met) {
        if (stop.rightToLeft !== rightToLeft) wrong.push(`${page}: ${stop.name} has the other direction`);
      }
    }
    assert.deepEqual(wrong, []);
  };

  test('Tab goes down one column after the other in a wide window', async () => {
    await stage.ask({ do: 'resize', width: 1100, height: 760 });
    await orders(inTurn(PAGE_NAMES, 0), false);
    await stage.ask({ do: 'resize', width: 440, height: 760 });
  });

  test('Tab goes from right to left in Arabic', async t => {
    daemon.setConfig({ ui: { locale: 'ar' } });
    await until(async () => (await stops()).every(stop => stop.rightToLeft), 'a window from right to left');
    if (((await stage.ask({ do: 'gtk' })) as number) > 8) {
      t.skip('newer GTK, seen with 4.24, goes through any box that runs from right to left the other way');
      return;
    }
    await orders(inTurn(PAGE_NAMES, 1), true);
  });
});
