// Rows of the browser page while the state changes: menus, moves, lists, and the places to which a search leads.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import type { ToolAccounts, ToolAccountsChange } from '../../../daemon/api/accounts.ts';
import { languages } from '../../../data/build/catalogs.ts';
import { type Running, startListeners } from '../../support/daemon/listeners.ts';
import { checkAccessibility, openTab, shareBrowser } from '../../support/e2e/browser.ts';
import { prefix } from '../../support/e2e/culvert.ts';
import { app, KILL_SWITCH, NEEDS, recorded, STATUSES, tool, toolAccount } from '../../support/gnome/initial.ts';
import { inTurn } from '../../support/thoroughness.ts';
import { until } from '../../support/until.ts';

const openBrowser = shareBrowser();

/** The page over a daemon without a tunnel CLI, at a state that the test sets. */
async function openPage(t: { after(end: () => Promise<void>): unknown }, hash = '') {
  const running = await startListeners(t);
  const { daemon, port } = running;
  daemon.webui = join(prefix, 'share/culvert/webui');
  daemon.settings.setSession({ webui: { enabled: true }, ui: { firstSteps: false } });
  setState(running, 'connected');
  const address = `http://127.0.0.1:${port}/${hash}`;
  return { ...running, ...(await openTab(await openBrowser(t), address)), address };
}

function setState({ daemon: { state } }: Running, name: 'connected' | 'disconnected'): void {
  state.set('status', { ...state.snapshot().status, state: name, raw: name });
}

/** Top of the disc and bottom of the status, in pixels. */
const PLACES = `(() => {
  const [disc, status] = ['.disc', '.hero'].map(name => document.querySelector('main ' + name).getBoundingClientRect());
  return [disc.top, status.bottom].map(at => Math.round(at + scrollY));
})()`;
/** Fields of the status that most states leave empty. */
const NOTHING = { reason: null, network: null, blocked: null } as const;

const focused = (page: Page) =>
  page.evaluate<string>('document.activeElement.ariaLabel ?? document.activeElement.innerText');
const isUnusable = (page: Page, name: string) =>
  page.getByRole('menuitem', { name, exact: true }).and(page.locator('[aria-disabled=true]'));

