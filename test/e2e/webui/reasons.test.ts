// A control of the browser page that can't be used has its reason in sight, in every state and on every page.

import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { PAGE_NAMES, type PageName } from '../../../daemon/view/page-list.ts';
import {
  checkAccessibility,
  emulate,
  openTab,
  SETUP_STATES,
  shareBrowser,
  shareWeb,
  startWeb,
  turnTo,
} from '../../support/e2e/browser.ts';
import { createHome, getJson, start } from '../../support/e2e/culvert.ts';
import { freePort } from '../../support/ports.ts';
import { inTurn } from '../../support/thoroughness.ts';
import { until } from '../../support/until.ts';

const openBrowser = shareBrowser();
const openWeb = shareWeb();

interface Inert {
  page: string;
  name: string;
  /** Texts in sight that describe it, by their ids. */
  reasons: [id: string, text: string][];
}

const READ_INERT = `[...document.querySelectorAll('main :is([aria-disabled=true], :disabled)')]
  .filter(control => control.checkVisibility())
  .map(control => ({
    name: control.getAttribute('aria-label') ?? control.textContent,
    reasons: (control.getAttribute('aria-describedby') ?? '').split(' ')
      .map(id => document.getElementById(id))
      .filter(text => text?.checkVisibility() && text.textContent.trim() !== '')
      .map(text => [text.id, text.textContent]),
  }))`;

/** Texts, or edges where there is no text, of controls that can't be used, with a contrast below 7:1 (WCAG 1.4.6). */
const READ_FAINT = `(() => {
  const canvas = document.createElement('canvas').getContext('2d');
  const parts = color => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data].map(part => part / 255);
  };
  const linear = part => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const contrast = (element, color) => {
    const around = [];
    for (let each = element; each; each = each.parentElement) around.push(getComputedStyle(each));
    const back = around.map(style => parts(style.backgroundColor)).find(([, , , alpha]) => alpha === 1);
    const opacity = around.reduce((product, style) => product * style.opacity, 1);
    const seen = parts(color).map((part, i) => opacity * part + (1 - opacity) * back[i]);
    const [less, more] = [light(seen), light(back)].sort((a, b) => a - b);
    return (more + 0.05) / (less + 0.05);
  };
  return [...document.querySelectorAll('main :is([aria-disabled=true], :disabled)')]
    .filter(control => control.checkVisibility())
    .flatMap(control => {
      const worded = [control, ...control.querySelectorAll('*')].filter(element =>
        [...element.childNodes].some(node => node.nodeType === Node.TEXT_NODE && node.data.trim()));
      const colors = worded.map(element => [element, getComputedStyle(element).color]);
      return colors.length ? colors : [[control, getComputedStyle(control).borderTopColor]];
    })
    .map(([element, color]) => [contrast(element, color), element])
    .filter(([ratio]) => ratio < 7)
    .map(([ratio, element]) => ratio.toFixed(1) + ': ' + element.outerHTML);
})()`;

/** The controls of pages that can't be used, those behind "Advanced" among them. */
async function survey(page: Page, names: readonly PageName[] = PAGE_NAMES): Promise<Inert[]> {
  const inert: Inert[] = [];
  for (const name of names) {
    await turnTo(page, name);
    for (const fold of await page.locator('main .fold').all()) await fold.click();
    const there = await page.evaluate<Omit<Inert, 'page'>[]>(READ_INERT);
    inert.push(...there.map(each => ({ ...each, page: name })));
  }
  return inert;
}

function assertReasons(inert: readonly Inert[], what: string, ids: readonly string[] = []): void {
  const silent = inert.filter(({ reasons }) => reasons.length === 0);
  assert.deepEqual(
    silent.map(({ page, name }) => `${page}: ${name}`),
    [],
    what,
  );
  const other = ids.length ? inert.filter(({ reasons }) => !reasons.some(([id]) => ids.includes(id))) : [];
  assert.deepEqual(
    other.map(({ page, name, reasons }) => `${page}: ${name}: ${reasons.join(' ')}`),
    [],
    what,
  );
}

/** A button that appears a moment after the page can't be used, and says why. */
async function assertInert(page: Page, name: PageName, button: string): Promise<void> {
  await turnTo(page, name);
  await page.getByRole('button', { name: button, exact: true }).waitFor();
  const inert = await page.evaluate<Omit<Inert, 'page'>[]>(READ_INERT);
  assert.ok(
    inert.some(each => each.name === button),
    button,
  );
  assertReasons(
    inert.map(each => ({ ...each, page: name })),
    name,
  );
}

