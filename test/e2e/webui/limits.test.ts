// The page at its limits: more tabs than connections, long lists, a machine that slept, a daemon that was updated.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import type { LogEntry } from '../../../daemon/api/schema.ts';
import { createLog } from '../../../daemon/state/store.ts';
import { OUTPUT, startListeners } from '../../support/daemon/listeners.ts';
import { checkAccessibility, launchBrowser, openTab, untilLive } from '../../support/e2e/browser.ts';
import { prefix } from '../../support/e2e/culvert.ts';
import { until } from '../../support/until.ts';

const entry = (id: number): LogEntry => ({
  ...OUTPUT,
  id,
  source: 'action',
  at: new Date(1_700_000_000_000 + id * 1000).toISOString(),
  argv: ['warp-cli', 'tunnel', 'ip', 'add', `entry-${id}`],
});

test('the page at its limits', async t => {
  const { daemon, listeners, performed, port } = await startListeners(t);
  daemon.webui = join(prefix, 'share/culvert/webui');
  daemon.settings.setSession({ webui: { enabled: true }, ui: { firstSteps: false } });
  const { state } = daemon;
  const address = `http://127.0.0.1:${port}/`;
  const browser = await launchBrowser(t);
  const setState = (name: 'connected' | 'disconnected' | 'connecting') =>
    state.set('status', { ...state.snapshot().status, state: name });
  setState('disconnected');

  await t.test('eight tabs share one stream, act each, and the next takes over when the first is closed', async () => {
    const { page, complaints } = await openTab(browser, address);
    await page.locator('main .state', { hasText: 'Disconnected' }).waitFor();
    const context = page.context();
    const tabs = [page];
    for (let i = 1; i < 8; i++) {
      const tab = await context.newPage();
      await tab.goto(address);
      await tab.locator('main .state', { hasText: 'Disconnected' }).waitFor();
      tabs.push(tab);
    }
    await until(() => listeners.streams.count() === 1, 'one stream for eight tabs');
    await tabs[7]!.getByRole('button', { name: 'Connect', exact: true }).click();
    await until(() => performed.length === 1, 'the last tab reaches the daemon');
    setState('connected');
    for (const tab of tabs) await tab.locator('header .badge', { hasText: /^Connected/ }).waitFor();
    await tabs[0]!.close();
    await until(() => listeners.streams.count() === 1, 'another tab has the stream');
    setState('connecting');
    for (const tab of tabs.slice(1)) await tab.locator('header .badge', { hasText: /^Connecting/ }).waitFor();
    assert.deepEqual(complaints, []);
    setState('disconnected');
    for (const tab of tabs.slice(1)) await tab.locator('header .badge', { hasText: /^Disconnected/ }).waitFor();
    await context.close();
  });

  await t.test('5,000 routes are listed, searched and accessible', async () => {
    const ips = Array.from({ length: 5000 }, (_, i) => ({ value: `10.${i >> 8}.${i & 255}.0/24`, description: null }));
    state.set('splitTunnel', { mode: 'exclude', ips, hosts: [] });
    const { page } = await openTab(browser, `${address}#/routes`);
    await page.getByText('5000 entries').waitFor();
    assert.ok((await page.locator('.virtual-list li').count()) < 100, 'only those in sight are in the document');
    await page.getByRole('main').getByRole('searchbox').fill('10.19.135.');
    await page.getByText('1 entry').waitFor();
    await page.getByText('10.19.135.0/24').waitFor();
    await page.getByRole('main').getByRole('searchbox').fill('');
    await page.getByText('5000 entries').waitFor();
    await page.locator('.virtual-list').focus();
    // Chromium scrolls by the height that it painted last
    await page.evaluate('new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))');
    await page.keyboard.press('End');
    await page.getByText('10.19.135.0/24').waitFor();
    const stop = () => page.evaluate<string>('document.activeElement.closest("li")?.querySelector(".title").innerText');
    await until(async () => (await stop()) === '10.19.135.0/24', 'the last row has the focus');
    await page.keyboard.press('ArrowUp');
    await until(async () => (await stop()) === '10.19.134.0/24', 'the row above');
    await page.keyboard.press('Tab');
    assert.equal(await stop(), undefined, 'the list is one stop');
    await page.keyboard.press('Shift+Tab');
    assert.equal(await stop(), '10.19.134.0/24');
    const asked = page.waitForRequest('**/api/action');
    await page.keyboard.press('Delete');
    assert.match((await asked).postData()!, /10\.19\.134\.0\/24/);
    await checkAccessibility(page, 'a long list');
    await page.context().close();
  });

  await t.test('10,000 lines of the log are kept, the last in sight, and the oldest give way', async () => {
    daemon.log = createLog({ capacity: 500, onEntry: added => state.publish('log', added) });
    const append = (id: number) => {
      const { id: _, ...added } = entry(id);
      return daemon.log.append(added);
    };
    const earlier = Array.from({ length: 9_900 }, (_, i) => append(i + 1));
    const { page } = await openTab(browser, address);
    // lines of days come in one answer; a stream that broke has the page read them again
    await page.route('**/api/logs', async route => {
      const response = await route.fetch();
      const body: { entries: LogEntry[] } = await response.json();
      const later = body.entries.filter(({ id }) => id > earlier.at(-1)!.id);
      await route.fulfill({ response, json: { ...body, entries: [...earlier, ...later] } });
    });
    await page.evaluate("location.hash = '#/log'");
    await page.getByText(/entry-9900$/).waitFor();
    for (let id = 9_901; id <= 10_050; id++) append(id);
    await page.getByText(/entry-10050$/).waitFor();
    await page.locator('.virtual-list li[aria-setsize="10000"]').first().waitFor();
    await page.locator('.virtual-list').focus();
    await page.keyboard.press('Home');
    await page.getByText(/entry-51$/).waitFor();
    append(10_051);
    await page.getByText(/entry-51$/).waitFor({ state: 'detached' });
    await page.getByText(/entry-52$/).waitFor();
    await page.context().close();
  });

  await t.test('the log shows what a read printed, which the stream of the page leaves out', async () => {
    const { page } = await openTab(browser, `${address}#/log`);
    await page.getByRole('combobox', { name: 'Filter' }).selectOption('all');
    await page.getByRole('main').getByRole('searchbox').fill('printed by');
    for (const which of ['first', 'second']) {
      const { id: _, ...read } = { ...entry(1), source: 'read' as const, stdout: `printed by the ${which}` };
      daemon.log.append(read);
    }
    await page.locator('.virtual-list li[aria-setsize="2"]').first().waitFor();
    await page.context().close();
  });

  await t.test('each curve has its figures in a table', async () => {
    setState('connected');
    const { page } = await openTab(browser, `${address}#/graph`);
    await page.getByRole('heading', { level: 1, name: 'History' }).waitFor();
    assert.equal(new URL(page.url()).hash, '#/history/now');
    const span = page.getByRole('combobox', { name: 'Length of time' });
    await span.selectOption('1d');
    await page.evaluate("location.hash = '#/history'");
    await page.evaluate("location.hash = '#/history/now'");
    await until(async () => (await span.inputValue()) === 'now', 'the address chooses Now');
    for (const second of [1, 2, 3]) {
      const figures = {
        latencyMs: 10 * second,
        loss: 0.01,
        bytesSent: 1000 * second,
        bytesReceived: 500 * second ** 2,
      };
      const at = new Date(Date.now() + second * 1000).toISOString();
      state.set('tunnel', { ...state.snapshot().tunnel, ...figures, at });
      await page
        .getByRole('cell', { name: `${10 * second} ms`, exact: true, includeHidden: true })
        .waitFor({ state: 'attached' });
    }
    const tabs = page.getByRole('tab');
    assert.equal(await tabs.count(), 3);
    await tabs.first().focus();
    for (const name of ['Latency', 'Packet loss', 'Received']) {
      await page.getByRole('tab', { selected: true, name: name === 'Received' ? 'Speed' : name }).waitFor();
      await page.getByRole('img', { name: new RegExp(`^${name}: from`) }).waitFor();
      const table = page.getByRole('table');
      if (!(await table.isVisible())) await page.getByText('As a table').click();
      await table.waitFor();
      assert.ok((await table.getByRole('rowheader').count()) >= 2, name);
      await tabs.and(page.locator('[aria-selected=true]')).focus();
      await page.keyboard.press('ArrowRight');
    }
    await checkAccessibility(page, 'figures as tables');
    await page.context().close();
    setState('disconnected');
  });

  await t.test('a machine that wakes from sleep shows the present state, without being asked', async () => {
    const { page } = await openTab(browser, 'about:blank');
    await page.clock.install();
    await page.goto(address);
    await untilLive(page);
    await page.locator('main .state', { hasText: 'Disconnected' }).waitFor();
    setState('connected');
    const asked = page.waitForRequest('**/api/snapshot?fresh=1');
    await page.clock.fastForward('08:00:00');
    await asked;
    await page.locator('main .state', { hasText: /^Connected/ }).waitFor();
    await page.getByText('Out of date since').waitFor({ state: 'detached' });
    await page.context().close();
  });

  await t.test('a page whose daemon was updated underneath says so, and reloads', async () => {
    await until(() => listeners.streams.count() === 0, 'the earlier pages are gone');
    const { page } = await openTab(browser, address);
    await page.locator('main .state').waitFor();
    // the state comes with the page, before its stream
    await until(() => listeners.streams.count() === 1, 'the stream of the page');
    await page.route('**/api/health', async route => {
      const answer = await route.fetch();
      await route.fulfill({ response: answer, json: { ...(await answer.json()), version: '99.0.0' } });
    });
    listeners.streams.close('restarting');
    await page.getByText('Culvert 99.0.0 is running now').waitFor();
    await page.unroute('**/api/health');
    await page.getByRole('button', { name: 'Reload', exact: true }).click();
    await page.getByText('Culvert 99.0.0 is running now').waitFor({ state: 'detached' });
    await page.locator('main .state').waitFor();
    await page.context().close();
  });
});
