// The browser page in Debian's Chromium against the built daemon with the emulator: states, actions, and the language.
import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ACTION_NAMES } from '../../../daemon/api/actions.ts';
import { checkAccessibility, emulate, openTab, shareBrowser } from '../../support/e2e/browser.ts';
import { createHome, culvert, getJson, prefix, start } from '../../support/e2e/culvert.ts';
import { handsOf, openDemo, press, settled, stateOf, visit } from '../../support/e2e/page.ts';
import { FURTHER_STEPS, STEPS, type Step } from '../../support/e2e/steps.ts';
import { freePort } from '../../support/ports.ts';
import { FULL } from '../../support/thoroughness.ts';
import { until } from '../../support/until.ts';

const openBrowser = shareBrowser();

test('connecting moves nothing: each control and the figures keep their places', async t => {
  const { page, complaints } = await openDemo(t, openBrowser, { CULVERT_EMULATOR_CONNECT_MS: '700' });
  for (const width of [1000, 360]) {
    await page.setViewportSize({ width, height: 800 });
    const look = () =>
      page.evaluate<{ places: number[]; state: string }>(
        `({
          state: document.querySelector('main .state').innerText,
          places: [...document.querySelectorAll('main .buttons, main .row')].slice(0, 5)
            .map(element => Math.round(element.getBoundingClientRect().top + scrollY)),
        })`,
      );
    await page.locator('main .values').waitFor();
    // before its first read, and after a failed read on a busy machine, the page has further lines
    await until(async () => (await look()).state === 'Demo: Disconnected', 'the state');
    const before = await look();
    const seen: Awaited<ReturnType<typeof look>>[] = [];
    await press(page, 'Connect');
    await until(async () => {
      seen.push(await look());
      return seen.at(-1)!.state === 'Demo: Connected';
    }, 'the tunnel is up');
    await page.getByText('Packet loss').first().waitFor();
    seen.push(await look());
    // on a busy machine a read can fail; the title is then longer
    const steps = seen.filter(({ state }) => /^Demo: (Disconnected|Connecting…|Connected)$/.test(state));
    for (const { places, state } of steps) assert.deepEqual(places, before.places, `${state}, ${width} pixels`);
    await press(page, 'Disconnect');
    await until(async () => (await stateOf(page)) === 'Demo: Disconnected', 'the tunnel is down');
  }
  assert.deepEqual(complaints, []);
});

/** Pages with each kind of row; forms.test.ts proves that some page asks for each action, and a full run takes all steps. */
const TRIED: readonly string[] = ['connection', 'dns', 'networks'];

test('actions can be asked for in the page, with each kind of row', async t => {
  // messages at the bottom cover nothing that is to be clicked
  const viewport = { width: 1000, height: 2000 };
  const { page, actions, complaints, home, port } = await openDemo(t, openBrowser, {}, { viewport });
  const hands = handsOf(page);
  let shown: string | null = null;
  const take = async ([name, what]: Step) => {
    const before = actions.length;
    if (name !== shown) await visit(page, name);
    shown = name;
    await what(hands);
    const isAsked = () => actions.length > before;
    // a click is lost when a row moves under the pointer, as when the state that was read brings another one
    await until(isAsked, 'an action is asked for', { limitMs: 20_000 }).catch(() => what(hands));
    await until(isAsked, () => `${name}: an action is asked for by ${what}`);
    // one at a time: the next is asked for when this one's effect has arrived
    await settled(page);
    await page.keyboard.press('Escape');
  };
  for (const step of STEPS) if (FULL || TRIED.includes(step[0])) await take(step);
  for (const [words, step] of FULL ? FURTHER_STEPS : []) {
    await emulate(home, ...words);
    await getJson(port, '/api/snapshot?fresh=1');
    await take(step);
  }
  const asked = new Set(actions.map(({ action }) => action));
  if (FULL)
    assert.deepEqual(
      ACTION_NAMES.filter(name => !asked.has(name)),
      [],
    );
  else assert.ok(asked.size > 8, [...asked].join());
  const malformed = actions.filter(({ status }) => status === 415 || status === 422 || status === 400);
  assert.deepEqual(malformed, []);
  assert.deepEqual(complaints, []);
});

