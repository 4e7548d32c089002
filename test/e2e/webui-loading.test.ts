// Loading the browser page: nothing in the daemon while nobody looks, no Koa for the files, after an update the new page, and first
// what the daemon drew, which the script takes over.
import assert from 'node:assert/strict';
import { cpSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import type { Snapshot } from '../../daemon/api/schema.ts';
import { emulate, openTab, SETUP_STATES, shareBrowser, startWeb } from '../support/e2e/browser.ts';
import { createHome, getJson, prefix, start, startDemo } from '../support/e2e/culvert.ts';
import { PAGES } from '../support/e2e/steps.ts';
import { freePort } from '../support/ports.ts';
import { temporary } from '../support/temporary.ts';
import { until } from '../support/until.ts';

test('the files of the page are loaded with the first request, and Koa with the first that needs it', async t => {
  const home = createHome(t);
  Object.assign(home.env, { CULVERT_WEBUI: '1', NODE_DEBUG: 'module' });
  const port = freePort();
  const daemon = start(home, '--demo', '--port', String(port));
  await until(() => daemon.said().includes('answers on'), 'the daemon answers');
  const address = `http://127.0.0.1:${port}`;
  const loaded = (part: string) => new RegExp(`/${part}-\\w+\\.cjs`).test(daemon.said());
  const get = async (path: string) => {
    const response = await fetch(address + path);
    assert.equal(response.status, 200, path);
    return response.text();
  };
  assert.deepEqual([loaded('assets'), loaded('server')], [false, false], 'a page that is on changes no start');
  const html = await get('/');
  const files = [...html.matchAll(/(?:src|href)="(\/[\w-]+\.(?:js|css|svg|png))"/g)].map(([, path]) => path!);
  assert.ok(files.length >= 2, html.slice(0, 1000));
  for (const path of files) await get(path);
  await until(() => loaded('assets'));
  assert.equal(loaded('server'), false);
  await get('/api/config');
  await until(() => loaded('server'), 'Koa, with the first request that is routed');
});

const openBrowser = shareBrowser();

/** Records what is in sight from frame to frame, and what taking over adds, removes and relabels. */
const WATCH = `globalThis.seen = [];
  const look = () => {
    const main = document.querySelector('main');
    if (main?.checkVisibility() && seen.at(-1) !== main.dataset.page) seen.push(main.dataset.page);
    requestAnimationFrame(look);
  };
  look();
  globalThis.takenOver = new Promise(resolve => {
    const observer = new MutationObserver(records => {
      if (!records.some(({ attributeName }) => attributeName === 'inert')) return;
      observer.disconnect();
      const text = node => node.outerHTML ?? node.data;
      resolve(records.flatMap(({ target, type, attributeName, addedNodes, removedNodes }) => type === 'childList'
        ? [...[...addedNodes].map(node => '+' + text(node)), ...[...removedNodes].map(node => '-' + text(node))]
        : target.id === 'app' ? [] : [attributeName + '=' + target.getAttribute(attributeName)])
        .filter(change => change !== '+')); // an empty text, which HTML can't have
    });
    observer.observe(document, { subtree: true, childList: true, attributes: true });
  });`;

test('the script takes over the elements that the daemon drew, in each state and language', async t => {
  const { address, home, port } = await startWeb(t);
  const browser = await openBrowser(t);
  const changes = async (locale: string, state: RegExp | string) => {
    const context = await browser.newContext({ locale });
    const page = await context.newPage();
    await page.addInitScript(WATCH);
    await page.goto(address);
    await page.locator('main .state', { hasText: state }).waitFor();
    const found = await page.evaluate<string[]>('takenOver');
    await context.close();
    return found;
  };
  for (const locale of ['en-US', 'de-DE', 'ar-EG', 'ja-JP']) assert.deepEqual(await changes(locale, /./), [], locale);
  await fetch(`${address}api/action`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"action":"connect"}',
  });
  const stateOf = async () => ((await getJson(port, '/api/snapshot')) as unknown as Snapshot).status.state;
  await until(async () => (await stateOf()) === 'connected', 'the tunnel is connected');
  assert.deepEqual(await changes('en-US', 'Connected'), []);
  for (const [words, title] of SETUP_STATES.slice(0, 3)) {
    await emulate(home, ...words);
    await getJson(port, '/api/snapshot?fresh=1');
    assert.deepEqual(await changes('en-US', title), [], title);
  }
});

