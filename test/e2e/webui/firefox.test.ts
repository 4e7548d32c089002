// The browser page in Debian's Firefox against the built daemon with the emulator.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';
import { ACTION_NAMES } from '../../../daemon/api/actions.ts';
import { createLog } from '../../../daemon/state/store.ts';
import { OUTPUT, startListeners } from '../../support/daemon/listeners.ts';
import { COLOR_RULES, emulate, SETUP_STATES, startWeb } from '../../support/e2e/browser.ts';
import { getJson, prefix, start } from '../../support/e2e/culvert.ts';
import { launchFirefox } from '../../support/e2e/firefox.ts';
import { CAN_SEND, FURTHER_STEPS, type Hands, PAGES, type Role, STEPS, type Step } from '../../support/e2e/steps.ts';
import { FULL } from '../../support/thoroughness.ts';
import { until } from '../../support/until.ts';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const TAB = '\uE004';
const ENTER = '\uE007';
const ESCAPE = '\uE00C';
const SELECTORS: Record<Role, string> = {
  button: 'button:not([role])',
  radio: '[role=radio]',
  switch: '[role=switch]',
  menuitem: '[role=menuitem]',
};
/** In the page: the element of a role that has one of the names and can be used. */
const FIND = `const named = (selector, names, within = document) => [...within.querySelectorAll(selector)].find(each => {
  const by = each.getAttribute('aria-labelledby');
  const name = each.getAttribute('aria-label') ?? (by ? document.getElementById(by).textContent
    : each.labels?.[0]?.textContent ?? each.innerText.replace(/\\s+/g, ' '));
  return names.includes(name.trim()) && !each.matches('[aria-disabled=true], :disabled, [inert] *') && each.checkVisibility();
}) ?? null;`;

