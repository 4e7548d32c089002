// The search of the browser page: by the keyboard, to a row of another page.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { emulate, openTab, shareBrowser, shareWeb } from '../../support/e2e/browser.ts';
import { until } from '../../support/until.ts';

const openBrowser = shareBrowser();
const openWeb = shareWeb();

test('the search finds a row by an everyday word, and puts the keyboard onto it', async t => {
  const { address } = await openWeb();
  const { page, complaints } = await openTab(await openBrowser(t), address);
  await page.getByRole('searchbox', { name: 'Search settings' }).fill('wlan');
  await page.getByRole('link', { name: /All Wi-Fi networks/ }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Networks', level: 1 }).waitFor();
  await page.locator('[data-revealed]', { hasText: 'All Wi-Fi networks' }).waitFor();
  assert.ok(await page.evaluate(`document.activeElement.closest('[data-revealed]') !== null`), 'the keyboard');
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
    await page.locator('[data-revealed]', { hasText: 'Malware' }).waitFor();
  }
  assert.deepEqual(complaints, []);
});

test('a hit for the keyboard shortcuts opens them over the page, and a hit for the text size says whose setting it is', async t => {
  const { address } = await openWeb();
  const { page, complaints } = await openTab(await openBrowser(t), address);
  const search = page.getByRole('searchbox', { name: 'Search settings' });
  await search.fill('hotkey');
  await page.getByRole('main').getByRole('button', { name: 'Keyboard Shortcuts' }).click();
  await page.getByRole('dialog', { name: 'Keyboard Shortcuts' }).getByText('Tab: next control').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await search.fill('font size');
  await page
    .getByRole('main')
    .getByRole('link', { name: /^Accessibility/ })
    .click();
  await page.locator('[data-revealed]', { hasText: 'Text size, contrast and animations follow' }).waitFor();
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

test('a search that is typed while the pages can’t be loaded keeps its text', async t => {
  const { address, home } = await openWeb();
  const { page } = await openTab(await openBrowser(t), address);
  let refused = 0;
  await page.route(/\/chunk-\w+\.js$/, route => (refused++ === 0 ? route.abort() : route.continue()));
  await page.evaluate('window.before = true');
  await page.getByRole('searchbox', { name: 'Search settings' }).fill('wlan');
  await until(() => refused > 0, 'the script is asked for');
  await emulate(home, 'fault=no-network');
  await page.getByRole('link', { name: /All Wi-Fi networks/ }).waitFor();
  assert.equal(await page.evaluate('window.before'), undefined, 'the page is loaded again');
  assert.equal(await page.getByRole('searchbox', { name: 'Search settings' }).inputValue(), 'wlan');
});
