// The browser page's figures in Debian's Chromium. Exits 1 when a bar is not met. Run: ./culvert-tool bench webui [rounds]
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import type { Browser, CDPSession, Page } from 'playwright-core';
import type { LogEntry } from '../../daemon/api/schema.ts';
import { OUTPUT, startListeners } from '../support/daemon/listeners.ts';
import { CHROMIUM, launchBrowser, startWeb } from '../support/e2e/browser.ts';
import { createHome, prefix, program, startDemo } from '../support/e2e/culvert.ts';
import { freePort } from '../support/ports.ts';
import { until } from '../support/until.ts';
import { answering, end } from './support/process.ts';
import { quiet } from './support/quiet.ts';
import { median, ONCE, report, rest, roundsOf, sized } from './support/report.ts';

const rounds = roundsOf(15);
const assets = join(prefix, 'share/culvert/webui');
const ends: (() => unknown)[] = [];
const t = { after: (end: () => unknown) => ends.push(end) };

/** An empty document that the daemon serves as it serves the page. */
function addEmptyPage(): string {
  const text = '<!doctype html><html lang="en"><meta charset="utf-8"><title>Empty</title>';
  for (const [suffix, content] of [
    ['', text],
    ['.br', brotliCompressSync(text)],
    ['.gz', gzipSync(text)],
  ] as const) {
    writeFileSync(join(assets, `empty.html${suffix}`), content);
    t.after(() => rmSync(join(assets, `empty.html${suffix}`), { force: true }));
  }
  return 'empty.html';
}

/** In its own context, so that nothing is cached. */
async function inTab<T>(browser: Browser, work: (page: Page, cdp: CDPSession) => Promise<T>, locale = 'en-US') {
  const context = await browser.newContext({ viewport: { width: 1000, height: 800 }, locale });
  try {
    const page = await context.newPage();
    return await work(page, await context.newCDPSession(page));
  } finally {
    await context.close();
  }
}

/** Requests and bytes until nothing has been asked for in a second. */
async function wire(browser: Browser, address: string, locale: string) {
  return inTab(
    browser,
    async (page, cdp) => {
      const bytes = new Map<string, number>();
      cdp.on('Network.requestWillBeSent', ({ requestId }) => bytes.set(requestId, 0));
      const add = ({ requestId, encodedDataLength }: { requestId: string; encodedDataLength: number }) =>
        bytes.set(requestId, Math.max(encodedDataLength, bytes.get(requestId) ?? 0));
      cdp.on('Network.loadingFinished', add);
      // the stream never ends: head and pieces as they arrive
      cdp.on('Network.responseReceived', ({ requestId, response }) => add({ requestId, ...response }));
      cdp.on('Network.dataReceived', ({ requestId, encodedDataLength }) =>
        bytes.set(requestId, (bytes.get(requestId) ?? 0) + encodedDataLength),
      );
      await cdp.send('Network.enable');
      await page.goto(address);
      await page.locator('main .state').waitFor();
      await rest(1_000);
      return { requests: bytes.size, kilobytes: [...bytes.values()].reduce((a, b) => a + b) / 1000 };
    },
    locale,
  );
}

/** The first load from a daemon that has just started, and reports each first reading of warp-cli; the browser has nothing cached. */
async function firstLoad(browser: Browser) {
  const largest = (names: string[]) =>
    names.sort((a, b) => statSync(join(assets, b)).size - statSync(join(assets, a)).size)[0]!;
  const catalogs = readdirSync(assets).filter(name => /\.json\.br$/.test(name));
  const locales = { English: 'en-US', 'the language with the most text': largest(catalogs).split('-')[0]! };
  for (const [name, locale] of Object.entries(locales)) {
    const { address, child } = await startWeb(t as never);
    const { kilobytes, requests } = await wire(browser, address, locale);
    child.kill();
    report(`first load, ${name}: on the wire`, kilobytes, name === 'English' ? 60 : 85, 'kB');
    report(`first load, ${name}: requests`, requests, 6, '');
  }
}

/**
 * Resolves `globalThis.painted` with the time of the frame that shows what `selector` matches, in ms since navigation. What is
 * in the head is shown by the first frame that it is there for.
 */