describe('rows', { concurrency: false }, () => {
  test('an open menu follows its row: what the row can’t do anymore, the menu can’t either', async t => {
    const opened = await openPage(t);
    const { page, performed, complaints } = opened;
    await page.getByRole('button', { name: 'Pause WARP: More' }).click();
    const entry = page.getByRole('menuitem').first();
    await entry.waitFor();
    const name = await entry.innerText();
    setState(opened, 'disconnected');
    await isUnusable(page, name).waitFor();
    await checkAccessibility(page, 'a menu that can’t be used');
    await entry.click({ force: true });
    await page.keyboard.press('Enter');
    setState(opened, 'connected');
    await isUnusable(page, name).waitFor({ state: 'detached' });
    assert.deepEqual(performed, []);
    await entry.click();
    await page.getByRole('menu').waitFor({ state: 'hidden' });
    await until(() => performed.length === 1, 'the pause');
    assert.deepEqual(complaints, []);
  });

  test('a button that an organization locks has the lock as its reason, in sight', async t => {
    const { page, daemon } = await openPage(t);
    daemon.state.set('options', { ...daemon.state.snapshot().options, switchLocked: true });
    const button = page.getByRole('button', { name: 'Disconnect', exact: true }).and(page.locator('[aria-disabled]'));
    await button.waitFor();
    const reason = page.locator(`[id="${await button.getAttribute('aria-describedby')}"]`);
    assert.equal(await reason.innerText(), 'Managed by your organization · WARP can’t be turned off here.');
    await checkAccessibility(page, 'a locked button');
  });

  test('a row that asks for attention has a sign next to its color, on the first page as well', async t => {
    const opened = await openPage(t);
    const { page, daemon } = opened;
    daemon.state.set('killSwitch', { ...KILL_SWITCH, enabled: true, active: true });
    const row = page.locator('.row', { has: page.getByRole('switch', { name: 'Kill Switch' }) });
    await row.getByText('On: traffic outside the tunnel is blocked.').waitFor();
    assert.equal(await row.getByRole('img').count(), 0);
    setState(opened, 'disconnected');
    const sign = row.getByRole('img', { name: 'Problem' });
    await sign.waitFor();
    const [mark, title] = [(await sign.boundingBox())!, (await row.getByText('Kill Switch').boundingBox())!];
    assert.ok(mark.x + mark.width <= title.x, 'the sign is before the words');
    await checkAccessibility(page, 'a sign');
  });

  test('a step that takes long moves nothing: its details take the place of a wait', async t => {
    const { page, daemon } = await openPage(t);
    const { state } = daemon;
    const top = async () => (await page.locator('main .values').boundingBox())!.y;
    const reason = { code: 'PerformingHappyEyeballs', text: 'vendor' };
    const connecting = (since: Date) =>
      state.set('status', { ...state.snapshot().status, state: 'connecting', reason, since: since.toISOString() });
    await page.setViewportSize({ width: 360, height: 800 });
    connecting(new Date());
    await page.getByText('Looking for the fastest way to Cloudflare…').waitFor();
    const before = await top();
    connecting(new Date(0));
    await page.getByText('Technical details').waitFor();
    assert.equal(await top(), before);
  });

  test('nothing moves between states, however many lines their words take', async t => {
    const { address, daemon } = await openPage(t);
    const all = [...STATUSES, ...NEEDS];
    const moved: string[] = [];
    for (const [at, language] of languages().entries()) {
      const { page } = await openTab(await openBrowser(t), address, { locale: language.replace('_', '-') });
      const title = page.locator('main .state');
      for (const [width, letters, states, parts] of inTurn(
        [
          [360, 100, all, ['disc', 'cards']],
          [440, 160, STATUSES, ['disc', 'cards']],
          [1000, 160, all, ['disc', 'cards']],
          [1000, 100, all, ['disc', 'cards']],
          [440, 100, all, ['disc', 'cards']],
          // room for the longest words would be as high as the window
          [360, 160, all, ['disc']],
        ] as const,
        at,
      )) {
        await page.setViewportSize({ width, height: 800 });
        await page.evaluate(`document.documentElement.style.fontSize = '${letters}%'`);
        const found: number[][] = [];
        for (const status of states) {
          const before = await title.innerText();
          daemon.state.set('status', { ...daemon.state.snapshot().status, ...NOTHING, ...status });
          await until(async () => (await title.innerText()) !== before, 'the next state');
          found.push(await page.evaluate<number[]>(PLACES));
        }
        for (const [i, part] of parts.entries()) {
          const places = new Set(found.map(each => each[i]));
          if (places.size > 1) moved.push(`${part}, ${language}, ${width} px, ${letters} %: ${[...places].join(', ')}`);
        }
      }
      await page.context().close();
    }
    assert.deepEqual(moved, []);
  });

  test('a second move before the answer to the first keeps the first, by keyboard and by drag', async t => {
    const opened = await openPage(t, '#/tools');
    const { page, daemon, complaints } = opened;
    let names = ['a', 'b', 'c', 'd'];
    const answer = (): ToolAccounts => ({
      ok: true,
      tools: [
        tool('x', { shim: 'installed', accounts: names.map((name, i) => toolAccount(name, { default: i === 0 })) }),
      ],
      refreshing: false,
      problem: null,
    });
    const asked: string[] = [];
    let release = () => {};
    Object.assign(daemon.features.handlers, {
      'GET /api/accounts': answer,
      'POST /api/accounts': async ({ body }: { body: ToolAccountsChange }) => {
        assert.ok(body.change === 'order');
        asked.push(body.names.join(''));
        await new Promise<void>(resolve => {
          release = resolve;
        });
        names = body.names;
        daemon.state.publish('accounts', answer());
        return answer();
      },
    });
    await page.reload();
    const rows = page.locator('.movable');
    const shown = async () => (await rows.locator('.title').allInnerTexts()).join('');
    await until(async () => (await shown()) === 'abcd', 'the accounts');
    const menu = page.getByRole('button', { name: 'a: More', exact: true });
    await menu.focus();
    for (const key of ['Alt+ArrowDown', 'Alt+ArrowDown']) await page.keyboard.press(key);
    await until(() => asked.length === 1, 'the first move');
    assert.equal(await shown(), 'abcd', 'the rows move with the answer');
    release();
    await until(() => asked.length === 2, 'the second move');
    release();
    await until(async () => (await shown()) === 'bcad', 'both moves');
    assert.deepEqual(asked, ['bacd', 'bcad']);
    assert.equal(await focused(page), 'a: More', 'the row keeps the focus');
    await page.getByRole('status').getByText('a: 3 of 4').waitFor({ state: 'attached' });

    asked.length = 0;
    await rows.nth(3).dragTo(rows.nth(0));
    await until(() => asked.length === 1, 'the first drag');
    await rows.nth(0).dragTo(rows.nth(2));
    release();
    await until(() => asked.length === 2, 'the second drag');
    release();
    await until(async () => (await shown()) === asked[1], 'both drags');
    assert.deepEqual(asked, ['dbca', 'dcab']);
    assert.deepEqual(complaints, []);
  });

  test('results of the search lead to their part of the history', async t => {
    const opened = await openPage(t);
    const { page, daemon, complaints } = opened;
    Object.assign(daemon.features.handlers, { 'GET /api/history': recorded });
    const search = page.getByRole('searchbox', { name: 'Search settings' });
    const follow = async (query: string, result: RegExp) => {
      await search.fill(query);
      await page.getByRole('main').getByRole('link', { name: result }).first().click();
      await page.getByRole('heading', { level: 1, name: 'History' }).waitFor();
    };
    for (const [query, result, tab] of [
      ['speed: received', /^Speed: received/, 'Speed'],
      ['packet loss', /^Packet loss.*History/s, 'Packet loss'],
      ['latency', /^Latency.*History/s, 'Latency'],
    ] as const) {
      await follow(query, result);
      await page.getByRole('tab', { name: tab, selected: true }).waitFor();
    }
    await follow('totals', /^Totals/);
    await page.getByRole('table', { name: 'Totals' }).or(page.locator('details[open] table')).first().waitFor();
    assert.deepEqual(complaints, []);
  });

  test('the focus goes to the search of the apps when a button in place of their list is gone', async t => {
    const opened = await openPage(t);
    const { page, daemon } = opened;
    let answer = () => {};
    const answered = new Promise<void>(resolve => {
      answer = resolve;
    });
    let reads = 0;
    const read = async () => {
      reads += 1;
      if (reads === 1) throw new Error('The disk is full.');
      await answered;
      return { apps: [app('calc', 'Calculator', { method: 'none' })] };
    };
    Object.assign(daemon.features.handlers, { 'GET /api/apps': read });
    await page.evaluate("location.hash = '#/apps'");
    const press = async (name: string) => {
      await page.getByRole('main').getByRole('button', { name, exact: true }).focus();
      await page.keyboard.press('Enter');
    };
    await press('Try Again');
    await page.getByText('Looking for apps').waitFor();
    assert.equal(await focused(page), 'Search apps');
    answer();
    await press('Show all');
    await page.getByText('Calculator').waitFor();
    assert.equal(await focused(page), 'Search apps');
  });

  test('Delete removes the row that has the focus, also when the list has changed around it', async t => {
    const { page, daemon } = await openPage(t, '#/routes');
    const route = (value: string) => ({ value, description: null });
    const set = (...values: string[]) =>
      daemon.state.set('splitTunnel', { mode: 'exclude', ips: values.map(route), hosts: [] });
    set('10.0.0.1', '10.0.0.2', '10.0.0.3');
    const row = (value: string) => page.locator('.virtual-list .row', { hasText: value });
    await row('10.0.0.2').focus();
    set('10.0.0.0', '10.0.0.1', '10.0.0.2', '10.0.0.3');
    await row('10.0.0.0').waitFor();
    await until(async () => (await focused(page)).startsWith('10.0.0.2'), 'the focus on the same row');
    const asked = page.waitForRequest('**/api/action');
    await page.keyboard.press('Delete');
    assert.equal((await asked).postDataJSON().value, '10.0.0.2');
    await page.keyboard.press('ArrowRight');
    await until(async () => (await focused(page)).startsWith('Remove'), 'the button of the row');
  });

  test('the apps are one stop of the Tab key, with arrow keys between apps and within an app', async t => {
    const { page, daemon, complaints } = await openPage(t);
    const apps = Array.from({ length: 40 }, (_, i) => app(`app-${i}`, `App ${i + 10}`, { categories: ['WebBrowser'] }));
    Object.assign(daemon.features.handlers, { 'GET /api/apps': () => ({ ok: true, apps }) });
    daemon.state.set('settings', { Mode: 'proxy' });
    daemon.state.set('tunnel', { ...daemon.state.snapshot().tunnel, proxyPort: 40_000 });
    await page.evaluate("location.hash = '#/apps'");
    await page.getByRole('button', { name: 'Start App 10', exact: true }).focus();
    const press = async (key: string, expected: string) => {
      await page.keyboard.press(key);
      await until(async () => (await focused(page)) === expected, `${key}: ${expected}`);
    };
    await press('ArrowDown', 'Start App 11');
    await press('ArrowRight', 'App 11: More');
    await press('End', 'Start App 49');
    await page.keyboard.press('Tab');
    assert.equal(await page.evaluate('document.activeElement.closest(".virtual-list")'), null);
    await page.keyboard.press('Shift+Tab');
    assert.equal(await focused(page), 'Start App 49');
    await press('ArrowRight', 'App 49: More');
    await page.keyboard.press('Enter');
    // the menu takes the focus only after it has opened
    await page.waitForFunction("document.activeElement.role === 'menuitem'");
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Escape');
    await until(async () => (await focused(page)) === 'App 49: More', 'the menu gives the focus back');
    assert.deepEqual(complaints, []);
  });

  test('a search without a daemon leaves the button that starts it', async t => {
    const opened = await openPage(t);
    const { page, listeners } = opened;
    const search = page.getByRole('searchbox', { name: 'Search settings' });
    await search.fill('latency');
    await page.getByRole('heading', { level: 1, name: 'Search' }).waitFor();
    await listeners.close('stopped by its user', 50);
    await page.getByRole('alert').getByRole('button', { name: 'Start', exact: true }).waitFor();
    await search.fill('');
    await page.locator('main .hero').getByRole('button', { name: 'Start', exact: true }).waitFor();
    assert.equal(await page.getByRole('button', { name: 'Start', exact: true }).count(), 1);
  });
});
