// The browser page in Debian's Chromium against the built daemon with the emulator: pages, actions, states, keyboard.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import type { ToolAccounts } from '../../../daemon/api/accounts.ts';
import { ACTION_NAMES } from '../../../daemon/api/actions.ts';
import {
  COLOR_RULES,
  checkAccessibility,
  type Ends,
  emulate,
  openTab,
  SETUP_STATES,
  shareBrowser,
  startWeb,
} from '../../support/e2e/browser.ts';
import { createHome, culvert, getJson, prefix, start } from '../../support/e2e/culvert.ts';
import { CAN_SEND, FURTHER_STEPS, type Hands, PAGES, type Role, STEPS, type Step } from '../../support/e2e/steps.ts';
import { freePort } from '../../support/ports.ts';
import { sample } from '../../support/thoroughness.ts';
import { until } from '../../support/until.ts';

const openBrowser = shareBrowser();
const visit = async (page: Page, name: keyof typeof PAGES): Promise<void> => {
  if (name === 'editor') await visit(page, 'routes');
  if (name === 'welcome') await visit(page, 'settings');
  // no link leads there on a machine without such tools
  if (name === 'tools' || name === 'certificate') await page.evaluate(`location.hash = '#/${name}'`);
  else await page.getByRole('link', { name: PAGES[name], exact: true }).first().click();
  await page.getByRole('heading', { level: 1, name: PAGES[name] }).waitFor();
};
const press = (page: Page, name: string | RegExp) =>
  page.getByRole('button', { name, ...(typeof name === 'string' ? { exact: true } : {}) }).click();
/** No action is under way, so that what is shown can be used. */
const settled = (page: Page) =>
  until(async () => (await page.locator('[aria-busy=true]').count()) === 0, 'no action is under way');
const stateOf = (page: Page) => page.locator('main .state').innerText();

async function openDemo(t: Ends, environment: Record<string, string> = {}, options = {}) {
  const web = await startWeb(t, environment);
  const browser = await openBrowser(t);
  const tab = await openTab(browser, web.address, options);
  await tab.page.locator('main .state').waitFor();
  return { ...web, browser, ...tab };
}

test('connecting moves nothing: each control and the chart keep their places', async t => {
  const { page, complaints } = await openDemo(t, { CULVERT_EMULATOR_CONNECT_MS: '700' });
  for (const width of [1000, 360]) {
    await page.setViewportSize({ width, height: 800 });
    const look = () =>
      page.evaluate<{ places: number[]; state: string }>(
        `({
          state: document.querySelector('main .state').innerText,
          places: [...document.querySelectorAll('main .buttons, main .row, main .chart')].slice(0, 4)
            .map(element => Math.round(element.getBoundingClientRect().top + scrollY)),
        })`,
      );
    await page.locator('main .chart').waitFor();
    const before = await look();
    const seen: Awaited<ReturnType<typeof look>>[] = [];
    await press(page, 'Connect');
    await until(async () => {
      seen.push(await look());
      return seen.at(-1)!.state === 'Demo: Connected';
    }, 'the tunnel is up');
    await page.getByText('Packet loss').first().waitFor();
    seen.push(await look());
    // on a busy machine a read can fail; the title is then longer
    const steps = seen.filter(({ state }) => /^Demo: (Disconnected|Connecting…|Connected)$/.test(state));
    for (const { places, state } of steps) assert.deepEqual(places, before.places, `${state}, ${width} pixels`);
    await press(page, 'Disconnect');
    await until(async () => (await stateOf(page)) === 'Demo: Disconnected', 'the tunnel is down');
  }
  assert.deepEqual(complaints, []);
});

