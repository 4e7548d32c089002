// The Tab key in the browser page: on every page it reaches each control once, in the order of the picture, with a visible focus.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import type { ToolAccounts } from '../../../daemon/api/accounts.ts';
import type { Daemon } from '../../../daemon/http/handlers.ts';
import { PAGE_NAMES, type PageName } from '../../../daemon/view/page-list.ts';
import { startListeners } from '../../support/daemon/listeners.ts';
import { checkAccessibility, openTab, shareBrowser } from '../../support/e2e/browser.ts';
import { prefix } from '../../support/e2e/culvert.ts';
import {
  app,
  change,
  checkResult,
  KILL_SWITCH,
  logEntry,
  MODE_FIX,
  recorded,
  richTool,
  TRUST,
  tool,
} from '../../support/gnome/initial.ts';
import { backwardStops, type Stop } from '../../support/reading-order.ts';
import { FULL } from '../../support/thoroughness.ts';
import { until } from '../../support/until.ts';

const openBrowser = shareBrowser();

interface Focus extends Stop {
  /** Number of the control, and of the list or the tabs that it belongs to: these are one stop together. */
  at: number;
  part: number | null;
  isSeen: boolean;
}

/** Defines `readControls` and `readFocus` in the page. */
const PREPARE = `(() => {
  const numbers = new Map();
  const numberOf = element => numbers.get(element) ?? numbers.set(element, numbers.size).get(element);
  const describe = element => {
    const part = element.closest('.virtual-list, [role=tablist]');
    return { at: numberOf(element), part: part && numberOf(part), name: element.outerHTML.slice(0, 120) };
  };
  globalThis.readControls = () =>
    [...document.querySelectorAll('a[href], button, input, select, textarea, summary')]
      .filter(element => element.checkVisibility({ visibilityProperty: true }) && !element.disabled)
      .map(describe);
  globalThis.readFocus = () => {
    const element = document.activeElement;
    if (element === document.body) return null;
    const { left, top, right, bottom } = element.getBoundingClientRect();
    const hit = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
    const { outlineStyle, direction } = getComputedStyle(element);
    return {
      ...describe(element),
      box: [left + scrollX, top + scrollY, right + scrollX, bottom + scrollY].map(Math.round),
      rightToLeft: direction === 'rtl',
      isSeen: outlineStyle !== 'none' && (element.contains(hit) || hit?.contains(element)),
    };
  };
})()`;

/** Walks from the skip link to the end of the page, or to a stop that was there before. */
async function walk(page: Page): Promise<Focus[]> {
  const stops: Focus[] = [];
  await page.evaluate("document.querySelector('.skip').focus()");
  for (;;) {
    const focus = await page.evaluate<Omit<Focus, 'before'> | null>('readFocus()');
    // beyond the last stop, the browser begins again
    if (!focus || focus.at === stops[0]?.at) return stops;
    const isTwice = stops.some(({ at }) => at === focus.at);
    stops.push({ ...focus, before: stops.at(-1)?.box ?? null });
    if (isTwice) return stops;
    await page.keyboard.press('Tab');
  }
}

/** Returns what is wrong with the way of the Tab key through the page. */
async function faultsOf(page: Page): Promise<string[]> {
  const stops = await walk(page);
  const controls = await page.evaluate<Pick<Focus, 'at' | 'part' | 'name'>[]>('readControls()');
  const stopsFor = (one: Pick<Focus, 'at' | 'part'>) =>
    stops.filter(({ at, part }) => at === one.at || (part !== null && part === one.part)).length;
  return [
    ...controls.filter(one => stopsFor(one) !== 1).map(one => `${stopsFor(one)} stops for ${one.name}`),
    ...stops.filter(({ isSeen }) => !isSeen).map(({ name }) => `the focus is not seen on ${name}`),
    ...backwardStops(stops),
  ];
}

/** Rules of axe-core about the names of controls. */
const NAMES = ['aria-command-name', 'aria-toggle-field-name', 'button-name', 'label', 'link-name', 'select-name'];
const NAMES_OF_PARTS = ['aria-input-field-name', 'aria-tooltip-name', 'summary-name'];

