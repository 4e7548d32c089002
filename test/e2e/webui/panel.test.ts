// Two tabs of the browser page and the GTK panel on one daemon: each shows what another changes, and all recover with it.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { launchBrowser, openTab, startWeb } from '../../support/e2e/browser.ts';
import { getJson, start } from '../../support/e2e/culvert.ts';
import { missing, openDesktop, talk } from '../../support/gnome/desktop.ts';
import { until } from '../../support/until.ts';

const WITHOUT_DNS = 'All traffic, your own DNS';

test('two tabs and the panel show the same state, whichever of them changes it', { skip: missing() }, async t => {
  const desktop = await openDesktop();
  t.after(() => desktop.close());
  const session = desktop.env.XDG_RUNTIME_DIR!;
  const { home, port, address, child, ended } = await startWeb(t, { XDG_RUNTIME_DIR: session });
  const browser = await launchBrowser(t);
  const first = await openTab(browser, address);
  const second = await openTab(browser, `${address}#/mode`);
  const panel = desktop.start('gjs', ['-m', join(desktop.prefix, 'share', 'culvert', 'inside.js')]);
  const ask = talk(panel);
  const shows = (name: string) => ask({ do: 'find', name });
  const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click();
  const everywhere = async (button: string, state: string) => {
    await shows(button);
    await first.page.getByRole('button', { name: button, exact: true }).waitFor();
    await second.page.locator('header .badge', { hasText: new RegExp(`^Demo: ${state}`) }).waitFor();
  };

  await everywhere('Connect', 'Disconnected');
  await ask({ do: 'press', name: 'Connect' });
  await everywhere('Disconnect', 'Connected');
  await second.page.getByRole('radio', { name: WITHOUT_DNS }).click();
  await first.page.locator('main .value', { hasText: WITHOUT_DNS }).waitFor();
  await shows(WITHOUT_DNS);
  // a change that waits to be confirmed is asked about everywhere, and answered once
  await ask({ do: 'press', name: 'Keep' });
  await until(
    async () => ((await getJson(port, '/api/snapshot')) as unknown as { changes: unknown[] }).changes.length === 0,
  );
  for (const { page } of [first, second])
    await page.getByRole('button', { name: 'Keep' }).waitFor({ state: 'detached' });
  await press(first.page, 'Disconnect');
  await everywhere('Connect', 'Disconnected');

  // all three at the same moment, each something that the others leave as it is
  await ask({ do: 'turn', name: 'dns' });
  await shows('Malware');
  await Promise.all([
    press(first.page, 'Connect'),
    second.page.getByRole('radio', { name: 'All traffic', exact: true }).click(),
    ask({ do: 'press', name: 'Malware' }),
  ]);
  await second.page.goto(`${address}#/dns`);
  await second.page.getByRole('radio', { name: 'Malware', exact: true, checked: true }).waitFor();
  await ask({ do: 'turn', name: 'connection' });
  await everywhere('Disconnect', 'Connected');
  await first.page.locator('main .value', { hasText: /^All traffic$/ }).waitFor();
  await shows('All traffic');

  child.kill('SIGTERM');
  await ended;
  for (const { page } of [first, second])
    await page
      .getByRole('alert')
      .getByText(/Out of date since/)
      .waitFor();
  await start(home, '--demo', '--port', String(port)).says(/answers on/);
  for (const { page } of [first, second])
    await page
      .getByRole('alert')
      .getByText(/Out of date since/)
      .waitFor({ state: 'detached' });
  await everywhere('Disconnect', 'Connected');
  await ask({ do: 'press', name: 'Disconnect' });
  await everywhere('Connect', 'Disconnected');

  assert.deepEqual([...first.complaints, ...second.complaints], []);
  const complaints = panel
    .output()
    .split('\n')
    .filter(line => /CRITICAL|JS ERROR|WARNING/.test(line));
  assert.deepEqual(complaints, [], panel.output());
});