test('an address that names another page never shows the first one', async t => {
  const { address } = await startWeb(t);
  const { page, complaints } = await openTab(await openBrowser(t), 'about:blank');
  await page.addInitScript(WATCH);
  await page.goto(`${address}#/log`);
  await page.getByRole('heading', { level: 1, name: 'Log' }).waitFor();
  await until(() => page.evaluate<boolean>('seen.length > 0'));
  assert.deepEqual(await page.evaluate('seen'), ['log']);
  assert.deepEqual(complaints, []);
});

/** A copy of the installed program, in which `update` then puts another version with other files of the page. */
function installCopy(t: TestContext) {
  const directory = temporary(t, 'installed');
  for (const part of ['bin', 'share/culvert']) cpSync(join(prefix, part), join(directory, part), { recursive: true });
  const share = join(directory, 'share/culvert');
  const change = (folder: string, names: RegExp, edit: (text: string) => string) => {
    for (const name of readdirSync(join(share, folder)).filter(name => names.test(name))) {
      const file = join(share, folder, name);
      writeFileSync(file, edit(readFileSync(file, 'utf8')));
    }
  };
  const update = (version: string) => {
    const present = JSON.parse(readFileSync('package.json', 'utf8')).version as string;
    change('daemon', /\.cjs$/, text => text.replaceAll(`"${present}"`, `"${version}"`));
    const other = (text: string) => text.replaceAll(/\b(app|pages)-[0-9a-f]{8}\.js/g, '$1-00000000.js');
    change('webui', /^(app|pages)-.*\.js$|^index\.html$/, text =>
      other(text.replaceAll(`"${present}"`, `"${version}"`)),
    );
    const webui = join(share, 'webui');
    for (const name of readdirSync(webui)) {
      if (/\.js\.(br|gz)$/.test(name)) rmSync(join(webui, name));
      else renameSync(join(webui, name), join(webui, other(name)));
    }
    for (const name of ['app-00000000.js', 'pages-00000000.js']) {
      const file = join(webui, name);
      writeFileSync(`${file}.br`, brotliCompressSync(readFileSync(file)));
      writeFileSync(`${file}.gz`, gzipSync(readFileSync(file)));
    }
  };
  return { program: join(directory, 'bin/culvert'), update };
}

test('a page whose daemon was updated keeps what is typed, offers the new page, and loads it where its own files are gone', async t => {
  const { program, update } = installCopy(t);
  const home = Object.assign(createHome(t), { program });
  home.env.CULVERT_WEBUI = '1';
  const { child, ended, port } = await startDemo(home);
  const address = `http://127.0.0.1:${port}/`;
  const browser = await openBrowser(t);
  const { page, complaints } = await openTab(browser, `${address}#/advanced`);
  await page.getByLabel('Port', { exact: true }).fill('40123');
  const { page: first } = await openTab(browser, address);
  await first.locator('main .state').waitFor();
  child.kill('SIGTERM');
  await ended;
  update('99.0.0');
  await start(home, '--demo', '--port', String(port)).says(/answers on/);
  await page.getByText('Culvert 99.0.0 runs now').waitFor();
  assert.equal(await page.getByLabel('Port', { exact: true }).inputValue(), '40123');
  await page.getByRole('button', { name: 'Reload', exact: true }).click();
  await page.getByText('Culvert 99.0.0 runs now').waitFor({ state: 'detached' });
  await page.getByRole('heading', { level: 1, name: 'Advanced' }).waitFor();
  // a tab that has shown only the first page finds the script of the others gone
  await first.getByText('Culvert 99.0.0 runs now').waitFor();
  await first.getByRole('link', { name: PAGES.mode, exact: true }).first().click();
  await first.getByRole('heading', { level: 1, name: PAGES.mode }).waitFor();
  await first.getByText('Culvert 99.0.0 runs now').waitFor({ state: 'detached' });
  assert.deepEqual(complaints, []);
});
