// Everyday tasks from the first page, done with the mouse and with the keyboard alone: what each takes is counted.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import type { BlockedResponse } from '../../daemon/api/killswitch.ts';
import type { Why } from '../../daemon/api/why.ts';
import { NO_TUNNEL } from '../../daemon/state/store.ts';
import { missing } from '../support/gnome/desktop.ts';
import { app, KILL_SWITCH, noUpdate, recorded, richTool } from '../support/gnome/initial.ts';
import { closeStage, openStage, type Stage } from '../support/gnome/stage.ts';
import { standInForCulvert } from '../support/gnome/stand-in.ts';
import { sample } from '../support/thoroughness.ts';
import { until } from '../support/until.ts';

/** A text to type, and what the page then reads, if that is not the text. */
interface Typed {
  type: string;
  reads?: string;
}

/** A name to click, or what to wait for. What is typed is the same in every program and is not counted, nor is the wheel. */
type Click = string | Typed | { wait: string } | { gone: string } | { scrollTo: string };
/** Keys, as `Tab Tab space`, with what has the focus afterwards; or text to type, or what to wait for. */
type Press = [keys: string, focus?: string] | Typed | { wait: string } | { gone: string };

interface Task {
  task: string;
  /** Text that the panel has to show first. */
  given?: (stage: Stage) => void;
  mouse: Click[];
  keys: Press[];
  /** The final request to the daemon, or the text on screen. */
  asks?: unknown;
  shows?: string;
  /** The words of the command `culvert` that the panel starts. */
  runs?: string;
  /** The least that the review of November 2026 counted, of another program or of version 0.2.7; null if it counted none. */
  bar: { clicks: number | null; keys: number | null };
  /** Clicks and keys; a combination of keys counts once. */
  clicks: number;
  presses: number;
}

const proxy = ({ daemon }: Stage) => {
  daemon.set('settings', { Mode: 'proxy' });
  daemon.set('tunnel', { proxyPort: 40000 });
};
const ENTRY = 'Address, range or host to add';
/** It comes with the data that the page of the account reads. */
const ACCOUNT_READ = { wait: 'Device ID' };
const TUNNELED: Why & { ok: true } = {
  ok: true,
  target: { kind: 'host', value: 'example.com' },
  mode: 'warp',
  list: 'exclude',
  proxy: null,
  fallback: null,
  resolveProblem: null,
  addresses: [
    {
      address: '192.0.2.1',
      tunnel: true,
      reason: 'default',
      entry: null,
      blocked: false,
      disagrees: false,
      kernelProblem: null,
      kernel: { device: 'CloudflareWARP', gateway: null, source: null, tunnel: true },
    },
  ],
};
const BLOCKED: BlockedResponse = {
  ok: true,
  recordingSince: '2026-01-01T10:00:00.000Z',
  entries: [
    {
      rule: 'kill-switch',
      uid: 1000,
      unit: null,
      programs: ['curl'],
      source: null,
      protocol: 'tcp',
      address: '192.0.2.9',
      port: 443,
      packets: 3,
      since: '2026-01-01T10:00:00.000Z',
      last: '2026-01-01T10:00:02.000Z',
    },
  ],
  hidden: 0,
  missed: 0,
};
const takes = (clicks: number, presses: number) => ({ clicks, presses });
const none = { clicks: null, keys: null };
const action = (name: string, value?: unknown) => ({ action: name, ...(value === undefined ? {} : { value }) });

