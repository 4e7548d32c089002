// The search of the browser page, by the keyboard and to rows of other pages, and its first page: the cards of the modes, and the
// ring of a pause.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { PAGE_NAMES } from '../../../daemon/view/page-list.ts';
import { checkAccessibility, emulate, openTab, shareBrowser, shareWeb, turnTo } from '../../support/e2e/browser.ts';
import { culvert, getJson } from '../../support/e2e/culvert.ts';
import { until } from '../../support/until.ts';

const openBrowser = shareBrowser();
const openWeb = shareWeb();

/**
 * Watches which rows are revealed with the keyboard on them: a highlight may end before a busy machine looks.
 * @returns a function that waits for such a row with a text
 */
async function watchRevealed(page: Page) {
  await page.evaluate(`globalThis.revealed = []; new MutationObserver(changes => {
    for (const { target } of changes)
      if (target.dataset.revealed !== undefined && target.contains(document.activeElement)) revealed.push(target.textContent);
  }).observe(document, { subtree: true, attributes: true, attributeFilter: ['data-revealed'] })`);
  const isRevealed = (text: string) => `revealed.splice(0).some(each => each.includes(${JSON.stringify(text)}))`;
  return (text: string) => until(() => page.evaluate<boolean>(isRevealed(text)), `the row ${text}`);
}