test('without warp-cli the page says what to install, and goes on once it is there', async t => {
  const home = createHome(t);
  const cli = join(home.directory, 'bin/warp-cli');
  Object.assign(home.env, { CULVERT_WEBUI: '1', CULVERT_WARP_CLI: cli, CULVERT_EMULATOR_CONNECT_MS: '50' });
  mkdirSync(join(home.directory, 'bin'));
  const [, port] = await start(home, '--port', String(freePort())).says(/answers on http:\/\/127\.0\.0\.1:(\d+)\//);
  const { page, complaints } = await openTab(await openBrowser(t), `http://127.0.0.1:${port}/`);
  await page.locator('main .state', { hasText: 'Cloudflare WARP is not installed' }).waitFor();
  await page.getByRole('button', { name: 'Try the Demo', exact: true }).waitFor();
  await checkAccessibility(page, 'without warp-cli');
  const guide = page.context().waitForEvent('page');
  await page.context().route('https://pkg.cloudflareclient.com/**', route => route.fulfill({ body: 'The guide' }));
  // a link where this distribution has a command
  await press(page, 'Installation Guide: Open');
  assert.equal(new URL((await guide).url()).host, 'pkg.cloudflareclient.com');
  // pages that need no warp-cli work, and its own settings can't be used
  await visit(page, 'checks');
  await press(page, 'Run Checks');
  await page.getByText('Install Cloudflare WARP, or try Culvert without it').first().waitFor();
  await visit(page, 'mode');
  await checkAccessibility(page, 'the modes without warp-cli');
  assert.equal(await page.getByRole('radio').and(page.locator(':enabled:not([aria-disabled=true])')).count(), 0);
  symlinkSync(join(prefix, 'bin/culvert-emulator'), cli);
  await visit(page, 'connection');
  await press(page, 'Connect');
  await page.getByText('Your traffic goes through Cloudflare.').waitFor();
  assert.deepEqual(complaints, []);
});

test('a page whose daemon is gone says since when, and recovers when it is back', async t => {
  const { page, child, ended, home, port, complaints } = await openDemo(t, openBrowser);
  child.kill('SIGTERM');
  await ended;
  const alert = page.getByRole('alert');
  await alert.getByText(/Out of date since .*\d\d:\d\d:\d\d\./).waitFor();
  assert.equal(await page.locator('main button', { hasText: '15 minutes' }).getAttribute('aria-disabled'), 'true');
  await checkAccessibility(page, 'without the daemon');
  const again = start(home, '--demo', '--port', String(port));
  await again.says(/answers on/);
  await alert.getByText(/Out of date/).waitFor({ state: 'detached' });
  await press(page, 'Connect');
  await page.locator('main .state', { hasText: 'Demo: Connected' }).waitFor();
  assert.deepEqual(complaints, []);
});

test('the page speaks the language that is configured, else the browser’s, and a known bug is read aloud as English', async t => {
  const { page, home } = await openDemo(t, openBrowser, {}, { locale: 'de-DE' });
  await page.getByRole('button', { name: 'Verbinden', exact: true }).waitFor();
  assert.equal(await page.locator('html').getAttribute('lang'), 'de');
  const knowledge = join(home.directory, '.config/culvert/knowledge');
  mkdirSync(knowledge, { recursive: true });
  writeFileSync(
    join(knowledge, 'known-issues.toml'),
    '[[issue]]\nid = "x"\ntitle = "A bug"\nseverity = "medium"\nsince = "2020.1"\nsymptom = ""\nadvice = "Update."\n',
  );
  await page.locator('a[href$=checks]').first().click();
  await press(page, 'Prüfen');
  const quoted = page.locator('main [lang=en]');
  const folds = page.locator('main .fold[aria-expanded=false]');
  const isQuoted = async () => {
    if ((await folds.count()) > 0) await folds.first().click();
    return (await quoted.filter({ hasText: 'A bug. Update.' }).count()) > 0;
  };
  await until(isQuoted, 'the known bug');
  for (const text of await quoted.allTextContents()) assert.doesNotMatch(text, /Version|[äöüß]/, 'it is English');
  await culvert(home, 'config', 'set', 'ui.locale', 'ru');
  await page.evaluate("location.hash = '#/connection'");
  await page.getByRole('button', { name: 'Подключить', exact: true }).waitFor();
});
