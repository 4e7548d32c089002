// The search of the browser page: by the keyboard, to a row of another page.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { launchBrowser, openTab, startWeb } from '../../support/e2e/browser.ts';

test('the search finds a row by an everyday word, and puts the keyboard onto it', async t => {
  const { address } = await startWeb(t, {});
  const { page, complaints } = await openTab(await launchBrowser(t), address);
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
  const { address } = await startWeb(t, {});
  const { page, complaints } = await openTab(await launchBrowser(t), `${address}#/dns`);
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
