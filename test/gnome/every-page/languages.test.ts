// The panel in other languages: nothing shown that can't be translated, nothing cut where texts are longer, right to left.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { NO_KILL_SWITCH } from '../../../daemon/state/store.ts';
import { PAGE_NAMES, type PageName } from '../../../daemon/view/page-list.ts';
import { languages } from '../../../data/build/catalogs.ts';
import { type FakeDaemon, problem } from '../../support/gnome/daemon.ts';
import { missing } from '../../support/gnome/desktop.ts';
import {
  app,
  change,
  initialSnapshot,
  KILL_SWITCH,
  logEntry,
  NEEDS,
  ROUTE_ANSWERS,
  STATUSES,
  tool,
} from '../../support/gnome/initial.ts';
import { daemon, stage, useStage } from '../../support/gnome/pages.ts';
import { foreign, pseudo, pseudoCatalog } from '../../support/gnome/pseudo.ts';
import { FULL, inTurn } from '../../support/thoroughness.ts';
import { until } from '../../support/until.ts';

interface Text {
  text: string;
  type: string;
  cut: boolean;
  outside: boolean;
  /** Wraps, and still has no room. */
  overflows: boolean;
  /** May break a word with a hyphen. */
  hyphens: boolean;
  rightToLeft: boolean;
}

/** Pixels: the narrowest window, and the frame that it draws around itself where nothing else does. */
const [NARROW, FRAME] = [360, 10];
/** The width of the window when it is first opened. */
const FIRST = 440;
/** Text that a page shows once it has read its data. */
const LOADED: { [page in PageName]?: string } = {
  apps: 'Firefox',
  log: 'warp-cli connect',
  updates: '0.2.7',
  tools: 'netlify',
  certificate: 'Git',
  editor: '172.17.0.0/16 (docker0)',
};
/** Dialogs and menus: a page, what opens one there, and what closes it. */
const DIALOGS: [page: PageName, opens: string, closes: string][] = [
  ['advanced', 'Reset…', 'Cancel'],
  ['account', 'Remove…', 'Cancel'],
];
/** Texts that no language changes: names, addresses, versions, commands and figures. */
const DATA = [
  /^(Culvert|MASQUE|WireGuard|Firefox[,:]?|Mail[,:]?|firefox\.desktop|mail\.desktop|Free\.?|· Frankfurt|Frankfurt( \(FRA\))?|\(FRA\)|en-XA|0\.0\.0-test|corp\.example\.com|example\.com)$/,
  /^((\w+ \d+, \d+, [\d:]+\n)?warp-cli connect,[\s,]*|[\d:]+\s+connect|Success|sudo systemctl .*)$/,
  /^(\/home\/a\/\.local\/bin\/)?netlify[,:]?$/,
  /^(Gateway CA|Node\.js|Git|Java|curl|SHA-256( AB)*|\/home\/a\/bundle\.pem|keytool .*),?:?$/,
  /^[\d.,:/%\s·+–-]*$/,
  /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/,
  /^(192\.168\.1\.0\/24 \(wlan0\)|172\.17\.0\.0\/16 \(docker0\))$/,
  /^\w+ \d+, \d+, [\d:]+:?$/,
  // the placeholder of a team's name
  /^example$/,
  // texts of GTK and libadwaita, in the desktop's language
  /^Ctrl\+.$/,
  /^(Show Text|Dismiss)$/,
];

/** Reports of the daemon, each on the page that shows it. */
const STATES: Record<string, (daemon: FakeDaemon) => void> = {
  connected(daemon) {
    daemon.set('killSwitch', { ...KILL_SWITCH, enabled: true, active: true });
    daemon.set('tunnel', {
      protocol: 'MASQUE',
      proxyPort: 40000,
      endpoints: ['162.159.198.2:443'],
      handshakeAgeSeconds: 12,
      bytesSent: 1234567,
      bytesReceived: 7654321,
      latencyMs: 12,
      loss: 0.01,
      colo: 'FRA',
      at: new Date().toISOString(),
    });
    daemon.set('status', { state: 'connected', reason: null, raw: 'Connected' });
  },
  paused(daemon) {
    daemon.set('killSwitch', {
      enabled: true,
      active: false,
      pausedUntil: new Date(Date.now() + 600_000).toISOString(),
    });
  },
  unconfirmed(daemon) {
    const confirmBy = new Date(Date.now() + 30_000).toISOString();
    daemon.setChanges([change('mode', { value: 'doh', confirmBy }), change('routes', { confirmBy })]);
  },
  timed(daemon) {
    const endsAt = new Date(Date.now() + 900_000).toISOString();
    daemon.setChanges([change('connection', { value: 'off', endsAt })]);
  },
  unable(daemon) {
    daemon.setChanges([]);
    daemon.set('killSwitch', NO_KILL_SWITCH);
    daemon.set('status', { state: 'unable', reason: { code: 'CaptivePortalTimedOut', text: 'vendor' }, raw: 'Unable' });
  },
  stopped(daemon) {
    daemon.set('status', { state: 'unable', reason: null, blocked: 'service-stopped' });
  },
  update(daemon) {
    daemon.setUpdate({ updateAvailable: true, latest: '1.0.0', applicable: true });
  },
  unregistered(daemon) {
    daemon.set('status', { state: 'unable', reason: null, blocked: 'not-registered' });
  },
};