test('each control that can’t be used has its reason in sight', async t => {
  const web = await startWeb(t);
  const applications = join(web.home.directory, '.local/share/applications');
  mkdirSync(applications, { recursive: true });
  const firefox = join(web.home.directory, 'firefox');
  writeFileSync(firefox, '#!/bin/sh\n', { mode: 0o755 });
  const entry = `[Desktop Entry]\nType=Application\nName=Own Firefox\nExec=${firefox} %u\nCategories=Network;WebBrowser;\n`;
  writeFileSync(join(applications, 'own-firefox.desktop'), entry);
  const { page, complaints } = await openTab(await openBrowser(t), web.address);
  await page.locator('main .state', { hasText: 'Disconnected' }).waitFor();
  assertReasons(await survey(page), 'disconnected');
  await assertInert(page, 'editor', 'Apply changes: Apply');
  for (const [at, [words, title]] of SETUP_STATES.entries()) {
    await emulate(web.home, ...words);
    await turnTo(page, 'connection');
    await getJson(web.port, '/api/snapshot?fresh=1');
    // WARP says so only when a change is requested
    if (words.includes('fault=not-authorized'))
      await page.getByRole('button', { name: 'Connect', exact: true }).click();
    await page.locator('main .state', { hasText: title }).waitFor();
    await checkAccessibility(page, title);
    const inert = await survey(page, inTurn(PAGE_NAMES, at));
    assert.ok(inert.length > 3, `${words}: ${inert.length}`);
    assertReasons(inert, words.join(' '), ['why']);
  }
  await emulate(web.home, 'reset', 'organization=example-team', 'fault=policy-lock');
  await getJson(web.port, '/api/snapshot?fresh=1');
  await turnTo(page, 'connection');
  await page.getByText('WARP can’t be turned off here.').first().waitFor();
  const managed = await survey(page, inTurn(PAGE_NAMES, PAGE_NAMES.indexOf('mode')));
  assertReasons(managed, 'managed');
  const texts = managed.flatMap(({ page, reasons }) => (page === 'mode' ? reasons.map(([, text]) => text) : []));
  assert.ok(texts.includes('Your organization decides the mode.'), texts.join('\n'));
  await assertInert(page, 'apps', 'Start Own Firefox');
  web.child.kill('SIGTERM');
  await web.ended;
  await page.locator('#why-offline').waitFor();
  const gone = await survey(page, inTurn(PAGE_NAMES, 0));
  assert.ok(gone.length > 3, `gone: ${gone.length}`);
  assertReasons(gone, 'gone', ['why-offline']);
  assert.deepEqual(complaints, []);
});

test('without WARP each control says that it is missing', async t => {
  const home = createHome(t);
  Object.assign(home.env, { CULVERT_WEBUI: '1', CULVERT_WARP_CLI: join(home.directory, 'bin/warp-cli') });
  mkdirSync(join(home.directory, 'bin'));
  const [, port] = await start(home, '--port', String(freePort())).says(/answers on http:\/\/127\.0\.0\.1:(\d+)\//);
  const { page } = await openTab(await openBrowser(t), `http://127.0.0.1:${port}/`);
  await page.locator('main .state', { hasText: 'Cloudflare WARP is not installed' }).waitFor();
  assertReasons(await survey(page, inTurn(PAGE_NAMES, 1)), 'missing', ['why']);
});

test('a field that is left empty says so when it is sent', async t => {
  const web = await openWeb();
  const { page, actions } = await openTab(await openBrowser(t), `${web.address}#/dns`);
  await page.getByRole('button', { name: 'Add a domain: Add', exact: true }).click();
  await page.getByText('Fill in this field first.').waitFor();
  assert.equal(await page.evaluate('document.activeElement.tagName'), 'INPUT');
  assert.deepEqual(actions, []);
});

test('while an action runs each control says so, and nothing moves', async t => {
  const web = await openWeb();
  const { page } = await openTab(await openBrowser(t), web.address);
  await page.locator('main .state', { hasText: 'Disconnected' }).waitFor();
  let release = () => {};
  const held = new Promise<void>(resolve => {
    release = resolve;
  });
  await page.route('**/api/action', async route => {
    await held;
    await route.continue();
  });
  await page.getByRole('button', { name: 'Connect', exact: true }).click();
  await until(async () => (await page.locator('.why.passing').count()) === 1, 'the reason');
  const inert = await survey(page, inTurn(PAGE_NAMES, 2));
  assert.ok(inert.length > 3, String(inert.length));
  assertReasons(inert, 'running', ['why']);
  release();
});

test('in high contrast, what can’t be used can still be read', async t => {
  const web = await openWeb();
  await emulate(web.home, 'reset', 'fault=terms');
  await getJson(web.port, '/api/snapshot?fresh=1');
  const { page } = await openTab(await openBrowser(t), web.address, { contrast: 'more' });
  await page.locator('main .state', { hasText: 'Set up WARP' }).waitFor();
  for (const name of ['mode', 'dns', 'routes'] as const) {
    await turnTo(page, name);
    await page.locator('main :is([aria-disabled=true], :disabled)').first().waitFor();
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      assert.deepEqual(await page.evaluate<string[]>(READ_FAINT), [], `${name}, ${colorScheme}`);
    }
  }
});