const awaitPaint = (selector: string) => `globalThis.painted = new Promise(resolve => {
  const isShown = found => found !== null && (found.closest('head') !== null || found.checkVisibility());
  const look = () => isShown(document.querySelector(${JSON.stringify(selector)}))
    ? requestAnimationFrame(() => resolve(performance.now()))
    : requestAnimationFrame(look);
  look();
})`;

/** Far above what a frame takes on a busy machine. */
const PAINT_MS = 120_000;

/** The time of the first frame that shows it, in ms. @throws Error that says what the page has instead */
async function paintedIn(page: Page): Promise<number> {
  const late = new AbortController();
  const frame = page.evaluate<number>('painted');
  const none = delay(PAINT_MS, null, { signal: late.signal }).catch(() => null);
  const time = await Promise.race([frame, none]);
  late.abort();
  if (time !== null) return time;
  frame.catch(() => {}); // the page is about to be closed
  const shown = page.evaluate('[document.visibilityState, document.readyState, document.documentElement.outerHTML]');
  throw new Error(`${page.url()} draws no frame with it: ${await Promise.race([shown, delay(5_000, 'no answer')])}`);
}

async function firstState(browser: Browser, empty: string) {
  // not the copy of the program that tests share: it lacks the empty page
  const home = createHome(t as never);
  home.program = program;
  Object.assign(home.env, { CULVERT_WEBUI: '1', CULVERT_EMULATOR_CONNECT_MS: '50' });
  const address = `http://127.0.0.1:${(await startDemo(home)).port}/`;
  const timed = (path: string, selector: string) =>
    inTab(browser, async page => {
      await page.addInitScript(awaitPaint(selector));
      await page.goto(address + path);
      return paintedIn(page);
    });
  await timed(empty, 'title');
  await timed('', 'main .state');
  const ratios: number[] = [];
  const shown: number[] = [];
  for (let i = 0; i < rounds; i++) {
    const base = await timed(empty, 'title');
    shown.push(await timed('', 'main .state'));
    ratios.push(shown.at(-1)! / base);
  }
  report(
    `first state shown (${median(shown).toFixed(0)} ms), over an empty page of the same daemon`,
    median(ratios),
    2.2,
    '×',
  );
}

const entry = (id: number): LogEntry => ({
  ...OUTPUT,
  id,
  source: 'action',
  at: new Date(1_700_000_000_000 + id * 1000).toISOString(),
  argv: ['warp-cli', 'tunnel', 'ip', 'add', `198.51.${id >> 8}.${id & 255}`],
});

/** A page over listeners whose state the benchmark sets. */
async function openLive(browser: Browser) {
  const running = await startListeners(t as never);
  running.daemon.webui = assets;
  running.daemon.settings.setSession({ webui: { enabled: true }, ui: { firstSteps: false } });
  const context = await browser.newContext({ viewport: { width: 1000, height: 800 }, locale: 'en-US' });
  const page = await context.newPage();
  await page.goto(`http://127.0.0.1:${running.port}/`);
  await page.locator('main .state').waitFor();
  return { ...running, page, cdp: await context.newCDPSession(page), close: () => context.close() };
}

async function eventToDom(browser: Browser) {
  const { daemon, page, close } = await openLive(browser);
  const { state } = daemon;
  // by a wait, since the page may just draw another state
  const observe = `(() => {
    const state = document.querySelector('main .state');
    if (!state) return false;
    globalThis.changes = [];
    new MutationObserver(() => changes.push(performance.timeOrigin + performance.now()))
      .observe(state, { childList: true, characterData: true, subtree: true });
    return true;
  })()`;
  await until(() => page.evaluate<boolean>(observe), 'a state to observe');
  const times: number[] = [];
  for (let i = 0; i < sized(200, 3); i++) {
    const before = await page.evaluate<number>('changes.length');
    const sent = performance.timeOrigin + performance.now();
    state.set('status', { ...state.snapshot().status, state: i % 2 ? 'disconnected' : 'connected' });
    // `waitForFunction` takes the `eval` that the page's policy forbids, unless the change comes first
    const changed = await until(() => page.evaluate<number | null>(`changes[${before}] ?? null`), 'the change');
    times.push(changed - sent);
  }
  await close();
  report('event to changed DOM, median of 200', median(times), 10, 'ms');
}

