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
  await page.getByRole('searchbox', { name: 'Search settings' }).fill('192.0.2.7');
  await page.getByRole('status').getByText('192.0.2.7').first().waitFor();
  assert.deepEqual(complaints, []);
});
