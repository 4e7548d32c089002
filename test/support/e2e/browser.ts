// A browser on the page of a demo daemon: opened, watched for what may never happen, closed with the test.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { after } from 'node:test';
import { promisify } from 'node:util';
import { type Browser, type BrowserContextOptions, chromium, type Page, type Request } from 'playwright-core';
import type { PageName } from '../../../daemon/view/page-list.ts';
import { FULL } from '../thoroughness.ts';
import { until } from '../until.ts';
import { createHome, type Home, prefix, startDemo } from './culvert.ts';

/** Far above what the page needs, as in `until`: a busy machine is slow. */
const PATIENCE_MS = 120_000;
const FLAGS = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run'];
const QUIET = ['--disable-background-networking', '--disable-component-update', '--disable-sync'];
const axePath = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
/** The rules of axe-core that depend on colors; the others have the same result in each color scheme. */
export const COLOR_RULES: readonly string[] = ['color-contrast', 'link-in-text-block'];

/** The end of a test, a suite or a file. */
export interface Ends {
  after(end: () => Promise<void>): unknown;
}

/** States that require setup: the emulator's commands that lead there, and the title of the page. */
export const SETUP_STATES: readonly (readonly [words: readonly string[], title: string])[] = [
  [['fault=service-down'], 'The WARP service is not running'],
  [['clear', 'fault=terms'], 'Set up WARP'],
  [['clear', 'registration=null'], 'Set up WARP'],
  [['reset', 'fault=not-authorized'], 'You can’t change WARP here'],
];

/** The engine with its windows, as people use it. */
export const CHROMIUM = '/usr/bin/chromium';
/** The same engine without what draws windows: it takes a third less time of the processor. */
const HEADLESS = '/usr/bin/chromium-headless-shell';

/** A browser with its own profile. @param flags further ones, such as resolver rules */
export async function launchBrowser(t: Ends, flags: string[] = [], executablePath = HEADLESS): Promise<Browser> {
  const browser = await chromium.launch({ executablePath, args: [...FLAGS, ...QUIET, ...flags] });
  t.after(() => browser.close());
  return browser;
}

/**
 * One browser for all tests of a file, which have their own contexts: call it at the top of the file.
 * @returns what gives a test the browser; contexts that it opens are closed with the test
 */
export function shareBrowser(flags: string[] = []): (t: Ends) => Promise<Browser> {
  let launched: Promise<Browser> | undefined;
  after(async () => (await launched)?.close());
  return async t => {
    launched ??= launchBrowser({ after() {} }, flags);
    const browser = await launched;
    const earlier = new Set(browser.contexts());
    t.after(async () => {
      for (const context of browser.contexts().filter(each => !earlier.has(each))) {
        // the runner prints it where a test of the file failed
        for (const page of context.pages()) console.log(`${page.url()} showed in the end: ${await textOf(page)}`);
        await context.close();
      }
    });
    return browser;
  };
}

function textOf(page: Page): Promise<string> {
  return page.locator('body').innerText().catch(String);
}

export interface WebPage {
  page: Page;
  /** Bodies of every action that the page asked for, and the status of the answer. */
  actions: { action: string; value?: string; status: number }[];
  /** Complaints of the browser: violated policies and failed scripts. */
  complaints: string[];
}

/** Requests of each tab without a whole answer, except its stream of events. */
const loading = new WeakMap<Page, Set<Request>>();
/** Draws what the page has. */
const DRAW = '(async () => { for (let i = 0; i < 3; i++) await new Promise(requestAnimationFrame); })()';

/** Opens a page of the settings, and waits until it has drawn all that it asks for. @param page a tab of `openTab` */
export async function turnTo(page: Page, name: PageName): Promise<void> {
  const requests = loading.get(page)!;
  const earlier = new Set(requests);
  const isLoaded = () => [...requests].every(each => earlier.has(each));
  await page.evaluate(`location.hash = '#/${name}'`);
  await page.locator(`main[data-page="${name}"]`).waitFor();
  do {
    await page.evaluate(DRAW);
    await until(isLoaded, `everything on the page ${name} is loaded`);
    await page.evaluate(DRAW);
  } while (!isLoaded());
}