/** An hour of events at one a second, as fast as the page takes them. */
async function memory(browser: Browser) {
  const { daemon, page, cdp, close } = await openLive(browser);
  const { state } = daemon;
  state.set('status', { ...state.snapshot().status, state: 'connected' });
  const used = async () => {
    for (let i = 0; i < 2; i++) await cdp.send('HeapProfiler.collectGarbage');
    return (await cdp.send('Runtime.getHeapUsage')).usedSize / 1e6;
  };
  const hour = async (from: number) => {
    for (let i = from; i < from + sized(3600, 60); i += 1) {
      state.set('tunnel', {
        ...state.snapshot().tunnel,
        latencyMs: 10 + (i % 50),
        bytesReceived: i * 1000,
        at: new Date().toISOString(),
      });
      if (i % 30 === 0) state.publish('log', entry(i));
      if (i % 20 === 0) await page.evaluate('new Promise(requestAnimationFrame)');
    }
    return used();
  };
  // the page keeps figures of the last minutes: they are full after the first hour
  const first = await hour(0);
  const second = await hour(3600);
  const third = await hour(7200);
  await close();
  report(`memory of the tab (${first.toFixed(1)} MB), growth per hour of events`, (third - first) / 2, 1, 'MB');
  void second;
}

async function scrolling(browser: Browser) {
  const { daemon, page, close } = await openLive(browser);
  await page.goto(`${page.url()}#/log`);
  await page.getByRole('main').getByRole('searchbox').waitFor();
  // a busy page may miss some: it is given more until it has them
  const lines = sized(10_000, 300);
  const last = page.locator(`.virtual-list li[aria-setsize="${lines}"]`);
  for (let id = 1; id <= lines || (await last.count()) === 0; id++) {
    if (id > 10 * lines) throw new Error('The page does not take the lines of the log.');
    daemon.state.publish('log', entry(id));
    if (id % 50 === 0) await page.evaluate('new Promise(requestAnimationFrame)'); // the stream's backlog is bounded
  }
  const worst = await page.evaluate<number>(`new Promise(resolve => {
    const frames = [];
    new PerformanceObserver(list => frames.push(...list.getEntries().map(each => each.duration)))
      .observe({ type: 'long-animation-frame' });
    const box = document.querySelector('.virtual-list');
    box.scrollTop = 0;
    const steps = ${sized(300, 30)};
    let left = steps;
    const step = () => {
      box.scrollTop += box.scrollHeight / steps;
      if (left--) requestAnimationFrame(step);
      else setTimeout(() => resolve(Math.max(0, ...frames)), 200);
    };
    requestAnimationFrame(step);
  })`);
  await close();
  report('longest frame (0: none over 50) while 10,000 log lines are scrolled', worst, 50, 'ms');
}

/** Idle memory with the page on, over a daemon with it off. */
async function idleMemory() {
  const idle = async (on: boolean) => {
    const home = createHome(t as never);
    const port = freePort();
    const words = ['--demo', '--no-tray', '--no-panel', '--no-open', '--port', String(port)];
    const child = spawn(process.execPath, [join(prefix, 'share/culvert/daemon/main.cjs'), ...words], {
      env: { ...home.env, CULVERT_WEBUI: on ? '1' : '0' },
      stdio: 'ignore',
    });
    await answering(child, port);
    await rest(1_000);
    const mb = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))![1]) / 1024;
    await end(child);
    return mb;
  };
  const differences: number[] = [];
  for (let i = 0; i < sized(7, 1); i++) {
    const off = await idle(false);
    differences.push((await idle(true)) - off);
  }
  report('memory of a daemon with the page on and nobody looking, more than off', median(differences), 1, 'MB');
}

async function main() {
  const browser = await launchBrowser(t as never, [], ONCE ? undefined : CHROMIUM);
  const empty = addEmptyPage(); // before the daemon reads the names of the files
  const parts = {
    firstLoad: () => firstLoad(browser),
    firstState: () => firstState(browser, empty),
    eventToDom: () => eventToDom(browser),
    memory: () => memory(browser),
    scrolling: () => scrolling(browser),
    idleMemory,
  };
  const only = process.argv[3]?.split(',');
  for (const [name, part] of Object.entries(parts)) {
    if (only && !only.includes(name)) continue;
    if (!process.env.CULVERT_BENCH_BUSY) await quiet();
    await part();
  }
}

try {
  await main();
} finally {
  for (const end of ends.reverse()) await end();
}
process.exit();