/** Asks first: its browser bypasses the tunnel. */
const SIGN_IN = 'sign in to a network with a login page';
const TASKS: Task[] = [
  {
    task: 'connect',
    ...takes(1, 1),
    mouse: ['Connect'],
    keys: [['ctrl+t']],
    asks: action('connect'),
    bar: { clicks: 1, keys: 1 },
  },
  {
    task: 'pause for 15 minutes',
    ...takes(1, 7),
    given: ({ daemon }) => daemon.set('status', { state: 'connected' }),
    mouse: ['Pause WARP: 15 minutes'],
    keys: [['Tab Tab Tab Tab Tab Tab', 'Pause WARP: 15 minutes'], ['space']],
    asks: { action: 'disconnect', forSeconds: 900 },
    bar: { clicks: 1, keys: null },
  },
  {
    task: 'change the mode',
    ...takes(2, 3),
    mouse: ['Mode', 'DNS only'],
    keys: [['ctrl+f'], { type: 'dns only' }, ['Return', 'DNS only'], ['space']],
    asks: action('setMode', 'doh'),
    bar: { clicks: 2, keys: 11 },
  },
  {
    task: 'add a route',
    ...takes(3, 3),
    mouse: ['Settings', 'Routes', { type: '192.168.7.0/24' }, 'Add a route'],
    keys: [['ctrl+f'], { type: 'routes' }, ['Return', ENTRY], { type: '192.168.7.0/24' }, ['Return']],
    asks: action('addSplitRange', '192.168.7.0/24'),
    bar: none,
  },
  {
    task: 'exclude a host',
    ...takes(3, 3),
    mouse: ['Settings', 'Routes', { type: 'example.com' }, 'Add a route'],
    keys: [['ctrl+f'], { type: 'routes' }, ['Return', ENTRY], { type: 'example.com' }, ['Return']],
    asks: action('addSplitHost', 'example.com'),
    bar: { clicks: 3, keys: null },
  },
  {
    task: 'exclude a host and undo it',
    ...takes(4, 8),
    mouse: ['Settings', 'Routes', { type: 'example.com' }, 'Add a route', 'Undo'],
    keys: [
      ['ctrl+f'],
      { type: 'routes' },
      ['Return', ENTRY],
      { type: 'example.com' },
      ['Return'],
      { wait: 'Undo' },
      ['Tab Tab Tab Tab', 'Undo'],
      ['Return'],
    ],
    asks: [action('addSplitHost', 'example.com'), action('removeSplitHost', 'example.com')],
    bar: { clicks: 6, keys: null },
  },
  {
    task: 'find out whether a site uses WARP',
    ...takes(2, 1),
    given: ({ daemon }) => {
      daemon.answers = { 'POST /api/why': TUNNELED };
    },
    mouse: ['Settings', 'Search settings', { type: 'example.com' }],
    keys: [['ctrl+f'], { type: 'example.com' }],
    shows: 'example.com uses WARP',
    bar: { clicks: 2, keys: null },
  },
  {
    task: 'filter names of malware',
    ...takes(3, 4),
    mouse: ['Settings', 'DNS', 'Malware'],
    keys: [['ctrl+f'], { type: 'dns' }, ['Return', 'No filter'], ['Down', 'Malware'], ['space']],
    asks: action('setFamilies', 'malware'),
    bar: none,
  },
  {
    task: 'join an organization',
    // the sign-in needs neither a copy of an address nor a further press
    ...takes(3, 3),
    mouse: ['Settings', 'Account', ACCOUNT_READ, { type: 'example' }, 'Join an organization: Sign In…'],
    keys: [['ctrl+f'], { type: 'account' }, ['Return', 'Team name'], ACCOUNT_READ, { type: 'example' }, ['Return']],
    asks: action('registerOrganization', 'example'),
    bar: { clicks: 4, keys: null },
  },
  {
    task: 'enter a license',
    ...takes(4, 3),
    mouse: [
      'Settings',
      'Account',
      ACCOUNT_READ,
      { scrollTo: 'License key: Apply' },
      'License key',
      { type: 'a1b2c3d4-e5f6a7b8-c9d0e1f2' },
      'License key: Apply',
    ],
    keys: [
      ['ctrl+f'],
      { type: 'license key' },
      ['Return', 'License key'],
      ACCOUNT_READ,
      { type: 'a1b2c3d4-e5f6a7b8-c9d0e1f2' },
      ['Return'],
    ],
    asks: action('setLicense', 'a1b2c3d4-e5f6a7b8-c9d0e1f2'),
    bar: none,
  },
  {
    task: 'trust a Wi-Fi',
    ...takes(4, 3),
    mouse: [
      'Settings',
      'Networks',
      { scrollTo: 'Add Wi-Fi name: Add' },
      'Add Wi-Fi name',
      { type: 'Home' },
      'Add Wi-Fi name: Add',
    ],
    keys: [['ctrl+f'], { type: 'add wi-fi name' }, ['Return', 'Add Wi-Fi name'], { type: 'Home' }, ['Return']],
    asks: action('addTrustedSsid', 'Home'),
    bar: none,
  },
  {
    task: 'tunnel Firefox alone',
    ...takes(2, 3),
    given: proxy,
    mouse: ['Apps', 'Start Firefox'],
    keys: [['ctrl+2'], { wait: 'Start Firefox' }, ['ctrl+f', 'Search apps'], { type: 'fire' }, ['Return']],
    asks: { line: 'POST /api/apps/proxy-launcher', body: { appId: 'firefox.desktop' } },
    bar: { clicks: 2, keys: 7 },
  },
  {
    task: 'turn the kill switch on',
    ...takes(1, 3),
    mouse: ['Kill Switch'],
    keys: [['ctrl+f'], { type: 'kill switch' }, ['Return', 'Kill Switch'], ['space']],
    asks: { line: 'POST /api/killswitch', body: { enabled: true, allowLan: false } },
    bar: { clicks: 1, keys: 10 },
  },
  {
    task: 'see what the kill switch blocked',
    ...takes(1, 2),
    given: ({ daemon }) => {
      daemon.answers = { 'GET /api/killswitch/blocked': BLOCKED };
    },
    mouse: ['Kill Switch: More'],
    keys: [['ctrl+f'], { type: 'blocked' }, ['Return']],
    shows: '192.0.2.9',
    bar: { clicks: 3, keys: null },
  },
  {
    task: SIGN_IN,
    ...takes(2, 2),
    given: ({ daemon }) => daemon.set('status', { state: 'unable', reason: { code: 'CaptivePortal', text: 'vendor' } }),
    mouse: ['Open Sign-in Page', 'Open'],
    keys: [['space'], { wait: 'Sign in to this network' }, ['Return']],
    runs: 'portal',
    bar: { clicks: 1, keys: null },
  },
  {
    task: 'find out why it does not connect',
    ...takes(0, 0),
    given: ({ daemon }) =>
      daemon.set('status', { state: 'unable', reason: { code: 'CaptivePortalTimedOut', text: 'vendor' } }),
    mouse: [],
    keys: [],
    shows: 'This network wants you to sign in',
    bar: none,
  },
  {
    task: 'see the report of a problem, to save it',
    ...takes(2, 2),
    mouse: ['Main Menu', 'Report a Problem…'],
    keys: [['ctrl+f'], { type: 'report a problem' }, ['Return']],
    shows: 'Save…',
    // 0.2.7 copied its log, without facts and unseen
    bar: { clicks: 2, keys: 5 },
  },
  {
    task: 'add an account of a tool',
    ...takes(4, 12),
    mouse: [
      'Settings',
      { scrollTo: 'Tool Accounts' },
      'Tool Accounts',
      'New account for firecrawl: Add…',
      { wait: 'FIRECRAWL_KEY' },
      { type: 'team-e\tfc-canary', reads: 'team-e' },
      'Add',
    ],
    keys: [
      ['ctrl+f'],
      { type: 'tool accounts' },
      ['Return'],
      { wait: 'team-a' },
      ['Tab Tab Tab Tab Tab Tab Tab Tab', 'New account for firecrawl: Add…'],
      ['Return', 'Name'],
      { type: 'team-e\tfc-canary', reads: 'team-e' },
      ['Return'],
    ],
    asks: {
      line: 'POST /api/accounts',
      body: { change: 'add', cli: 'firecrawl', name: 'team-e', credentials: ['fc-canary'], store: 'keyring' },
    },
    bar: { clicks: 4, keys: null },
  },
  {
    task: 'see what is left of the credits',
    ...takes(0, 0),
    mouse: [],
    keys: [],
    shows: '1650 of 3000 left',
    bar: { clicks: 3, keys: null },
  },
  {
    task: 'update',
    ...takes(1, 2),
    given: ({ daemon }) => daemon.setUpdate({ updateAvailable: true, latest: '0.3.0', applicable: true }),
    mouse: ['Update'],
    keys: [['shift+Tab', 'Update'], ['space']],
    asks: { line: 'POST /api/update/apply', body: {} },
    bar: { clicks: 3, keys: null },
  },
  {
    task: 'see the log',
    ...takes(2, 1),
    mouse: ['Settings', { scrollTo: 'Log' }, 'Log'],
    keys: [['ctrl+l']],
    shows: 'No commands yet',
    bar: { clicks: 2, keys: 1 },
  },
  {
    task: 'start at login',
    ...takes(3, 2),
    mouse: ['Settings', { scrollTo: 'App' }, 'App', { gone: 'With the tray icon' }, 'Start at login'],
    keys: [['ctrl+comma', 'Start at login'], { gone: 'With the tray icon' }, ['space']],
    asks: { line: 'POST /api/config/user', body: { tray: { autostart: true } } },
    bar: none,
  },
  {
    task: 'choose the dark theme',
    ...takes(4, 6),
    given: ({ daemon }) => daemon.setConfig({ ui: { theme: 'system' } }),
    mouse: ['Settings', { scrollTo: 'App' }, 'App', { gone: 'With the tray icon' }, 'Theme', 'Dark'],
    keys: [
      ['ctrl+comma', 'Start at login'],
      { gone: 'With the tray icon' },
      ['Tab', 'Theme'],
      ['Return'],
      ['Down Down'],
      ['Return'],
    ],
    asks: { line: 'POST /api/config/user', body: { ui: { theme: 'dark' } } },
    bar: { clicks: 4, keys: null },
  },
  {
    task: 'choose the language',
    ...takes(4, 6),
    mouse: ['Settings', { scrollTo: 'App' }, 'App', { gone: 'With the tray icon' }, 'Language', 'Deutsch'],
    keys: [
      ['ctrl+comma', 'Start at login'],
      { gone: 'With the tray icon' },
      ['Tab Tab', 'Language'],
      ['Return'],
      ['Up'],
      ['Return'],
    ],
    asks: { line: 'POST /api/config/user', body: { ui: { locale: 'de' } } },
    bar: { clicks: 4, keys: null },
  },
  {
    task: 'see how much data went',
    ...takes(2, 2),
    mouse: ['Settings', { scrollTo: 'History' }, 'History'],
    keys: [['ctrl+f'], { type: 'history' }, ['Return']],
    shows: '1.2 GB',
    bar: { clicks: null, keys: 6 },
  },
];

