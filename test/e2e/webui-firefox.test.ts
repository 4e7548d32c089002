// The browser page in Debian's Firefox against the built daemon with the emulator.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import type { ShownPage } from '../../daemon/webui/pages/shown-pages.ts';
import { emulate, SETUP_STATES, startWeb } from '../support/e2e/browser.ts';
import { getJson, start } from '../support/e2e/culvert.ts';
import { launchFirefox } from '../support/e2e/firefox.ts';
import { until } from '../support/until.ts';

const PAGES = {
  ...{ connection: 'Connection', mode: 'Mode', killswitch: 'Kill Switch', routes: 'Routes' },
  ...{ editor: 'Routes as Text', dns: 'DNS', tools: 'Tool Accounts' },
  ...{ networks: 'Networks', account: 'Account', apps: 'Apps', advanced: 'Advanced', graph: 'Graph' },
  ...{ history: 'History', checks: 'Checks', log: 'Log', preferences: 'Preferences', updates: 'Updates' },
} satisfies Record<ShownPage, string>;
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const TAB = '\uE004';
const ENTER = '\uE007';

test('the page in Firefox', async t => {
  const { address, child, ended, home, port } = await startWeb(t);
  const { open: goTo, run, type } = await launchFirefox(t);
  const open = async (address: string) => {
    await goTo(address);
    await until(() => run<boolean>(`return document.querySelector('#app[inert]') === null`), 'the page is live');
  };
  const text = (selector: string) =>
    run<string>(`return document.querySelector(${JSON.stringify(selector)})?.textContent ?? ''`);
  // not the whole body, which has the first events as JSON
  const page = () => text('#app');
  const shows = (words: string) =>
    until(async () => (await page()).includes(words), `the page shows "${words}"`, { pollMs: 50 });
  const is = (state: string) => until(async () => (await text('main .state')) === state, state, { pollMs: 50 });
  /** A button can't be used while an action is under way. */
  const press = (name: string) =>
    until(
      () =>
        run<boolean>(`const button = [...document.querySelectorAll('button:not([aria-disabled])')]
          .find(each => each.textContent.trim() === ${JSON.stringify(name)});
        button?.click();
        return Boolean(button);`),
      `the button "${name}"`,
    );

  const isAccessible = async (what: string) => {
    const violations = await run<string[]>(`${axe}
      const found = await axe.run(document);
      return found.violations.map(each => each.id + ': ' + each.nodes.map(node => node.html).join(' | '));`);
    assert.deepEqual(violations, [], what);
  };

  await t.test('shows the state, and the buttons change it', async () => {
    await open(address);
    await is('Disconnected');
    await press('Connect');
    await shows('Your traffic goes through Cloudflare.');
    await press('Disconnect');
    await is('Disconnected');
  });

  await t.test('shows every page, accessible, light and dark', async () => {
    await run(`document.addEventListener('securitypolicyviolation', event => {
      document.documentElement.dataset.violated = event.violatedDirective + ' ' + event.blockedURI;
    });`);
    for (const theme of ['light', 'dark'])
      for (const [name, title] of Object.entries(PAGES)) {
        await run(`location.hash = '#/${name}'; document.documentElement.dataset.theme = '${theme}'`);
        await until(async () => (await text('h1')) === title, `the page ${name}`, { pollMs: 20 });
        await isAccessible(`${name}, ${theme}`);
      }
    assert.equal(await run('return document.documentElement.dataset.violated ?? null'), null);
  });

  await t.test('is used by keyboard', async () => {
    await open(address);
    await is('Disconnected');
    await type(TAB);
    assert.equal(await run('return document.activeElement.textContent'), 'Skip to content');
    await type(ENTER + TAB);
    assert.equal(await run('return document.activeElement.textContent'), 'Connect');
    await type(ENTER);
    await shows('Your traffic goes through Cloudflare.');
  });

  await t.test('shows what must be set up first, accessible', async () => {
    for (const [words, title] of SETUP_STATES) {
      await emulate(home, ...words);
      await getJson(port, '/api/snapshot?fresh=1');
      // WARP says so only to who asks for a change
      if (words.includes('fault=not-authorized')) await press('Connect');
      await is(title);
      await isAccessible(title);
    }
    await emulate(home, 'reset');
  });

  await t.test('says when the daemon is gone, and recovers', async () => {
    child.kill('SIGTERM');
    await ended;
    await shows('Not current since');
    const again = start(home, '--demo', '--port', String(port));
    await again.says(/answers on/);
    await until(async () => !(await page()).includes('Not current since'), 'the page recovers', { pollMs: 50 });
  });
});