/** A tab on `address`. */
export async function openTab(
  browser: Browser,
  address: string,
  options: BrowserContextOptions = {},
): Promise<WebPage> {
  const context = await browser.newContext({ viewport: { width: 1000, height: 800 }, locale: 'en-US', ...options });
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  const actions: WebPage['actions'] = [];
  const complaints: string[] = [];
  // a daemon that is away is not a defect of the page
  page.on('console', message => {
    const away = /Failed to load resource|ERR_/.test(message.text());
    if (message.type() === 'error' && !away) complaints.push(message.text());
  });
  page.on('pageerror', error => complaints.push(String(error)));
  page.on('response', async response => {
    const request = response.request();
    if (request.method() !== 'POST' || !response.url().endsWith('/api/action')) return;
    actions.push({ ...(request.postDataJSON() as { action: string }), status: response.status() });
  });
  const requests = new Set<Request>();
  page.on('request', request => !request.url().includes('/api/events') && requests.add(request));
  page.on('requestfinished', request => requests.delete(request));
  page.on('requestfailed', request => requests.delete(request));
  loading.set(page, requests);
  await page.goto(address);
  await untilLive(page);
  return { page, actions, complaints };
}

/** Waits until the page is drawn, and shows a state of the daemon, or the reason for its absence. */
export async function untilLive(page: Page): Promise<void> {
  await page.locator('#app:empty').waitFor({ state: 'detached' });
  await page.locator('main[aria-busy="true"]').waitFor({ state: 'detached' });
}

/** In a full run `warp-cli` answers late, so that the page is shown before the state of WARP is known. */
const SLOW = FULL ? { CULVERT_EMULATOR_FAULTS: 'slow=1200' } : {};

/** A demo daemon with its page on. */
export async function startWeb(t: Ends, environment: Record<string, string> = {}, ...flags: string[]) {
  const home = createHome(t);
  Object.assign(home.env, { CULVERT_WEBUI: '1', CULVERT_EMULATOR_CONNECT_MS: '50', ...SLOW }, environment);
  const daemon = await startDemo(home, ...flags);
  return { home, ...daemon, address: `http://127.0.0.1:${daemon.port}/` };
}

/**
 * One demo daemon for all tests of a file that leave it as they found it, and for the last one: call it at the top of the file.
 * @returns what gives a test the daemon
 */
export function shareWeb(): () => ReturnType<typeof startWeb> {
  const ends: (() => Promise<void>)[] = [];
  let started: ReturnType<typeof startWeb> | undefined;
  after(async () => {
    for (const end of ends) await end();
  });
  return () => {
    started ??= startWeb({ after: end => ends.push(end) });
    return started;
  };
}

/** Brings the daemon's emulator into a state: `emulate(home, 'fault=terms')`. */
export async function emulate({ env }: Pick<Home, 'env'>, ...words: string[]): Promise<void> {
  await promisify(execFile)(join(prefix, 'bin/culvert-emulator'), ['--emulate', ...words], { env });
}

/**
 * Fails when axe-core finds a violation of WCAG or of its best practices.
 * @param without rules that don't apply, such as contrast where the system chooses the colors
 * @param only the only rules, if the others have been checked
 */
export async function checkAccessibility(
  page: Page,
  what: string,
  { without = [], only }: { without?: readonly string[]; only?: readonly string[] } = {},
): Promise<void> {
  if (await page.evaluate("typeof axe === 'undefined'")) await page.evaluate(readFileSync(axePath, 'utf8'));
  const options = {
    rules: Object.fromEntries(without.map(rule => [rule, { enabled: false }])),
    ...(only && { runOnly: { type: 'rule', values: only } }),
  };
  const violations = await page.evaluate(async options => {
    const { axe } = globalThis as unknown as {
      axe: { run(options: object): Promise<{ violations: { id: string; help: string; nodes: { html: string }[] }[] }> };
    };
    const found = await axe.run(options);
    return found.violations.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.map(n => n.html).join(' | ')}`);
  }, options);
  assert.deepEqual(violations, [], what);
}
