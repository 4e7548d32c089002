// The first steps in the browser page: shown once, usable by keyboard, narrow enough for a phone.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { launchBrowser, openTab } from '../../support/e2e/browser.ts';
import { createHome, getJson, startDemo } from '../../support/e2e/culvert.ts';
import { until } from '../../support/until.ts';

test('the first steps are shown until they were left, by keyboard, at 360 px', async t => {
  const home = createHome(t);
  delete home.env.CULVERT_UI_FIRST_STEPS;
  home.env.CULVERT_WEBUI = '1';
  const { port } = await startDemo(home);
  const address = `http://127.0.0.1:${port}/`;
  const browser = await launchBrowser(t);
  const { page } = await openTab(browser, address);
  await page.setViewportSize({ width: 360, height: 640 });
  await page.getByRole('heading', { name: 'What WARP does' }).waitFor();
  const press = async (name: string) => {
    await page.getByRole('button', { name, exact: true }).focus();
    await page.keyboard.press('Enter');
  };
  await press('Next');
  await page.getByRole('switch', { name: 'Start at login' }).waitFor();
  await press('Next');
  await page
    .getByRole('button', { name: 'Agree and Set Up' })
    .or(page.getByText('The demo is ready'))
    .first()
    .waitFor();
  assert.ok(((await page.evaluate('document.documentElement.scrollWidth')) as number) <= 360);
  await press('Done');
  await page.getByRole('button', { name: 'Connect', exact: true }).waitFor();
  const read = async () =>
    (await getJson(port, '/api/config')) as unknown as { config: { ui: { firstSteps: boolean } } };
  await until(async () => !(await read()).config.ui.firstSteps, 'the remembered end');
  await page.goto(address);
  await page.reload();
  await page.getByRole('button', { name: 'Connect', exact: true }).waitFor();
  assert.equal(await page.getByText('What WARP does', { exact: true }).count(), 0);
});
