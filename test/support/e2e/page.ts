// Steps of tests in the browser page of a demo: turn to pages, press, fill in, and answer dialogs.
import type { Page } from 'playwright-core';
import { until } from '../until.ts';
import { type Ends, openTab, type shareBrowser, startWeb } from './browser.ts';
import { CAN_SEND, type Hands, PAGES, type Role } from './steps.ts';

/** Turns to a page by the links that lead there. */
export async function visit(page: Page, name: keyof typeof PAGES): Promise<void> {
  if (name === 'editor') await visit(page, 'routes');
  if (name === 'welcome') await visit(page, 'settings');
  // no link leads there on a machine without such tools
  if (name === 'tools' || name === 'certificate') await page.evaluate(`location.hash = '#/${name}'`);
  else await page.getByRole('link', { name: PAGES[name], exact: true }).first().click();
  await page.getByRole('heading', { level: 1, name: PAGES[name] }).waitFor();
}

/** Presses a button, or a command of the open menu. */
export function press(page: Page, name: string): Promise<void> {
  const [button, command] = (['button', 'menuitem'] as const).map(role => page.getByRole(role, { name, exact: true }));
  return button!.or(command!).click();
}

/** Waits until no action is under way, so that what is shown can be used. */
export const settled = (page: Page) =>
  until(async () => (await page.locator('[aria-busy=true]').count()) === 0, 'no action is under way');

export const stateOf = (page: Page) => page.locator('main .state').innerText();

/** Fills in a field, and sends its form. */
export async function fill(page: Page, label: string, text: string): Promise<void> {
  const { write, enter } = handsOf(page);
  await write(label, text);
  await enter();
}

/** Presses a button, and accepts what it asks. */
export async function confirmed(page: Page, button: string, accept: string): Promise<void> {
  await press(page, button);
  await handsOf(page).accept(accept);
}

export function handsOf(page: Page): Hands {
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

/** A demo daemon, and its page in a tab of a browser that the file shares. */
export async function openDemo(
  t: Ends,
  openBrowser: ReturnType<typeof shareBrowser>,
  environment: Record<string, string> = {},
  options = {},
) {
  const web = await startWeb(t, environment);
  const browser = await openBrowser(t);
  const tab = await openTab(browser, web.address, options);
  await tab.page.locator('main .state').waitFor();
  return { ...web, browser, ...tab };
}
