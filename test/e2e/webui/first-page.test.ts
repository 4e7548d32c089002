// The first page in a browser: choosing the mode from cards.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkAccessibility, openTab, shareBrowser, startWeb } from '../../support/e2e/browser.ts';

const browserOf = shareBrowser();
const FOCUSED = 'document.activeElement.innerText.split("\\n")[0]';

test('the mode is chosen from cards by keyboard, and “More” leads to all modes', async t => {
  const { address } = await startWeb(t);
  const { page, actions, complaints } = await openTab(await browserOf(t), address);
  const row = page.getByRole('main').getByRole('button', { name: /^Mode/ });
  const dialog = page.getByRole('dialog', { name: 'What goes through the tunnel' });
  const card = (name: string) => dialog.getByRole('radio', { name, exact: true });
  await row.focus();
  await page.keyboard.press('Enter');
  await dialog.waitFor();
  assert.equal(await page.evaluate(FOCUSED), 'All traffic');
  assert.equal(await card('All traffic').getAttribute('aria-checked'), 'true');
  await checkAccessibility(page, 'the cards of the modes');
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  assert.equal(await page.evaluate(FOCUSED), 'Mode', 'the focus is back');
  await page.keyboard.press('Enter');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await dialog.waitFor({ state: 'detached' });
  await row.getByText('DNS only').waitFor();
  assert.deepEqual(actions, [{ action: 'setMode', value: 'doh', status: 200 }]);
  await row.click();
  await dialog.getByRole('radio', { name: 'DNS only', checked: true }).waitFor();
  await dialog.getByRole('button', { name: 'More' }).click();
  await page.getByRole('heading', { name: 'Mode', level: 1 }).waitFor();
  await dialog.waitFor({ state: 'detached' });
  assert.deepEqual(complaints, []);
});