test('no task takes more than the best that the review counted, except one that asks first', () => {
  const over = TASKS.filter(
    ({ clicks, presses, bar }) => clicks > (bar.clicks ?? clicks) || presses > (bar.keys ?? presses),
  );
  assert.deepEqual(
    over.map(({ task }) => task),
    [SIGN_IN],
  );
});

test('the table in the documentation is this one', () => {
  const lines = TASKS.map(
    ({ task, clicks, presses, bar }) =>
      `| ${task} | ${clicks} | ${presses} | ${bar.clicks ?? '–'} | ${bar.keys ?? '–'} |`,
  );
  const document = readFileSync(new URL('../bench/README.md', import.meta.url), 'utf8');
  const absent = lines.filter(line => !document.includes(line));
  assert.deepEqual(absent, [], `test/bench/README.md lacks:\n${absent.join('\n')}`);
});

describe('everyday tasks', { skip: missing('xdotool'), concurrency: false }, () => {
  let stage: Stage;
  let culvert: ReturnType<typeof standInForCulvert> | null = null;

  before(async () => {
    stage = await openStage();
    const { daemon } = stage;
    daemon.apps = [app('firefox', 'Firefox', { kind: 'firefox', method: 'profile' }), app('mail', 'Mail')];
    daemon.history = recorded();
    daemon.tools = [richTool(Date.now())];
    await daemon.listen();
    await stage.find('Disconnected');
    stage.x('windowfocus', '--sync', stage.window());
  });
  after(() => {
    culvert?.end();
    return closeStage(stage, /did not receive a focus-out event/);
  });

  /** The first page as it is at a start, with its focus on the button. */
  const start = async (given?: Task['given']) => {
    const { daemon } = stage;
    daemon.setUpdate(noUpdate());
    daemon.setConfig({ ui: { locale: 'en' } });
    daemon.answers = {};
    culvert?.end();
    culvert = standInForCulvert(stage.desktop);
    daemon.set('status', { state: 'disconnected', reason: null, raw: 'Disconnected', blocked: null });
    daemon.set('settings', { Mode: 'warp', 'WARP tunnel protocol': 'MASQUE' });
    daemon.set('options', { families: 'off', trustedSsids: [] });
    daemon.set('tunnel', NO_TUNNEL);
    daemon.set('killSwitch', KILL_SWITCH);
    // an action on a route ends with the event of the routes
    daemon.onAction = () => daemon.setRoutes(daemon.snapshot.splitTunnel);
    given?.(stage);
    stage.x('windowfocus', '--sync', stage.window());
    daemon.actions = [];
    daemon.asked = [];
    await stage.turn('settings');
    await stage.enter('Search settings', '');
    await stage.turn('connection');
    // a toast of the task before
    await stage.gone('Undo');
    await stage.settled();
  };
  const focused = (name: string) => {
    let now: unknown;
    return until(
      async () => {
        now = await stage.ask({ do: 'focused' });
        return now === name;
      },
      () => `the focus on ${name}; it is on ${now}`,
    );
  };

  const step = async (step: Typed | { wait: string } | { gone: string }) => {
    if ('type' in step) {
      stage.x('type', step.type);
      // a message about half of it moves the widgets below
      await stage.find(step.reads ?? step.type);
    } else if ('wait' in step) await stage.find(step.wait);
    else await stage.gone(step.gone);
    await stage.settled();
  };
  const scrollTo = (name: string) =>
    until(async () => {
      await stage.find(name);
      const [, top] = (await stage.ask({ do: 'place', name })) as number[];
      if (top! < 600) return true;
      stage.x('mousemove', '220', '400', 'click', '5');
      await stage.settled();
      return false;
    }, `a place for ${name}`);
  /** Once its place is the same in two frames: a page moves while its data arrives. */
  const atRest = (name: string) => {
    let last = '';
    return until(async () => {
      if (!(await stage.find(name)).sensitive) return false;
      await stage.settled();
      const now = JSON.stringify(await stage.ask({ do: 'place', name }));
      const still = now === last;
      last = now;
      return still;
    }, `${name} at rest, to be used`);
  };
  const byMouse = async (steps: Click[]) => {
    let clicks = 0;
    for (const each of steps) {
      if (typeof each === 'object' && 'scrollTo' in each) await scrollTo(each.scrollTo);
      else if (typeof each !== 'string') await step(each);
      else {
        await atRest(each);
        await stage.click(each);
        clicks++;
      }
    }
    return clicks;
  };
  const byKeys = async (steps: Press[]) => {
    let presses = 0;
    for (const each of steps) {
      if (!Array.isArray(each)) await step(each);
      else {
        const keys = each[0].split(' ');
        stage.x('key', '--clearmodifiers', ...keys);
        presses += keys.length;
        if (each[1]) await focused(each[1]);
        await stage.settled();
      }
    }
    return presses;
  };
  const done = async ({ asks, shows, runs }: Task) => {
    if (runs) await until(() => culvert?.words() === runs, `culvert ${runs}`);
    if (shows) await stage.shows(shows);
    if (shows === 'Save…') {
      await stage.press('Close');
      await stage.gone('Save…');
    }
    if (!asks) return;
    const { daemon } = stage;
    await until(() => daemon.actions.length + daemon.asked.length >= [asks].flat().length, 'the requests');
    assert.deepEqual([...daemon.actions, ...daemon.asked], [asks].flat());
  };

  for (const each of sample(TASKS, 8))
    test(each.task, async () => {
      await start(each.given);
      const clicks = await byMouse(each.mouse);
      await done(each);
      await start(each.given);
      const keys = await byKeys(each.keys);
      await done(each);
      assert.deepEqual({ clicks, keys }, { clicks: each.clicks, keys: each.presses });
    });
});
