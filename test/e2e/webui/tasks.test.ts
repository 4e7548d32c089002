// Tasks of people in the browser page, with one demo: each kind of row, keyboard, accessibility, and the parts that only the page has.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { ToolAccounts } from '../../../daemon/api/accounts.ts';
import { COLOR_RULES, checkAccessibility, emulate, shareBrowser } from '../../support/e2e/browser.ts';
import { culvert, getJson } from '../../support/e2e/culvert.ts';
import { confirmed, fill, handsOf, openDemo, press, settled, stateOf, visit } from '../../support/e2e/page.ts';
import { PAGES } from '../../support/e2e/steps.ts';
import { temporary } from '../../support/temporary.ts';
import { sample } from '../../support/thoroughness.ts';
import { until } from '../../support/until.ts';

const openBrowser = shareBrowser();
const HOSTILE = '<img src=x onerror="globalThis.pwned=1"><script>globalThis.pwned=1</script>\u202e{{7*7}}';

describe('one demo', { concurrency: false }, () => {
  const ends: (() => unknown)[] = [];
  let demo: Awaited<ReturnType<typeof openDemo>>;
  before(async () => {
    const atEnd = { after: (end: () => unknown) => ends.push(end) };
    const bin = temporary(atEnd, 'bin');
    writeFileSync(join(bin, 'firecrawl'), '#!/bin/sh\necho ok\n', { mode: 0o755 });
    demo = await openDemo(atEnd, openBrowser, { PATH: `${bin}:${process.env.PATH}` });
  });
  after(async () => {
    for (const end of ends.reverse()) await end();
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
    await page.locator('main .state', { hasText: 'Demo: Connected' }).waitFor();
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
    // pages are made of the same kinds of rows
    const checked = sample(names, 8);
    await page.emulateMedia({ colorScheme: 'light' });
    for (const name of names) {
      await page.setViewportSize({ width: 1000, height: 800 });
      await visit(page, name);
      if (checked.includes(name)) await checkAccessibility(page, `${name}, light`);
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
    await page.locator('main .state', { hasText: 'Demo: Connected' }).waitFor();
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
      'nothing is requested without agreement',
    );
  });

  test('the checks run in the page, the report is shown before it is saved, and a target can be asked about', async () => {
    const { page, complaints } = await useDemo();
    await visit(page, 'checks');
    await page.getByText('Demo · Nothing is tunneled.').waitFor();
    await press(page, 'Run Checks');
    await page.getByText(/checks are fine$/).waitFor();
    await settled(page);
    await checkAccessibility(page, 'results');
    await page.locator('main .hero [aria-haspopup]').click();
    await press(page, 'Report a Problem…');
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
    await page.getByText('two.example', { exact: true }).waitFor();
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
    await press(page, 'Own: More');
    await press(page, 'Add to App Menu, Only Through the Tunnel');
    const shortcut = join(applications, 'org.culvert.Culvert.tunnel-only.own.desktop');
    await until(() => existsSync(shortcut), 'the entry is made');
    await settled(page);
    await press(page, 'Own: More');
    await page.getByRole('menuitem', { name: 'Remove from App Menu, Only Through the Tunnel' }).waitFor();
    assert.match(readFileSync(shortcut, 'utf8'), /^Name=Own \(only through the tunnel\)$/m);
    await checkAccessibility(page, 'the menu of an app');
    await press(page, 'Start Only Through the Tunnel');
    // the demo neither has nor offers the root service
    await page.getByText('The kill switch is not part of the demo.').first().waitFor();
    await press(page, 'Own: More');
    await page.getByRole('menuitem', { name: 'Start Outside the Tunnel' }).waitFor();
    assert.deepEqual(complaints, []);
  });

  test('the accounts of tools are added, changed and set up, and the key goes nowhere else', async () => {
    const { page, complaints, port } = await useDemo();
    const answers: string[] = [];
    page.on('response', async response => void answers.push(await response.text().catch(() => '')));
    await visit(page, 'tools');
    await press(page, 'firecrawl: Set Up…');
    await press(page, 'Install');
    const firecrawl = async () =>
      ((await getJson(port, '/api/accounts')) as unknown as ToolAccounts).tools.find(({ cli }) => cli === 'firecrawl')!;
    const add = async (name: string) => {
      await press(page, 'New account for firecrawl: Add…');
      await fill(page, 'Name', name);
      await fill(page, 'FIRECRAWL_API_KEY', 'fc-canary');
      // there is no keyring here
      await press(page, 'Store in a File');
      await page.getByText(name, { exact: true }).waitFor();
    };
    await add('team-a');
    await add('team-b');
    await press(page, 'team-b: More');
    await press(page, 'Use First');
    await until(async () => (await firecrawl()).accounts[0]?.name === 'team-b');
    await press(page, 'team-a: More');
    await confirmed(page, 'Remove…', 'Remove');
    await page.getByText('team-a', { exact: true }).waitFor({ state: 'detached' });
    await checkAccessibility(page, 'with accounts');
    await page.getByRole('switch', { name: 'Use these accounts for “firecrawl”' }).click();
    await until(async () => (await firecrawl()).shim === 'none');
    assert.deepEqual(
      (await firecrawl()).accounts.map(({ name, sources }) => [name, sources]),
      [['team-b', ['file']]],
    );
    assert.equal([...answers, await page.content()].join().includes('fc-canary'), false);
    assert.deepEqual(complaints, []);
  });

  test('hostile text that a person types stays text', async () => {
    const { page, complaints } = await useDemo();
    // the fields of all pages are the same widgets
    for (const name of sample(Object.keys(PAGES) as (keyof typeof PAGES)[], 6)) {
      await visit(page, name);
      for (const field of await page.locator('main input:enabled:not([type=checkbox], [type=radio])').all())
        await field.fill(HOSTILE);
    }
    assert.equal(await page.evaluate('globalThis.pwned'), undefined);
    assert.equal(await page.locator('img').count(), 0);
    assert.deepEqual(complaints, []);
  });

  test('a change counts down on every page, and is kept or reverted', async () => {
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

  test('theme, motion and forced colors follow the configuration and the system', async () => {
    const { page, home } = await useDemo();
    await page.emulateMedia({ colorScheme: 'light' });
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
});