test('the search finds a row by an everyday word, and puts the keyboard onto it', async t => {
  const { address } = await openWeb();
  const { page, complaints } = await openTab(await openBrowser(t), address);
  const revealed = await watchRevealed(page);
  await page.getByRole('searchbox', { name: 'Search settings' }).fill('wlan');
  await page.getByRole('link', { name: /All Wi-Fi networks/ }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Networks', level: 1 }).waitFor();
  await revealed('All Wi-Fi networks');
  const search = page.getByRole('searchbox', { name: 'Search settings' });
  await search.fill('192.0.2.7');
  await page.getByRole('status').getByText('192.0.2.7').first().waitFor();
  await search.fill('');
  await page.getByRole('heading', { name: 'Networks', level: 1 }).waitFor();
  await page.locator('[data-revealed]').waitFor({ state: 'detached' });
  assert.ok(await page.evaluate(`document.activeElement.type === 'search'`), 'an emptied search keeps the keyboard');
  assert.deepEqual(complaints, []);
});

test('a hit on the page behind the search closes the search', async t => {
  const { address } = await openWeb();
  const { page, complaints } = await openTab(await openBrowser(t), `${address}#/dns`);
  const revealed = await watchRevealed(page);
  const search = page.getByRole('searchbox', { name: 'Search settings' });
  const closes = async (word: string, hit: RegExp) => {
    await search.fill(word);
    await page.getByRole('main').getByRole('link', { name: hit }).first().click();
    await page.getByRole('heading', { name: 'DNS', level: 1 }).waitFor();
    assert.equal(await search.inputValue(), '');
  };
  await closes('dns', /^DNS/);
  for (const _ of ['first', 'again']) {
    await closes('malware', /^Malware/);
    await revealed('Malware');
  }
  assert.deepEqual(complaints, []);
});

test('a hit for the keyboard shortcuts opens them over the page', async t => {
  const { address } = await openWeb();
  const { page, complaints } = await openTab(await openBrowser(t), address);
  const search = page.getByRole('searchbox', { name: 'Search settings' });
  await search.fill('hotkey');
  await page.getByRole('main').getByRole('button', { name: 'Keyboard Shortcuts' }).click();
  await page.getByRole('dialog', { name: 'Keyboard Shortcuts' }).getByText('Tab: next control').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  assert.deepEqual(complaints, []);
});

test('rows of lists are found, and the number of hits is announced', async t => {
  const { address } = await openWeb();
  const { page, complaints } = await openTab(await openBrowser(t), address);
  const search = page.getByRole('searchbox', { name: 'Search settings' });
  await search.fill('192.168.0.0/16');
  await page.getByRole('status').getByText('1 result', { exact: true }).waitFor();
  await page
    .getByRole('main')
    .getByRole('link', { name: /^192\.168\.0\.0\/16/ })
    .click();
  await page.getByRole('heading', { name: 'Routes', level: 1 }).waitFor();
  assert.equal(await page.getByRole('main').getByRole('searchbox').inputValue(), '192.168.0.0/16');
  await search.fill('xyzzy');
  await page.getByRole('status').getByText('Nothing found').waitFor();
  assert.deepEqual(complaints, []);
});

/** The demo as it starts: disconnected, in the usual mode. */
async function openFresh() {
  const web = await openWeb();
  await emulate(web.home, 'reset');
  await getJson(web.port, '/api/snapshot?fresh=1');
  return web;
}

const FOCUSED = 'document.activeElement.innerText.split("\\n")[0]';

test('the mode is two clicks or keys away, and the first page shows it as confirmed', async t => {
  const { address } = await openFresh();
  const { page, actions, complaints } = await openTab(await openBrowser(t), address);
  const row = page.getByRole('main').getByRole('link', { name: /^Mode/ });
  await row.focus();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Mode', level: 1 }).waitFor();
  await page.getByRole('radio', { name: 'All traffic', exact: true, checked: true }).focus();
  await page.keyboard.press('ArrowDown');
  await until(async () => (await page.evaluate(FOCUSED)) === 'DNS only', 'the focus on the next mode');
  await page.keyboard.press('Enter');
  await page.getByRole('radio', { name: 'DNS only', exact: true, checked: true }).waitFor();
  await until(() => actions.length === 1, 'the answer');
  assert.deepEqual(actions, [{ action: 'setMode', value: 'doh', status: 200 }]);
  await page.goBack();
  await row.getByText('DNS only').waitFor();
  assert.deepEqual(complaints, []);
});

test('a pause is a ring that gets shorter, is extended, and ends with its button', async t => {
  const { address, home } = await openFresh();
  assert.equal((await culvert(home, 'connect', '--wait')).code, 0);
  const { page, complaints } = await openTab(await openBrowser(t), address);
  const main = page.getByRole('main');
  await main.getByRole('button', { name: 'Disconnect' }).waitFor();
  assert.equal(await page.locator('.ring').count(), 0);
  await main.getByRole('button', { name: 'Pause WARP: 15 minutes' }).click();
  await main.getByText(/^Back on at .*\d\d:\d\d · \d\d:\d\d left$/).waitFor();
  const left = async () =>
    Number((await page.locator('.ring > .left').getAttribute('stroke-dasharray'))!.split(' ')[0]);
  const first = await left();
  assert.ok(first > 50 && first <= 100, String(first));
  await until(async () => (await left()) < first, 'a shorter ring');
  await checkAccessibility(page, 'a pause');
  await main.getByRole('button', { name: '15 Minutes More' }).click();
  await main.getByText(/^Back on at .*\d\d:\d\d · (30|2\d):\d\d left$/).waitFor();
  await main.getByRole('button', { name: 'Connect Now' }).click();
  await main.locator('.state', { hasText: 'Demo: Connected' }).waitFor();
  await page.locator('.ring').waitFor({ state: 'detached' });
  assert.deepEqual(complaints, []);
});

test('a search that is typed while the pages can’t be loaded keeps its text', async t => {
  const { address } = await openFresh();
  const { page } = await openTab(await openBrowser(t), address);
  await page.evaluate('window.before = true');
  const search = page.getByRole('searchbox', { name: 'Search settings' });
  // focusing the field already requests the script
  let endTyping = () => {};
  const typed = new Promise<void>(resolve => {
    endTyping = resolve;
  });
  let refused = 0;
  await page.route(/\/chunk-\w+\.js$/, async route => {
    if (refused++ > 0) return route.continue();
    await typed;
    await route.abort();
  });
  await search.fill('wlan');
  endTyping();
  await page.getByRole('link', { name: /All Wi-Fi networks/ }).waitFor();
  assert.equal(await page.evaluate('window.before'), undefined, 'the page is loaded again');
  assert.equal(await search.inputValue(), 'wlan');
});

test('a menu is used by keyboard, and gives the focus back', async t => {
  const { address, home } = await openFresh();
  assert.equal((await culvert(home, 'connect', '--wait')).code, 0);
  const { page, actions, complaints } = await openTab(await openBrowser(t), address);
  const button = page.getByRole('button', { name: 'Pause WARP: More' });
  const isFocused = (name: string) =>
    until(async () => (await page.evaluate(FOCUSED)) === name, `the focus on ${name}`);
  await button.focus();
  await page.keyboard.press('Enter');
  await page.getByRole('menu', { name: 'Pause WARP' }).waitFor();
  await isFocused('Pause for 1 hour');
  await checkAccessibility(page, 'a menu');
  await page.keyboard.press('End');
  await isFocused('Until…');
  await page.keyboard.press('Escape');
  await page.getByRole('menu').waitFor({ state: 'detached' });
  await isFocused('⋮');
  await page.keyboard.press('Enter');
  await isFocused('Pause for 1 hour');
  await page.keyboard.press('ArrowUp');
  await isFocused('Until…');
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog', { name: 'Pause WARP' });
  await dialog.getByLabel('Until (time)').fill('25:61');
  await dialog.getByText('Enter a time of day such as 18:00').waitFor();
  await dialog.getByRole('button', { name: 'Pause' }).click();
  await checkAccessibility(page, 'a question with a field');
  assert.deepEqual(actions, []);
  await page.keyboard.press('Escape');
  await isFocused('⋮');
  assert.deepEqual(complaints, []);
});

test('on a phone the heading is within the first 140 px, and the search opens behind its icon', async t => {
  const { address } = await openFresh();
  const viewport = { width: 360, height: 740 };
  const { page, complaints } = await openTab(await openBrowser(t), address, { viewport });
  for (const name of ['connection', 'history', 'dns'] as const) {
    await turnTo(page, name);
    const box = await page.getByRole('heading', { level: 1 }).boundingBox();
    assert.ok(box!.y + box!.height <= 140, `${name}: ${JSON.stringify(box)}`);
  }
  const search = page.getByRole('searchbox', { name: 'Search settings' });
  assert.equal(await search.isVisible(), false);
  await page.getByRole('button', { name: 'Search settings' }).click();
  await search.fill('wlan');
  await page.getByRole('link', { name: /All Wi-Fi networks/ }).waitFor();
  assert.deepEqual(complaints, []);
});

test('every page has the same width from 720 px on', async t => {
  const { address } = await openFresh();
  const { page } = await openTab(await openBrowser(t), address);
  for (const width of [720, 1100, 1400]) {
    await page.setViewportSize({ width, height: 800 });
    const edges = new Set<string>();
    for (const name of PAGE_NAMES) {
      await turnTo(page, name);
      if (name === 'connection' && width >= 1200) continue; // two columns
      const box = (await page.locator('main').boundingBox())!;
      edges.add(`${box.x} ${box.width}`);
    }
    assert.equal(edges.size, 1, `${width}: ${[...edges].join(', ')}`);
  }
  await page.evaluate(`location.hash = '#/connection'`);
  const head = (await page.locator('main > .hero').boundingBox())!;
  const rows = (await page.locator('main > .hero + *').boundingBox())!;
  assert.ok(rows.x >= head.x + head.width && Math.abs(rows.y - head.y) < 1, 'Connection has two columns at 1400 px');
});

/** Marks and arrows above or below their words, and headings with a broken word. */
const STRAY = `[
  ...[...document.querySelectorAll('main :is(.sign, .mark) + .words, main .words + .arrow')].filter(element => {
    const [own, other] = [element, element.previousElementSibling].map(each => each.getBoundingClientRect());
    return own.top >= other.bottom || other.top >= own.bottom;
  }),
  ...[...document.querySelectorAll('main h2[id]')].filter(heading => {
    const range = document.createRange();
    range.selectNodeContents(heading);
    return range.getClientRects().length > heading.textContent.split(' ').length;
  }),
].map(element => element.parentElement.textContent)`;

test('in large letters, marks and arrows stay next to their words, and no heading is broken', async t => {
  const { address } = await openFresh();
  const viewport = { width: 720, height: 800 };
  const { page } = await openTab(await openBrowser(t), address, { viewport });
  await page.evaluate("document.documentElement.style.fontSize = '160%'");
  const stray: string[] = [];
  for (const name of PAGE_NAMES) {
    await turnTo(page, name);
    stray.push(...(await page.evaluate<string[]>(STRAY)));
  }
  assert.deepEqual(stray, []);
});

test('with forced colors, the sign of the state has the color of the text', async t => {
  const { address } = await openFresh();
  const { page } = await openTab(await openBrowser(t), address, { forcedColors: 'active' });
  const colors = await page.evaluate<string[]>(
    "[...document.querySelectorAll('main .hero :is(.disc > .icon, .sentence)')].map(each => getComputedStyle(each).color)",
  );
  assert.deepEqual([colors.length, new Set(colors).size], [2, 1]);
});

test('in print there is only the page', async t => {
  const { address } = await openFresh();
  const { page } = await openTab(await openBrowser(t), `${address}#/routes`);
  await page.locator('.virtual-list li').first().waitFor();
  await page.emulateMedia({ media: 'print' });
  for (const part of ['nav', '.banners', '.toolbar >> nth=0'])
    assert.equal(await page.locator(part).isVisible(), false, part);
  const height = await page
    .locator('.virtual-list')
    .evaluate(({ scrollHeight, clientHeight }) => scrollHeight - clientHeight);
  assert.equal(height, 0, 'the list has all of its rows');
});