test('the pseudo-language keeps placeholders and is longer', () => {
  assert.match(pseudo('%s of %2$s: 8 %%'), /^⟦%s óƒ %2\$s: 8 %%( ~~~~)+⟧$/);
  assert.ok(pseudo('Preferences').length >= 1.4 * 'Preferences'.length);
  assert.equal(foreign(`${pseudo('Mode')} · WARP, ${pseudo('%s left').replace('%s', pseudo('On'))}`), ' · WARP, ');
});

/** Fields of the status that most states leave empty. */
const NOTHING = { reason: null, network: null, blocked: null, raw: 'raw', since: new Date().toISOString() } as const;

type Look = (where: string, texts: Text[], width: number) => void;
interface SurveyOptions {
  read?: () => Promise<Text[]>;
  /** Width of the window, in pixels. */
  size?: number;
  pages?: readonly PageName[];
}

describe('other languages', { skip: missing('xdotool', 'msgfmt'), concurrency: false }, () => {
  // libadwaita 1.5 and newer measure the large heading of a question also where only the small one has room
  useStage(() => {
    const messages = join(stage.desktop.prefix, 'share', 'locale', 'en_XA', 'LC_MESSAGES');
    mkdirSync(messages, { recursive: true });
    const catalog = join(stage.desktop.directory, 'en_XA.po');
    writeFileSync(catalog, pseudoCatalog(readFileSync('po/culvert.pot', 'utf8'), 'en_XA'));
    execFileSync('msgfmt', ['-o', join(messages, 'culvert.mo'), catalog]);
    daemon.apps = [app('firefox', 'Firefox', { kind: 'firefox', method: 'profile' }), app('mail', 'Mail')];
    daemon.entries = [logEntry(1, 'warp-cli connect')];
    daemon.tools = [tool('netlify')];
    daemon.answers = ROUTE_ANSWERS;
  }, /Trying to measure GtkLabel/);

  const texts = () => stage.ask({ do: 'texts' }) as Promise<Text[]>;
  /** New rows have no size yet, so the texts are read again until all of them fit, or the time is up. */
  const settledTexts = async () => {
    let found: Text[] = [];
    const fits = async () => {
      found = await texts();
      return !found.some(({ cut, outside, overflows }) => cut || outside || overflows);
    };
    await until(fits, 'every text fits', { limitMs: 20_000 }).catch(() => {});
    return found;
  };
  /** Turns to each page and shows each state, and looks. */
  const survey = async (look: Look, { read = texts, size = NARROW, pages = PAGE_NAMES }: SurveyOptions = {}) => {
    for (const page of pages) {
      await stage.turn(page);
      await stage.ask({ do: 'resize', width: size + FRAME, height: 720 });
      await stage.settled();
      if (LOADED[page]) await stage.shows(LOADED[page]);
      look(page, await read(), await width());
    }
    await stage.turn('connection');
    for (const [name, change] of Object.entries(STATES)) {
      change(daemon);
      await stage.ask({ do: 'resize', width: size + FRAME, height: 720 });
      await stage.settled();
      look(name, await read(), await width());
    }
  };

  test('every visible and spoken text of the window can be translated', async () => {
    daemon.setConfig({ ui: { locale: 'en-XA' } });
    await stage.find(pseudo('Disconnected'));
    const untranslated: string[] = [];
    const look = (where: string, texts: Text[]) => {
      for (const { text, type } of texts) {
        const rest = foreign(text).trim();
        if (rest && !DATA.some(pattern => pattern.test(rest))) untranslated.push(`${where}, ${type}: ${text}`);
      }
    };
    for (const [page, opens, closes] of DIALOGS) {
      await stage.turn(page);
      await stage.press(pseudo(opens));
      await stage.find(pseudo(closes));
      look(opens, await texts());
      await stage.press(pseudo(closes));
      await stage.gone(pseudo(closes));
    }
    await stage.turn('connection');
    await stage.press(pseudo('Main Menu'));
    await stage.find(pseudo('Quit Culvert'));
    look('menu', await texts());
    stage.key('Escape');
    await stage.gone(pseudo('Quit Culvert'));
    daemon.onAction = () => {
      throw problem('tunnel-cli-timeout', 504, 'The tunnel CLI did not answer.');
    };
    await stage.press(pseudo('Connect'));
    await stage.find(pseudo('Details'));
    look('a refusal', await texts());
    await survey(look);
    assert.deepEqual(untranslated, []);
  });

  // in a short run one from right to left, one with long words, and one without spaces, which share the pages
  for (const [at, language] of (FULL ? languages() : ['ar', 'de', 'ja']).entries())
    test(`${language} fits a narrow window, and runs the way it is written`, async () => {
      const locale = language.replace('_', '-');
      daemon.set('status', initialSnapshot(0).status);
      daemon.set('killSwitch', { ...KILL_SWITCH, enabled: true, active: true });
      daemon.setConfig({ ui: { locale } });
      await stage.settled();
      const wrong: string[] = [];
      const look: Look = (where, texts, width) => {
        if (width > NARROW) wrong.push(`${where}: needs ${width} pixels`);
        for (const { text, type, cut, outside, overflows, rightToLeft } of texts) {
          if (cut || outside || overflows) wrong.push(`${where}: ${type} shows a part of: ${text}`);
          if (rightToLeft !== (language === 'ar')) wrong.push(`${where}: ${type} runs the other way: ${text}`);
        }
      };
      await survey(look, { read: settledTexts, pages: inTurn(PAGE_NAMES, at) });
      assert.deepEqual(wrong, []);
    });

  test('names of any length leave a narrow window as it is, and so do large letters the first one', async () => {
    // without a place to break, next to the longest words
    const long = 'n'.repeat(63);
    const host = Array.from({ length: 3 }, () => long).join('.');
    daemon.apps = [app('firefox', 'Firefox'), app('long', long)];
    daemon.tools = [tool('netlify'), tool(long)];
    daemon.setRoutes({
      mode: 'exclude',
      ips: [{ value: '2001:db8:1234:5678::/120', description: null }],
      // prose, which hyphens may break
      hosts: [{ value: host, description: 'm'.repeat(63) }],
    });
    daemon.set('options', {
      fallbackDomains: [{ domain: host, note: long }],
      trustedSsids: [long],
      gatewayId: long,
      organization: long,
    });
    daemon.set('account', { registered: true, organization: long, type: long });
    daemon.set('status', initialSnapshot(0).status);
    const wrong: string[] = [];
    for (const [locale, size, text] of [
      ...(FULL ? ['de', 'ar', 'en-XA'] : ['ar', 'en-XA']).map(locale => [locale, NARROW, 1] as const),
      ...(FULL ? ['en', 'de', 'ar', 'en-XA'] : ['en-XA']).map(locale => [locale, FIRST, 1.6] as const),
    ]) {
      daemon.setConfig({ ui: { locale } });
      await stage.ask({ do: 'scale', text: String(text) });
      await stage.settled();
      const look: Look = (where, texts, width) => {
        if (width > size) wrong.push(`${where}, ${locale}: needs ${width} pixels of ${size}`);
        for (const { text, hyphens } of texts)
          if (hyphens && text.includes(long)) wrong.push(`${where}, ${locale}: hyphens in ${text}`);
      };
      await survey(look, { size });
    }
    assert.deepEqual(wrong, []);
  });

  test('nothing moves between states, however many lines their words take', async () => {
    const moved: string[] = [];
    const all = [...STATUSES, ...NEEDS];
    // in a narrow window, its buttons and its title take two lines each
    const short = all.filter(({ reason }) => reason?.code !== 'CaptivePortal');
    for (const [language, size, states] of [
      ['de', NARROW, short],
      ['ru', NARROW, short],
      ['de', FIRST, all],
    ] as const) {
      daemon.setConfig({ ui: { locale: language } });
      await stage.ask({ do: 'scale', text: '1' });
      await stage.turn('connection');
      const places = { discs: new Map<number, string[]>(), cards: new Map<number, string[]>() };
      const note = (part: keyof typeof places, top: number, status: object) =>
        places[part].set(top, [...(places[part].get(top) ?? []), JSON.stringify(status)]);
      for (const status of states) {
        daemon.set('status', { ...NOTHING, ...status });
        await stage.ask({ do: 'resize', width: size + FRAME, height: 720 });
        await stage.settled();
        note('discs', ((await stage.ask({ do: 'disc' })) as number[])[1]!, status);
        const [card] = (await stage.ask({ do: 'cards' })) as number[][];
        if (card) note('cards', card[1]!, status);
      }
      for (const [part, tops] of Object.entries(places))
        if (tops.size > 1) moved.push(`${part}, ${language}, ${size} pixels: ${JSON.stringify([...tops])}`);
    }
    assert.deepEqual(moved, []);
  });

  const width = async () => ((await stage.ask({ do: 'place', name: 'Culvert' })) as number[])[2]!;
});