/** Content of a page that has read its data. */
const LAST: Partial<Record<PageName, string>> = {
  apps: 'Firefox',
  routes: '192.168.0.0/16',
  networks: 'Add Rule…',
  tools: 'team-b',
  certificate: 'Node.js',
  history: 'Timeline',
  checks: 'Title of a',
  log: 'connect',
};

/** A state with something in every list. */
function fillDaemon({ state, log, features }: Daemon): void {
  const route = (value: string) => ({ value, description: null });
  const results = [checkResult('a', 'problem', { fixId: 'x', fix: MODE_FIX }), checkResult('b', 'ok')];
  const report = { ok: true, generatedAt: '2026-01-01T00:00:00.000Z', results, undo: [], durationMs: 0, processes: 0 };
  const apps = [app('firefox', 'Firefox', { kind: 'firefox', method: 'profile' }), app('mail', 'Mail')];
  const accounts: ToolAccounts = {
    ok: true,
    tools: [richTool(Date.now()), tool('netlify')],
    refreshing: false,
    problem: null,
  };
  state.set('status', { ...state.snapshot().status, state: 'connected', raw: 'connected' });
  state.set('settings', { Mode: 'warp', 'WARP tunnel protocol': 'MASQUE' });
  state.set('splitTunnel', { mode: 'exclude', ips: ['10.0.0.0/8', '192.168.0.0/16'].map(route), hosts: [] });
  state.set('killSwitch', { ...KILL_SWITCH, enabled: true, active: true });
  state.set('changes', [change('mode', { value: 'doh', confirmBy: '2999-01-01T00:00:00.000Z' })]);
  const fallbackDomains = [{ domain: 'corp', note: null }];
  state.set('options', { ...state.snapshot().options, fallbackDomains, trustedSsids: ['Home'] });
  for (const id of [1, 2, 3]) log.append(logEntry(id, 'warp-cli connect'));
  Object.assign(features.handlers, {
    'GET /api/apps': () => ({ ok: true, apps }),
    'GET /api/accounts': () => accounts,
    'GET /api/history': () => recorded(6),
    'POST /api/trust': () => TRUST,
    'POST /api/doctor': () => report,
  });
}

const WALKS: readonly [locale: string, width: number, pages: readonly PageName[]][] = [
  ['en', 360, PAGE_NAMES],
  // the list of pages at the side, and the first page in two columns
  ['en', 1400, FULL ? PAGE_NAMES : ['connection']],
  ['ar', 1000, FULL ? PAGE_NAMES : ['networks']],
];

test('on every page the Tab key reaches each control once, in the order of the picture, and its focus is seen', async t => {
  const { daemon, port } = await startListeners(t);
  daemon.webui = join(prefix, 'share/culvert/webui');
  daemon.settings.setSession({ webui: { enabled: true }, ui: { firstSteps: false } });
  fillDaemon(daemon);
  const browser = await openBrowser(t);
  for (const [locale, width, pages] of WALKS) {
    const viewport = { width, height: 800 };
    const { page, complaints } = await openTab(browser, `http://127.0.0.1:${port}/`, { locale, viewport });
    await page.evaluate(PREPARE);
    for (const name of pages) {
      await page.evaluate(`location.hash = '#/${name}'`);
      const main = page.locator(`main[data-page="${name}"]`);
      await main.waitFor();
      if (name === 'checks') await main.locator('.hero .buttons button').first().click();
      if (locale === 'en')
        await main
          .getByText(LAST[name] ?? '')
          .first()
          .waitFor();
      const folds = page.locator('main .fold[aria-expanded=false]');
      while ((await folds.count()) > 0) await folds.first().click();
      await checkAccessibility(page, name, { only: [...NAMES, ...NAMES_OF_PARTS] });
      // content that arrives during a walk is not part of it
      let faults: string[] = [];
      await until(
        async () => {
          faults = await faultsOf(page);
          return faults.length === 0;
        },
        () => `${name}, ${locale}, ${width} px: ${faults.join('; ')}`,
      );
    }
    assert.deepEqual(complaints, []);
  }
});