test('the accounts of tools are added, changed and set up, and the key goes nowhere else', async t => {
  const home = createHome(t);
  const bin = join(home.directory, 'bin');
  mkdirSync(bin);
  writeFileSync(join(bin, 'firecrawl'), '#!/bin/sh\necho ok\n', { mode: 0o755 });
  const { page, complaints, port } = await openDemo(t, { PATH: `${bin}:${home.env.PATH}` });
  const answers: string[] = [];
  page.on('response', async response => void answers.push(await response.text().catch(() => '')));
  await visit(page, 'tools');
  await press(page, 'firecrawl: Set Up…');
  await press(page, 'Install');
  const add = async (name: string) => {
    await fill(page, 'Name of another account of firecrawl', name);
    await fill(page, 'FIRECRAWL_API_KEY', 'fc-canary');
    // there is no keyring here
    await press(page, 'Store in a File');
    await page.getByRole('switch', { name, exact: true }).waitFor();
  };
  await add('team-a');
  await add('team-b');
  await page.getByLabel('First account').selectOption('team-b');
  await page.getByRole('switch', { name: 'team-a', exact: true }).click();
  await confirmed(page, '“team-a” is turned off: Remove…', 'Remove');
  await page.getByRole('switch', { name: 'team-a', exact: true }).waitFor({ state: 'detached' });
  await checkAccessibility(page, 'with accounts');
  await page.getByRole('switch', { name: 'Use these accounts for “firecrawl”' }).click();
  const firecrawl = async () =>
    ((await getJson(port, '/api/accounts')) as unknown as ToolAccounts).tools.find(({ cli }) => cli === 'firecrawl')!;
  await until(async () => (await firecrawl()).shim === 'none');
  assert.deepEqual(
    (await firecrawl()).accounts.map(({ name, sources }) => [name, sources]),
    [['team-b', ['file']]],
  );
  assert.equal([...answers, await page.content()].join().includes('fc-canary'), false);
  assert.deepEqual(complaints, []);
});

async function fill(page: Page, label: string, text: string) {
  const { write, enter } = handsOf(page);
  await write(label, text);
  await enter();
}

async function confirmed(page: Page, button: string, accept: string) {
  await press(page, button);
  await page.getByRole('dialog').getByRole('button', { name: accept, exact: true }).click();
}

function handsOf(page: Page): Hands {
  const find = (role: Role, name: string) => page.getByRole(role, { name, exact: true });
  return {
    click: (role, ...names) =>
      names
        .map(name => find(role, name))
        .reduce((a, b) => a.or(b))
        .click(),
    accept: name => page.getByRole('dialog').getByRole('button', { name, exact: true }).click(),
    write: (name, text) => page.getByLabel(name, { exact: true }).fill(text),
    async enter() {
      // not while the daemon still reads the state; `waitForFunction` takes the `eval` that the page's policy forbids
      await until(() => page.evaluate<boolean>(CAN_SEND), 'the form can be sent');
      await page.keyboard.press('Enter');
    },
  };
}

test('every action of the API can be asked for in the page', async t => {
  // messages at the bottom cover nothing that is to be clicked
  const viewport = { width: 1000, height: 2000 };
  const { page, actions, complaints, home, port } = await openDemo(t, {}, { viewport });
  const hands = handsOf(page);
  let shown: string | null = null;
  const take = async ([name, what]: Step) => {
    const before = actions.length;
    if (name !== shown) await visit(page, name);
    shown = name;
    await what(hands);
    const isAsked = () => actions.length > before;
    // a click is lost when a row moves under the pointer, as when the state that was read brings another one
    await until(isAsked, 'an action is asked for', { limitMs: 20_000 }).catch(() => what(hands));
    await until(isAsked, () => `${name}: an action is asked for by ${what}`);
    // one at a time: the next is asked for when this one's effect has arrived
    await settled(page);
    await page.keyboard.press('Escape');
  };
  for (const step of STEPS) await take(step);
  for (const [words, step] of FURTHER_STEPS) {
    await emulate(home, ...words);
    await getJson(port, '/api/snapshot?fresh=1');
    await take(step);
  }
  const asked = new Set(actions.map(({ action }) => action));
  assert.deepEqual(
    ACTION_NAMES.filter(name => !asked.has(name)),
    [],
  );
  const malformed = actions.filter(({ status }) => status === 415 || status === 422 || status === 400);
  assert.deepEqual(malformed, []);
  assert.deepEqual(complaints, []);
});

