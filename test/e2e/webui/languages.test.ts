// The browser page in other languages: nothing shown that can't be translated, nothing cut where texts are longer.

import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import * as z from 'zod/mini';
import { DoctorReport } from '../../../daemon/api/doctor.ts';
import { quoted } from '../../../daemon/view/message.ts';
import { PAGE_NAMES, type PageName } from '../../../daemon/view/page-list.ts';
import { readCatalog } from '../../../data/build/webui.mjs';
import { emulate, launchBrowser, openTab, startWeb, turnTo } from '../../support/e2e/browser.ts';
import { type Home, prefix } from '../../support/e2e/culvert.ts';
import { foreign, pseudo, pseudoCatalog } from '../../support/gnome/pseudo.ts';
import { temporary } from '../../support/temporary.ts';
import { FULL, inTurn } from '../../support/thoroughness.ts';
import { until } from '../../support/until.ts';

/** Pixels: the narrowest window that has to show everything (WCAG 1.4.10). */
const NARROW = 320;
/** Windows that have to show everything: in letters of the usual size, and in larger ones. */
const SIZES = [
  { width: NARROW, letters: '100%' },
  { width: 440, letters: '160%' },
];
/** A host name of 60 characters, without a place to break. */
const HOST = `${'n'.repeat(48)}.example.org`;
/** Values as long as real ones, for the lists of the pages. */
const LONG: [action: string, value: string][] = [
  ['addSplitHost', HOST],
  ['addFallbackDomain', HOST],
  ['addTrustedSsid', 'n'.repeat(32)],
  ['setGatewayId', 'n'.repeat(36)],
  ['connect', ''],
];
/** The one app of this computer. */
const APP = 'Some App';
/** Texts that no language changes: names, addresses, versions, commands and figures. */
const DATA = [
  new RegExp(`^${APP}:?$`),
  /^(Culvert|MASQUE|WireGuard|DNS|Free|· FRA|×|⋮|culvert doctor|\S+ killswitch installer \| sudo sh)$/,
  // domains, addresses and ranges
  /^[a-z\d]+([.:/…]+[a-z\d]*)*$/,
  /^[\d.,:/%\s·+–-]*$/,
  /^([\da-f.:/]+ \([\w.-]+\)\s*)+$/,
  // this device and its account
  /^(culvert-demo|\*{4}[\da-f]{4}|[\da-f]{8}(-[\da-f]{4,}){3,4})$/,
  // as WARP reports them
  /^(MASQUE \(.+\)|Normal)$/,
];

/** All that is read or spoken. */
const SHOWN = `(() => {
  const texts = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const { parentElement } = node;
    if (!parentElement.closest('noscript, style, script, title') && parentElement.checkVisibility()) texts.push(node.data);
  }
  for (const element of document.body.querySelectorAll('[aria-label], [title], [placeholder], [alt]'))
    for (const name of ['aria-label', 'title', 'placeholder', 'alt']) texts.push(element.getAttribute(name));
  return [...new Set(texts.filter(text => text && text.trim()))];
})()`;
/** Names of places that take more than one line. */
const BROKEN = `[...document.querySelectorAll('.places a')]
  .filter(({ firstChild }) => {
    const range = document.createRange();
    range.selectNodeContents(firstChild);
    return range.getClientRects().length > 1;
  })
  .map(element => element.textContent)`;
/** Words in tables that take more than one line. */
const SPLIT = `[...document.querySelectorAll('main th, main td')].flatMap(cell => {
  const words = [];
  const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode())
    for (const { 0: word, index } of node.data.matchAll(/\\S+/g)) {
      const range = document.createRange();
      range.setStart(node, index);
      range.setEnd(node, index + word.length);
      if (new Set([...range.getClientRects()].map(({ top }) => top)).size > 1) words.push(word);
    }
  return words;
})`;
/** Tables and commands that have to be scrolled sideways. */
const BEYOND = `[...document.querySelectorAll('.chart .table, .command-box code')]
  .filter(element => element.scrollWidth > element.clientWidth)
  .map(element => element.scrollWidth + ' of ' + element.clientWidth + ' px: ' + element.textContent)`;
/** Rows of long lists whose words are beyond their place. */
const HIGH = `[...document.querySelectorAll('.virtual-list li')]
  .filter(row => {
    const { top, bottom } = row.getBoundingClientRect();
    const words = [...row.querySelectorAll('.words > span, button')].map(each => each.getBoundingClientRect());
    return words.some(word => word.top < top - 1 || word.bottom > bottom + 1);
  })
  .map(element => element.textContent)`;