test('the page in Firefox', { skip: !FULL && 'only with --full' }, async t => {
  const { address, child, ended, home, port } = await startWeb(t);
  const { open: goTo, run, click, type, openTab } = await launchFirefox(t);
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
  const find = (selector: string, names: readonly string[], within = 'document') =>
    `${FIND} return named(${JSON.stringify(selector)}, ${JSON.stringify(names)}, ${within});`;
  const hands: Hands = {
    click: (role, ...names) =>
      until(() => click(find(SELECTORS[role], names)), `${role} "${names.join('" or "')}"`, { pollMs: 20 }),
    accept: name =>
      until(() => click(find('button', [name], "document.querySelector('dialog')")), `"${name}" in the dialog`),
    async write(name, text) {
      const field = `${FIND} const field = named('input', [${JSON.stringify(name)}]);`;
      await until(() => run<boolean>(`${field} field?.focus(); field?.select(); return field !== null;`), name);
      await type(text);
    },
    async enter() {
      await until(() => run<boolean>(`return ${CAN_SEND}`), 'the form can be sent', { pollMs: 20 });
      await type(ENTER);
    },
  };
  const press = (name: string) => hands.click('button', name);

  const isAccessible = async (what: string, only?: readonly string[]) => {
    if (await run<boolean>('return window.axe === undefined')) await run(`${axe}\nwindow.axe = axe;`);
    const options = only ? { runOnly: { type: 'rule', values: only } } : {};
    const violations = await run<string[]>(`const found = await window.axe.run(document, ${JSON.stringify(options)});
      return found.violations.map(each => each.id + ': ' + each.nodes.map(node => node.html).join(' | '));`);
    assert.deepEqual(violations, [], what);
  };

  await t.test('shows the state, and the buttons change it', async () => {
    await open(address);
    await is('Demo: Disconnected');
    await press('Connect');
    await is('Demo: Connected');
    await press('Disconnect');
    await is('Demo: Disconnected');
  });

  await t.test('two tabs show the same state', async () => {
    const { address } = await startWeb(t);
    await open(address);
    await is('Demo: Disconnected');
    const back = await openTab(`${address}#/mode`);
    await hands.click('radio', 'All traffic, your own DNS');
    await back();
    await press('Connect');
    await shows('All traffic, your own DNS');
  });

  await t.test('shows every page, accessible, light and dark', async () => {
    await open(address);
    await run(`document.addEventListener('securitypolicyviolation', event => {
      document.documentElement.dataset.violated = event.violatedDirective + ' ' + event.blockedURI;
    });`);
    for (const theme of ['light', 'dark'])
      for (const [name, title] of Object.entries(PAGES)) {
        await run(`location.hash = '#/${name}'; document.documentElement.dataset.theme = '${theme}'`);
        await until(async () => (await text('h1')) === title, `the page ${name}`, { pollMs: 20 });
        await isAccessible(`${name}, ${theme}`, theme === 'dark' ? COLOR_RULES : undefined);
      }
    assert.equal(await run('return document.documentElement.dataset.violated ?? null'), null);
  });

  await t.test('is used by keyboard', async () => {
    await open(address);
    await is('Demo: Disconnected');
    await type(TAB);
    assert.equal(await run('return document.activeElement.textContent'), 'Skip to content');
    await type(ENTER + TAB);
    assert.equal(await run('return document.activeElement.textContent'), 'Connect');
    await type(ENTER);
    await is('Demo: Connected');
  });

  await t.test('shows what must be set up first, accessible', async () => {
    for (const [words, title] of SETUP_STATES) {
      await emulate(home, ...words);
      await getJson(port, '/api/snapshot?fresh=1');
      // WARP says so only when a change is requested
      if (words.includes('fault=not-authorized')) await press('Connect');
      await is(title);
      await isAccessible(title);
    }
    await emulate(home, 'reset');
  });

  await t.test('every action of the API can be asked for', async () => {
    const { address, home, port } = await startWeb(t);
    await open(address);
    await is('Demo: Disconnected');
    await run(`window.asked = [];
      const send = window.fetch;
      window.fetch = async (path, init) => {
        const answer = await send(path, init);
        if (path === '/api/action') window.asked.push({ ...JSON.parse(init.body), status: answer.status });
        return answer;
      };`);
    const asked = () => run<{ action: string; status: number }[]>('return window.asked');
    const take = async ([name, what]: Step) => {
      const before = (await asked()).length;
      await run(`location.hash = '#/${name}'`);
      await until(async () => (await text('h1')) === PAGES[name], `the page ${name}`, { pollMs: 20 });
      await what(hands);
      await until(
        async () => (await asked()).length > before,
        () => `${name}: an action is asked for by ${what}`,
        { pollMs: 20 },
      );
      const busy = "return document.querySelector('[aria-busy=true]') !== null";
      await until(async () => !(await run<boolean>(busy)), 'no action is under way', { pollMs: 20 });
      await type(ESCAPE);
    };
    for (const step of STEPS) await take(step);
    for (const [words, step] of FURTHER_STEPS) {
      await emulate(home, ...words);
      await getJson(port, '/api/snapshot?fresh=1');
      await take(step);
    }
    const all = await asked();
    const missing = ACTION_NAMES.filter(name => !all.some(({ action }) => action === name));
    assert.deepEqual(missing, []);
    assert.deepEqual(
      all.filter(({ status }) => [400, 415, 422].includes(status)),
      [],
    );
  });

  await t.test('long lists, a machine that wakes, and a daemon that was updated', async () => {
    const { daemon, listeners, port } = await startListeners(t);
    const { state, settings } = daemon;
    daemon.webui = join(prefix, 'share/culvert/webui');
    settings.setSession({ webui: { enabled: true } });
    state.set('status', { ...state.snapshot().status, state: 'disconnected' });
    const ips = Array.from({ length: 5000 }, (_, i) => ({ value: `10.${i >> 8}.${i & 255}.0/24`, description: null }));
    state.set('splitTunnel', { mode: 'exclude', ips, hosts: [] });
    await open(`http://127.0.0.1:${port}/`);
    const turn = async (name: keyof typeof PAGES) => {
      await run(`location.hash = '#/${name}'`);
      await until(async () => (await text('h1')) === PAGES[name], `the page ${name}`, { pollMs: 20 });
    };
    const rows = () => run<number>(`return document.querySelectorAll('.virtual-list li').length`);

    await turn('routes');
    await shows('5000 entries');
    assert.ok((await rows()) < 100, 'only those in sight are in the document');
    await hands.write('Search routes', '10.19.135.');
    await shows('1 entry');
    await shows('10.19.135.0/24');

    daemon.log = createLog({ capacity: 500, onEntry: added => state.publish('log', added) });
    await turn('log');
    const lines = 10_050;
    for (let id = 1; id <= lines; id++) {
      const argv = ['warp-cli', 'tunnel', 'ip', 'add', `entry-${id}`];
      daemon.log.append({ ...OUTPUT, source: 'action', at: new Date(id * 1000).toISOString(), argv });
      if (id % 150 === 0) await shows(`entry-${id}`); // a backlog ends the stream
    }
    const all = `return document.querySelector('.virtual-list li')?.getAttribute('aria-setsize') === '10000'`;
    await until(() => run<boolean>(all), 'the newest 10,000 lines');
    assert.ok((await rows()) < 100);

    await turn('connection');
    await run(`window.read = [];
      const send = window.fetch;
      window.fetch = (path, init) => { window.read.push(String(path)); return send(path, init); };
      const { Date } = window; // that of the page
      const now = Date.now;
      Date.now = () => now() + 8 * 3600 * 1000;`);
    await until(
      () => run<boolean>(`return window.read.includes('/api/snapshot?fresh=1')`),
      'the page reads everything again after eight hours',
    );

    await run(`const send = window.fetch;
      window.fetch = async (path, init) => {
        const answer = await send(path, init);
        if (path !== '/api/health') return answer;
        return new Response(JSON.stringify({ ...(await answer.json()), version: '99.0.0' }), answer);
      };`);
    listeners.streams.close('restarting');
    await shows('Culvert 99.0.0 is running now');
    await press('Reload');
    await until(async () => !(await page()).includes('99.0.0'), 'the page is loaded again');
    await is('Disconnected');
  });

  await t.test('says when the daemon is gone, and recovers', async () => {
    await open(address);
    child.kill('SIGTERM');
    await ended;
    await shows('Out of date since');
    const again = start(home, '--demo', '--port', String(port));
    await again.says(/answers on/);
    await until(async () => !(await page()).includes('Out of date since'), 'the page recovers', { pollMs: 50 });
  });
});
