// The first page in a browser: choosing the mode from cards, and the ring of a pause.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkAccessibility, openTab, shareBrowser, startWeb } from '../../support/e2e/browser.ts';
import { culvert } from '../../support/e2e/culvert.ts';
import { until } from '../../support/until.ts';

const browserOf = shareBrowser();
const FOCUSED = 'document.activeElement.innerText.split("\\n")[0]';

test('the mode is chosen from cards by keyboard, and “More” leads to all modes', async t => {
  const { address } = await startWeb(t);
  const { page, actions, complaints } = await openTab(await browserOf(t), address);
  const row = page.getByRole('main').getByRole('button', { name: /^Mode/ });
  const dialog = page.getByRole('dialog', { name: 'What goes through the tunnel' });
  const card = (name: string) => dialog.getByRole('radio', { name, exact: true });
  /** A key goes to what has the focus, which moves a moment after a dialog is shown or gone. */
  const focused = (name: string) => until(async () => (await page.evaluate(FOCUSED)) === name, `the focus on ${name}`);
  await row.focus();
  await page.keyboard.press('Enter');
  await dialog.waitFor();
  await focused('All traffic');
  assert.equal(await card('All traffic').getAttribute('aria-checked'), 'true');
  await checkAccessibility(page, 'the cards of the modes');
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  await focused('Mode');
  await page.keyboard.press('Enter');
  await dialog.waitFor();
  await focused('All traffic');
  await page.keyboard.press('ArrowDown');
  await focused('DNS only');
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

test('a pause is a ring that gets shorter, is extended, and ends with its button', async t => {
  const { address, home } = await startWeb(t);
  assert.equal((await culvert(home, 'connect', '--wait')).code, 0);
  const { page, complaints } = await openTab(await browserOf(t), address);
  const main = page.getByRole('main');
  await main.getByRole('button', { name: 'Disconnect' }).waitFor();
  assert.equal(await page.locator('.ring').count(), 0);
  await main.getByRole('button', { name: 'Pause for 15 minutes: Pause' }).click();
  await main.getByText(/^Back on at .*\d\d:\d\d\. Your traffic bypasses WARP until then\.$/).waitFor();
  const left = async () =>
    Number((await page.locator('.ring > .left').getAttribute('stroke-dasharray'))!.split(' ')[0]);
  const first = await left();
  assert.ok(first > 50 && first <= 100, String(first));
  await until(async () => (await left()) < first, 'a shorter ring');
  await checkAccessibility(page, 'a pause');
  await main.getByRole('button', { name: '15 Minutes More' }).click();
  await main
    .getByRole('timer')
    .getByText(/^(30|2\d):\d\d left$/)
    .waitFor();
  await main.getByRole('button', { name: 'Connect Now' }).click();
  await main.getByText('Demo: your real traffic is not protected.').waitFor();
  await page.locator('.ring').waitFor({ state: 'detached' });
  assert.deepEqual(complaints, []);
});