/** Elements that show a part of their text, and the text; rows of the long lists of data may. */
const CUT = `[...document.body.querySelectorAll('*')]
  .filter(element => !element.closest('.virtual-list, [title]') && element.checkVisibility())
  .filter(element => getComputedStyle(element).textOverflow === 'ellipsis')
  .filter(element => element.scrollWidth > element.clientWidth)
  .map(element => element.textContent)`;

const PartOfCatalog = z.object({ texts: z.record(z.string(), z.unknown()) });

interface Served {
  /** Called before a part of the catalog is served. It returns false to refuse it. */
  before?(part: 'first' | 'further'): unknown;
  /** A text of the first page that only the further part has. */
  late?: string;
}

/** Serves German in the pseudo-language, in the two parts of the build. */
async function servePseudo(page: Page, { before = () => true, late }: Served = {}) {
  const { plurals, texts } = readCatalog(pseudoCatalog(readFileSync('po/culvert.pot', 'utf8'), 'de'), 'de');
  const webui = join(prefix, 'share/culvert/webui');
  const file = readdirSync(webui).find(name => /^de-\w+-further\.json$/.test(name))!;
  const further = z.parse(PartOfCatalog, JSON.parse(readFileSync(join(webui, file), 'utf8'))).texts;
  await page.route(/\/de-[\w-]+\.json$/, async route => {
    const part = route.request().url().endsWith('-further.json') ? 'further' : 'first';
    if ((await before(part)) === false) return route.fulfill({ status: 503 });
    const isOf = (text: string) => (text in further || text === late) === (part === 'further');
    const served = Object.fromEntries(Object.entries(texts).filter(([text]) => isOf(text)));
    return route.fulfill({ json: { plurals, texts: served } });
  });
}

/** Number of scripts that the page has loaded. */
const SCRIPTS = `performance.getEntriesByType('resource').filter(({ name }) => name.endsWith('.js')).length`;
/** Runs the scripts that the page has loaded, and draws what they changed. */
const DRAW = `(async () => {
  const scripts = performance.getEntriesByType('resource').filter(({ name }) => name.endsWith('.js'));
  for (const { name } of scripts) await import(name);
  for (let i = 0; i < 3; i++) await new Promise(requestAnimationFrame);
})()`;
/** Records whether the page of the DNS settings ever shows an English text. */
const WATCH = `globalThis.wasEnglish = false;
  const look = () => {
    if (/Malware/.test(document.querySelector('main[data-page=dns]')?.innerText ?? '')) wasEnglish = true;
    requestAnimationFrame(look);
  };
  look();`;