test('each thing that must be set up first has its page, with what helps', async t => {
  const { page, home, port } = await openDemo(t);
  for (const [words, title] of SETUP_STATES) {
    await emulate(home, ...words);
    await getJson(port, '/api/snapshot?fresh=1');
    // WARP says so only when a change is requested
    if (words.includes('fault=not-authorized')) await press(page, 'Connect');
    await page.locator('main .state', { hasText: title }).waitFor();
    await checkAccessibility(page, title);
  }
});

test('without warp-cli the page says what to install, and goes on once it is there', async t => {
  const home = createHome(t);
  const cli = join(home.directory, 'bin/warp-cli');
  Object.assign(home.env, { CULVERT_WEBUI: '1', CULVERT_WARP_CLI: cli, CULVERT_EMULATOR_CONNECT_MS: '50' });
  mkdirSync(join(home.directory, 'bin'));
  const [, port] = await start(home, '--port', String(freePort())).says(/answers on http:\/\/127\.0\.0\.1:(\d+)\//);
  const { page, complaints } = await openTab(await openBrowser(t), `http://127.0.0.1:${port}/`);
  await page.locator('main .state', { hasText: 'Cloudflare WARP is not installed' }).waitFor();
  await page.getByRole('button', { name: 'Try the Demo', exact: true }).waitFor();
  await checkAccessibility(page, 'without warp-cli');
  const guide = page.waitForEvent('popup');
  await page.context().route('https://pkg.cloudflareclient.com/**', route => route.fulfill({ body: 'The guide' }));
  // a link where this distribution has a command
  await page.getByText('Installation Guide', { exact: true }).click();
  assert.equal(new URL((await guide).url()).host, 'pkg.cloudflareclient.com');
  // pages that need no warp-cli work, and its own settings can't be used
  await visit(page, 'checks');
  await press(page, 'Check this computer: Run');
  await page.getByText('Install Cloudflare WARP, or try Culvert without it').waitFor();
  await visit(page, 'mode');
  await checkAccessibility(page, 'the modes without warp-cli');
  assert.equal(await page.getByRole('radio').and(page.locator(':enabled:not([aria-disabled=true])')).count(), 0);
  symlinkSync(join(prefix, 'bin/culvert-emulator'), cli);
  await visit(page, 'connection');
  await press(page, 'Connect');
  await page.getByText('Your traffic goes through Cloudflare.').waitFor();
  assert.deepEqual(complaints, []);
});

test('a page whose daemon is gone says since when, and recovers when it is back', async t => {
  const { page, child, ended, home, port, complaints } = await openDemo(t);
  child.kill('SIGTERM');
  await ended;
  const alert = page.getByRole('alert');
  await alert.getByText(/Out of date since .*\d\d:\d\d:\d\d\./).waitFor();
  assert.equal(await page.getByRole('button', { name: 'Connect', exact: true }).getAttribute('aria-disabled'), 'true');
  await checkAccessibility(page, 'without the daemon');
  const again = start(home, '--demo', '--port', String(port));
  await again.says(/answers on/);
  await alert.getByText(/Out of date/).waitFor({ state: 'detached' });
  await press(page, 'Connect');
  await page.locator('main .state', { hasText: 'Demo: Connected' }).waitFor();
  assert.deepEqual(complaints, []);
});

test('the page speaks the language that is configured, else the browser’s', async t => {
  const { page, home } = await openDemo(t, {}, { locale: 'de-DE' });
  await page.getByRole('button', { name: 'Verbinden', exact: true }).waitFor();
  assert.equal(await page.locator('html').getAttribute('lang'), 'de');
  await culvert(home, 'config', 'set', 'ui.locale', 'ru');
  await page.getByRole('button', { name: 'Подключить', exact: true }).waitFor();
});

test('theme, motion and forced colors follow the configuration and the system', async t => {
  const { page, home } = await openDemo(t, {}, { colorScheme: 'light' });
  const background = () => page.evaluate<string>('getComputedStyle(document.body).backgroundColor');
  const light = await background();
  await culvert(home, 'config', 'set', 'ui.theme', 'dark');
  await until(async () => (await background()) !== light, 'the dark theme is shown');
  await page.emulateMedia({ forcedColors: 'active', reducedMotion: 'reduce' });
  await checkAccessibility(page, 'forced colors', { without: ['color-contrast'] });
  const moving = await page.evaluate<boolean>(
    "[...document.querySelectorAll('*')].some(each => getComputedStyle(each).transitionDuration !== '0s')",
  );
  assert.equal(moving, false);
});

test('a known bug is read aloud as English on a German page', async t => {
  const { page, home } = await openDemo(t, { CULVERT_UI_LOCALE: 'de' });
  const knowledge = join(home.directory, '.config/culvert/knowledge');
  mkdirSync(knowledge, { recursive: true });
  writeFileSync(
    join(knowledge, 'known-issues.toml'),
    '[[issue]]\nid = "x"\ntitle = "A bug"\nseverity = "medium"\nsince = "2020.1"\nsymptom = ""\nadvice = "Update."\n',
  );
  await page.locator('a[href$=checks]').first().click();
  await press(page, 'Diesen Rechner prüfen: Prüfen');
  await page.locator('.subtitle [lang=en]', { hasText: 'A bug. Update.' }).waitFor();
  assert.match(
    (await page.locator('.subtitle:has([lang=en])').first().innerText()).replace('A bug. Update.', ''),
    /Version/,
  );
});

const HOSTILE = '<img src=x onerror="globalThis.pwned=1"><script>globalThis.pwned=1</script>\u202e{{7*7}}';

test('hostile text of WARP, of apps and of a person stays text', async t => {
  const { page, home, port, complaints } = await openDemo(t);
  const applications = join(home.directory, '.local/share/applications');
  mkdirSync(applications, { recursive: true });
  writeFileSync(
    join(applications, 'evil.desktop'),
    `[Desktop Entry]\nType=Application\nName=${HOSTILE}\nExec=firefox-esr\nCategories=WebBrowser;\n`,
  );
  await emulate(home, `organization=${HOSTILE}`);
  await getJson(port, '/api/snapshot?fresh=1');
  // the fields of all pages are the same widgets
  for (const name of sample(Object.keys(PAGES) as (keyof typeof PAGES)[], 6)) {
    await visit(page, name);
    for (const field of await page.locator('main input:enabled:not([type=checkbox], [type=radio])').all())
      await field.fill(HOSTILE);
  }
  await visit(page, 'apps');
  await page.getByText('<img src=x').first().waitFor();
  await visit(page, 'account');
  await page.getByText('<script>').first().waitFor();
  assert.equal(await page.evaluate('globalThis.pwned'), undefined);
  assert.equal(await page.locator('img').count(), 0);
  assert.deepEqual(complaints, []);
});

describe('one demo', { concurrency: false }, () => {
  const ends: (() => Promise<void>)[] = [];
  let demo: Awaited<ReturnType<typeof openDemo>>;
  before(async () => {
    demo = await openDemo({ after: end => ends.push(end) });
  });
  after(async () => {
    for (const end of ends) await end();
  });

  /** The demo of all tests that leave nothing which a reset of the emulator does not remove: disconnected, on its first page. */
  async function useDemo() {
    const { page, home, port, actions, complaints } = demo;
    await emulate(home, 'reset');
    await getJson(port, '/api/snapshot?fresh=1');
    await page.setViewportSize({ width: 1000, height: 800 });
    await page.emulateMedia({ colorScheme: null });
    // a test may end in a dialog
    await page.keyboard.press('Escape');
    await page.evaluate("location.hash = '#/connection'");
    await page
      .locator('main .state', { hasText: 'Disconnected' })
      .waitFor()
      .catch(async error => {
        const shown = await page.locator('body').innerText();
        const { status } = await getJson(port, '/api/snapshot');
        throw new Error(`${shown}\n${JSON.stringify(status)}`, { cause: error });
      });
    await settled(page);
    actions.length = 0;
    complaints.length = 0;
    return demo;
  }

  test('the page shows the state in a sentence, and the button changes it', async () => {
    const { page, complaints, actions } = await useDemo();
    assert.equal(await stateOf(page), 'Demo: Disconnected');
    await press(page, 'Connect');
    await page.getByText('Demo: your real traffic is not protected.').waitFor();
    await until(async () => (await page.title()).includes('Connected'), 'the title has the state');
    await press(page, 'Disconnect');
    await page.getByRole('button', { name: 'Connect', exact: true }).waitFor();
    assert.equal(await stateOf(page), 'Demo: Disconnected');
    // the event may come before the answer
    await until(() => actions.length === 2, 'two answers');
    assert.deepEqual(
      actions.map(({ action, status }) => [action, status]),
      [
        ['connect', 200],
        ['disconnect', 200],
      ],
    );
    assert.deepEqual(complaints, []);
  });

  test('every page is accessible, light and dark, and fits 320 px without scrolling sideways', async () => {
    const { page, complaints } = await useDemo();
    await press(page, 'Connect');
    await page.locator('main .state', { hasText: 'Demo: Connected' }).waitFor();
    const names = Object.keys(PAGES) as (keyof typeof PAGES)[];
    await page.emulateMedia({ colorScheme: 'light' });
    for (const name of names) {
      await page.setViewportSize({ width: 1000, height: 800 });
      await visit(page, name);
      await checkAccessibility(page, `${name}, light`);
      await page.setViewportSize({ width: 320, height: 640 });
      const wide = await page.evaluate<number>('document.documentElement.scrollWidth');
      assert.equal(wide, 320, `${name} is ${wide} px wide`);
    }
    await page.setViewportSize({ width: 1000, height: 800 });
    await page.emulateMedia({ colorScheme: 'dark' });
    // pages share their colors, and differ in nothing else between the schemes
    for (const name of sample(names, 3)) {
      await visit(page, name);
      await checkAccessibility(page, `${name}, dark`, { only: COLOR_RULES });
    }
    await page.setViewportSize({ width: 320, height: 640 });
    await page.getByRole('link', { name: 'Settings', exact: true }).click();
    await checkAccessibility(page, 'the settings of a narrow window');
    assert.deepEqual(complaints, []);
  });

  test('two tabs and the command line show the same state', async () => {
    const { page, browser, address, home } = await useDemo();
    const second = await openTab(browser, `${address}#/mode`);
    await press(page, 'Connect');
    await second.page.locator('header .badge', { hasText: /^Demo: Connected/ }).waitFor();
    await second.page.getByRole('radio', { name: 'All traffic, your own DNS' }).click();
    await page.locator('main .value', { hasText: 'All traffic, your own DNS' }).waitFor();
    await culvert(home, 'disconnect', '--wait');
    await page.getByRole('button', { name: 'Connect', exact: true }).waitFor();
    await second.page.locator('header .badge', { hasText: /^Demo: Disconnected/ }).waitFor();
    await second.page.context().close();
  });

  test('everything can be reached and used with the keyboard alone', async () => {
    const { page, actions } = await useDemo();
    await page.reload();
    const focused = () => page.evaluate<string>('document.activeElement.textContent.trim()');
    // while the daemon still reads the state, "Connect" can have the focus, but can't be used
    await page.locator('main .state', { hasText: 'Disconnected' }).waitFor();
    await page.keyboard.press('Tab');
    assert.equal(await focused(), 'Skip to content');
    await page.keyboard.press('Enter');
    assert.equal(await focused(), 'Connection');
    await page.keyboard.press('Tab');
    assert.equal(await focused(), 'Connect');
    await page.keyboard.press('Space');
    await page.getByText('Demo: your real traffic is not protected.').waitFor();
    await settled(page);
    assert.equal(await focused(), 'Disconnect', 'the button keeps the focus while its action is under way');
    await page.goto(`${page.url().replace(/#.*/, '')}#/mode`);
    await page.getByRole('radio', { name: 'All traffic', exact: true }).focus();
    await page.keyboard.press('ArrowDown');
    assert.match((await focused())!, /^DNS only/);
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    assert.match((await focused())!, /^DNS only/, 'a dialog gives the focus back');
    assert.deepEqual(
      actions.map(({ action }) => action),
      ['connect'],
      'what was not agreed to is not asked for',
    );
  });

  test('the checks run in the page, the report is shown before it is saved, and a target can be asked about', async () => {
    const { page, complaints } = await useDemo();
    await visit(page, 'checks');
    await press(page, 'Check this computer: Run');
    await page.getByText('Needs attention').waitFor();
    await page.getByText('the embedded emulator: nothing is tunneled').waitFor();
    await settled(page);
    await checkAccessibility(page, 'results');
    await press(page, 'Report a problem: Show Report…');
    const dialog = page.getByRole('dialog');
    await dialog.waitFor({ timeout: 60_000 });
    await dialog.locator('summary', { hasText: 'doctor.json' }).click();
    await dialog.getByText('"verdict"').first().waitFor();
    await checkAccessibility(page, 'the report');
    const download = page.waitForEvent('download');
    await dialog.getByRole('button', { name: 'Save…', exact: true }).click();
    assert.equal((await download).suggestedFilename(), 'culvert-report.zip');
    await visit(page, 'routes');
    await fill(page, 'Does this site use WARP?', '10.1.2.3');
    await page.getByText('The tunnel is not connected.').waitFor();
    const top = async (text: string) => (await page.getByText(text).first().boundingBox())!.y;
    assert.ok((await top('Does this site use WARP?')) < (await top('These bypass WARP.')), 'right above its list');
    assert.deepEqual(complaints, []);
  });

  test('text typed while an entry is added stays', async () => {
    const { page } = await useDemo();
    await visit(page, 'dns');
    let release = () => {};
    const released = new Promise<void>(resolve => {
      release = resolve;
    });
    await page.route('**/api/action', async route => {
      const response = await route.fetch();
      // a refused action brings no event
      assert.equal(response.status(), 200, await response.text());
      await released;
      await route.fulfill({ response });
    });
    await fill(page, 'Add a domain', 'one.example');
    await page.getByText('one.example').waitFor(); // the event comes before the answer
    const field = page.getByLabel('Add a domain', { exact: true });
    await field.fill('two.example');
    release();
    await page.locator('main[aria-busy="false"]').waitFor();
    assert.equal(await field.inputValue(), 'two.example');
    await handsOf(page).enter();
    await page.getByText('two.example').waitFor();
    await until(async () => (await field.inputValue()) === '', 'the field is empty again');
    await page.unrouteAll();
  });

  test('an app is offered only through the tunnel, and gets a menu entry that starts it so', async () => {
    const { page, home, complaints } = await useDemo();
    const applications = join(home.directory, '.local/share/applications');
    mkdirSync(applications, { recursive: true });
    const entry = '[Desktop Entry]\nType=Application\nName=Own\nExec=firefox-esr\nCategories=WebBrowser;\n';
    writeFileSync(join(applications, 'own.desktop'), entry);
    await visit(page, 'apps');
    await press(page, 'More ways to start Own');
    await press(page, 'Own: Add to App Menu, Only Through the Tunnel');
    const shortcut = join(applications, 'org.culvert.Culvert.tunnel-only.own.desktop');
    await page.getByRole('button', { name: 'Own: Remove from App Menu, Only Through the Tunnel' }).waitFor();
    assert.match(readFileSync(shortcut, 'utf8'), /^Name=Own \(only through the tunnel\)$/m);
    await checkAccessibility(page, 'the menu of an app');
    await press(page, 'Own: Start Only Through the Tunnel');
    // the demo neither has nor offers the root service
    await page.getByText('The kill switch is not part of the demo.').first().waitFor();
    await page.getByRole('button', { name: 'Own: Start Outside the Tunnel' }).waitFor();
    assert.deepEqual(complaints, []);
  });

  test('a rule for networks is written by a form, and other networks are tried', async () => {
    const { page, complaints } = await useDemo();
    await visit(page, 'networks');
    await press(page, 'New rule: Add…');
    await page.getByLabel('Network', { exact: true }).selectOption('Any Ethernet');
    await page.getByLabel('WARP', { exact: true }).selectOption('Pause');
    await page.getByText('Any Ethernet: WARP is paused').waitFor();
    await checkAccessibility(page, 'the form of a rule');
    await press(page, 'Save this rule: Save');
    await page.getByRole('dialog').getByText('Let the rule “ethernet” lower protection?').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Allow' }).click();
    await page.getByText('Lowers protection. You allowed it').waitFor();
    await press(page, 'Edit ethernet');
    await page.getByRole('button', { name: 'Leave the rules as they are: Cancel' }).click();
    await page.getByLabel('What if this computer is on').selectOption('Ethernet');
    await page.getByText('WARP is paused, by the rule “ethernet”.').waitFor();
    await press(page, 'Remove ethernet');
    await page.getByText('ethernet removed').waitFor();
    assert.deepEqual(complaints, []);
  });

  test('a change counts down on every page, and is kept, reverted, or ends on time', async () => {
    const { page, complaints, home } = await useDemo();
    const question = page.getByText('Keep this change?');
    const checked = (name: string) => page.getByRole('radio', { name, exact: true, checked: true }).waitFor();
    await press(page, 'Connect');
    await page.locator('main .state', { hasText: 'Demo: Connected' }).waitFor();
    await visit(page, 'log');
    await culvert(home, 'mode', 'warp+doh', '--confirm-within', '600');
    await question.waitFor();
    await page
      .getByRole('timer')
      .getByText(/^Reverting in (10|\d):\d\d$/)
      .waitFor();
    await checkAccessibility(page, 'the bar of an unconfirmed change');
    await press(page, 'Revert Now');
    await question.waitFor({ state: 'detached' });
    await visit(page, 'mode');
    await checked('All traffic');
    await culvert(home, 'protocol', 'WireGuard', '--confirm-within', '600');
    await press(page, 'Keep');
    await question.waitFor({ state: 'detached' });
    await checked('WireGuard');
    await visit(page, 'connection');
    await press(page, 'Pause for 15 minutes: Pause');
    await press(page, '15 Minutes More');
    await press(page, 'Connect Now');
    await page.getByText('Demo: your real traffic is not protected.').waitFor();
    assert.deepEqual(complaints, []);
  });

  test('the routes are edited as text with a preview, and settings are exported and applied as a file', async () => {
    const { page, complaints, home } = await useDemo();
    await visit(page, 'routes');
    await page.getByRole('main').getByRole('link', { name: 'Edit as Text' }).click();
    const field = page.getByLabel('Edit as Text');
    await press(page, 'No preview yet: Preview');
    await page.getByText('0 to add, 0 to remove').waitFor();
    await field.fill(`${await field.inputValue()}203.0.113.0/24\n`);
    await press(page, 'No preview yet: Preview');
    await page.getByText('+ 203.0.113.0/24').waitFor();
    await checkAccessibility(page, 'a preview');
    await press(page, 'Apply changes: Apply');
    await press(page, 'Keep');
    await until(async () => (await culvert(home, 'routes')).stdout.includes('203.0.113.0/24'), 'the list');
    await press(page, 'Last change: Undo');
    await press(page, 'Keep');
    await until(async () => !(await culvert(home, 'routes')).stdout.includes('203.0.113.0/24'), 'the list before');
    await visit(page, 'preferences');
    const download = page.waitForEvent('download');
    await press(page, 'Export settings: Export…');
    assert.equal((await download).suggestedFilename(), 'culvert-settings.toml');
    const file = join(home.directory, 'settings.toml');
    writeFileSync(file, '[tunnel]\nmode = "doh"\n');
    const chooser = page.waitForEvent('filechooser');
    await press(page, 'Import settings: Choose File…');
    await (await chooser).setFiles(file);
    await page.getByRole('dialog').getByText('doh').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Apply', exact: true }).click();
    await press(page, 'Keep');
    assert.equal((await culvert(home, 'mode')).stdout.trim(), 'doh');
    assert.deepEqual(complaints, []);
  });
});
