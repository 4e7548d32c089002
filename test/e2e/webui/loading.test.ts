// Loading the browser page: nothing in the daemon while no browser has it open, no Koa for the files, and the new page after an update.
import assert from 'node:assert/strict';
import { cpSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { openTab, shareBrowser, startWeb } from '../../support/e2e/browser.ts';
import { createHome, prefix, start, startDemo } from '../../support/e2e/culvert.ts';
import { PAGES } from '../../support/e2e/steps.ts';
import { freePort } from '../../support/ports.ts';
import { temporary } from '../../support/temporary.ts';
import { until } from '../../support/until.ts';

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

/** Records which page is in sight from frame to frame. */
const WATCH = `globalThis.seen = [];
  const look = () => {
    const main = document.querySelector('main');
    if (main?.checkVisibility() && seen.at(-1) !== main.dataset.page) seen.push(main.dataset.page);
    requestAnimationFrame(look);
  };
  look();`;

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
    const other = (text: string) => text.replaceAll(/\b(app|chunk)-([0-9A-Z]{7})[0-9A-Z]\.js/g, '$1-$20.js');
    const ofPage = /\.js$|^index\.html$/;
    change('webui', ofPage, text => other(text.replaceAll(`"${present}"`, `"${version}"`)));
    const webui = join(share, 'webui');
    for (const name of readdirSync(webui)) {
      if (/\.(js|html)\.(br|gz)$/.test(name)) rmSync(join(webui, name));
      else renameSync(join(webui, name), join(webui, other(name)));
    }
    for (const name of readdirSync(webui).filter(name => ofPage.test(name))) {
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
  await page.getByText('Culvert 99.0.0 is running now').waitFor();
  assert.equal(await page.getByLabel('Port', { exact: true }).inputValue(), '40123');
  await page.getByRole('button', { name: 'Reload', exact: true }).click();
  await page.getByText('Culvert 99.0.0 is running now').waitFor({ state: 'detached' });
  await page.getByRole('heading', { level: 1, name: PAGES.advanced }).waitFor();
  // a tab that has shown only the first page finds the script of the others gone
  await first.getByText('Culvert 99.0.0 is running now').waitFor();
  await first.getByRole('link', { name: PAGES.mode, exact: true }).first().click();
  await first.getByRole('heading', { level: 1, name: PAGES.mode }).waitFor();
  await first.getByText('Culvert 99.0.0 is running now').waitFor({ state: 'detached' });
  assert.deepEqual(complaints, []);
});

test('a question that is open when the daemon ends can no longer be accepted, and says why', async t => {
  const { address, child, ended } = await startWeb(t);
  const { page } = await openTab(await openBrowser(t), `${address}#/account`);
  await page.getByRole('button', { name: 'Remove this device: Remove…' }).click();
  const accept = page.getByRole('dialog').locator('button.destructive');
  await accept.waitFor();
  assert.equal(await accept.isEnabled(), true);
  child.kill('SIGTERM');
  await ended;
  await page.getByRole('dialog').getByRole('alert').getByText('background service').waitFor();
  assert.equal(await accept.isDisabled(), true);
});