describe('the page in other languages', { concurrency: false }, () => {
  const ends: (() => Promise<void>)[] = [];
  let address = '';
  let home: Home;
  let browser: Browser;
  before(async () => {
    const atEnd = { after: (end: () => Promise<void>) => ends.push(end) };
    const data = temporary(atEnd, 'apps');
    mkdirSync(join(data, 'applications'));
    const entry = `[Desktop Entry]\nType=Application\nName=${APP}\nExec=true\n`;
    writeFileSync(join(data, 'applications/some.desktop'), entry);
    ({ address, home } = await startWeb(atEnd, { XDG_DATA_DIRS: data }));
    browser = await launchBrowser(atEnd);
  });
  after(async () => {
    for (const end of ends.reverse()) await end();
  });

  const visit = async (page: Page, name: PageName) => {
    await turnTo(page, name);
    if (name !== 'apps') return;
    await page.locator('.toolbar input[type=checkbox]').first().check(); // only proxychains catches this app
    await page.getByText(APP).first().waitFor();
  };

  const act = async (page: Page, request: { action: string; value?: string }) => {
    const status = await page.evaluate(async body => {
      const headers = { 'content-type': 'application/json' };
      return (await fetch('/api/action', { method: 'POST', headers, body })).status;
    }, JSON.stringify(request));
    assert.equal(status, 200, request.action);
  };

  /** Connects, and waits for figures in the history, which is empty before. */
  const record = async (page: Page) => {
    await act(page, { action: 'connect' });
    const recorded = () =>
      page.evaluate<number>(
        "fetch('/api/history').then(answer => answer.json()).then(({ samples }) => samples.length)",
      );
    await until(async () => (await recorded()) > 0, 'something is recorded');
  };

  test('every visible and spoken text can be translated', async () => {
    const { page, complaints } = await openTab(browser, address, { locale: 'de-DE' });
    const parts: string[] = [];
    await servePseudo(page, { before: part => parts.push(part) });
    await page.reload();
    await page.getByText(pseudo('Disconnected')).first().waitFor();
    // a text of the daemon may be in the further part, which then follows
    assert.equal(parts[0], 'first');
    const untranslated: string[] = [];
    for (const name of PAGE_NAMES) {
      await visit(page, name);
      for (const text of await page.evaluate<string[]>(SHOWN)) {
        const rest = foreign(text).trim();
        if (!DATA.some(pattern => pattern.test(rest))) untranslated.push(`${name}: ${text}`);
      }
    }
    assert.deepEqual(untranslated, []);
    assert.deepEqual(complaints, []);
  });

  test('further texts that can’t be loaded leave those of the first page, and come with the next page', async () => {
    const { page } = await openTab(browser, 'about:blank', { locale: 'de-DE' });
    let fails = true;
    await servePseudo(page, { before: part => !(fails && part === 'further') });
    await page.goto(`${address}#/dns`);
    const filter = (name: string) => page.getByRole('radio', { name, exact: true });
    await filter('Malware').waitFor();
    await page.getByRole('navigation', { name: pseudo('Pages') }).waitFor();
    await visit(page, 'routes');
    await page.getByRole('navigation', { name: pseudo('Pages') }).waitFor();
    fails = false;
    await visit(page, 'dns');
    await filter(pseudo('Malware')).waitFor();
    await page.context().close();
  });

  test('a page waits for its texts, also while a missing text of the first page loads them', async () => {
    const { page, complaints } = await openTab(browser, 'about:blank', { locale: 'de-DE' });
    let release = () => {};
    const released = new Promise<void>(resolve => {
      release = resolve;
    });
    let isAsked = false;
    await servePseudo(page, {
      late: 'Pages',
      before(part) {
        if (part === 'first') return true;
        isAsked = true;
        return released;
      },
    });
    await page.goto(address);
    await page.getByText(pseudo('Disconnected')).first().waitFor();
    await until(() => isAsked, 'the further texts are asked for');
    await page.evaluate(WATCH);
    const scripts = await page.evaluate<number>(SCRIPTS);
    await page.evaluate("location.hash = '#/dns'");
    await until(async () => (await page.evaluate<number>(SCRIPTS)) > scripts, 'the script of the page is loaded');
    await page.evaluate(DRAW);
    release();
    await page.getByRole('radio', { name: pseudo('Malware'), exact: true }).waitFor();
    assert.equal(await page.evaluate('wasEnglish'), false);
    assert.deepEqual(complaints, []);
    await page.context().close();
  });

  test('the results of the checks are in the language, and quote what this computer says', async () => {
    const { page, complaints } = await openTab(browser, `${address}#/checks`, { locale: 'de-DE' });
    await page.getByRole('button', { name: 'Prüfen', exact: true }).click();
    const closed = page.locator('main .fold[aria-expanded=false]');
    await closed.first().waitFor();
    const busy = page.locator('main .hero button[aria-disabled=true]');
    await until(async () => (await busy.count()) === 0, 'the checks end');
    // an expander may have expanders in it
    while ((await closed.count()) > 0) await closed.first().click();
    await page.evaluate("for (const each of document.querySelectorAll('main details')) each.open = true");
    const shown = (await page.locator('main').innerText()).split('\n');
    const report = z.parse(
      DoctorReport,
      await (
        await fetch(`${address}api/doctor`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: '{}',
        })
      ).json(),
    );
    const seen = report.results.filter(({ verdict }) => verdict !== 'not-applicable');
    assert.ok(seen.length > 10, String(seen.length));
    const english = seen.flatMap(({ title, verdict, evidence, explanation, wording, fix }) => [
      title,
      ...evidence.filter((_, at) => wording?.evidence[at]?.text !== quoted('').text),
      ...(explanation !== null && verdict !== 'ok' ? [explanation] : []),
      ...(fix ? [fix.label] : []),
    ]);
    assert.deepEqual(
      english.filter(text => shown.includes(text)),
      [],
    );
    assert.deepEqual(complaints, []);
    await page.context().close();
  });

  /** Widths that are needed beyond each window, and texts that are cut there. */
  const misfits = async (page: Page, names: readonly PageName[] = PAGE_NAMES) => {
    const wrong: string[] = [];
    for (const { width, letters } of SIZES) {
      await page.setViewportSize({ width, height: 640 });
      await page.evaluate(`document.documentElement.style.fontSize = '${letters}'`);
      for (const name of names) {
        await visit(page, name);
        const needed = await page.evaluate<number>('document.documentElement.scrollWidth');
        if (needed > width) wrong.push(`${name} needs ${needed} pixels of ${width} in letters of ${letters}`);
        wrong.push(...(await page.evaluate<string[]>(CUT)).map(text => `${name} shows a part of: ${text}`));
        wrong.push(...(await page.evaluate<string[]>(HIGH)).map(text => `${name} has no room for: ${text}`));
        wrong.push(...(await page.evaluate<string[]>(BROKEN)).map(text => `${name} breaks: ${text}`));
      }
    }
    return wrong;
  };

  // one language from right to left, and those with the longest words, which the texts that are longer stand for in a short run,
  // on every page
  for (const language of ['ar', ...(FULL ? ['de', 'ru'] : [])])
    test(`${language} fits a narrow window, and runs the way it is written`, async () => {
      const { page } = await openTab(browser, address, { locale: language });
      await page.locator(`html[lang="${language}"]`).waitFor();
      assert.equal(await page.locator('html').getAttribute('dir'), language === 'ar' ? 'rtl' : 'ltr');
      assert.deepEqual(await misfits(page, inTurn(PAGE_NAMES, 0)), []);
      await page.context().close();
    });

  test('a graph of one value, the newest, ends where its lines do', async () => {
    const { page } = await openTab(browser, address);
    await record(page);
    await visit(page, 'history');
    await page.locator('main .chart path.line[d*=h]').first().waitFor({ state: 'attached' });
    const wrong = await page.evaluate<
      string[]
    >(`[...document.querySelectorAll('main .chart svg:has(.grid)')].flatMap(svg => {
      const { right } = svg.querySelector('.grid').getBoundingClientRect();
      return [...svg.querySelectorAll('path')].map(path => path.getBoundingClientRect().right - right).filter(by => by > 1);
    })`);
    assert.deepEqual(wrong, []);
    await page.context().close();
  });

  test('on a phone, the words of a graph are not smaller than 10 pixels, and what happened is in sight', async () => {
    const { page } = await openTab(browser, address, { locale: 'de', viewport: { width: 360, height: 740 } });
    await record(page);
    await visit(page, 'history');
    await page.locator('main .chart path.line').first().waitFor({ state: 'attached' });
    const heights = await page
      .locator('main .chart text')
      .evaluateAll(texts => texts.map(text => text.getBoundingClientRect().height));
    assert.ok(
      heights.every(height => height >= 10),
      heights.join(', '),
    );
    const edge = await page
      .locator('main .row .title', { hasText: /^\d+:\d+/ })
      .first()
      .boundingBox();
    assert.ok(edge!.x + edge!.width <= 360, JSON.stringify(edge));
    await page.evaluate("for (const each of document.querySelectorAll('main details')) each.open = true");
    for (const texts of [BEYOND, SPLIT]) assert.deepEqual(await page.evaluate<string[]>(texts), []);
    await visit(page, 'connection');
    await emulate(home, 'fault=service-down');
    await page.locator('main .command-box code').waitFor();
    assert.deepEqual(await page.evaluate<string[]>(BEYOND), []);
    await emulate(home, 'clear');
    await page.locator('main .command-box code').waitFor({ state: 'detached' });
    await page.context().close();
  });

  test('long values fit a narrow window, also among texts that are longer', async () => {
    const { page } = await openTab(browser, address);
    for (const [action, value] of LONG) await act(page, value ? { action, value } : { action });
    if (FULL) assert.deepEqual(await misfits(page), []);
    await page.context().close();
    const foreign = await openTab(browser, address, { locale: 'de-DE' });
    await servePseudo(foreign.page);
    await foreign.page.reload();
    await foreign.page.getByText(pseudo('Connected')).first().waitFor();
    assert.deepEqual(await misfits(foreign.page), []);
    await foreign.page.context().close();
  });
});
