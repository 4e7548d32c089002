import { join } from 'node:path';
import { launchBrowser, openTab, startWeb } from '../../support/e2e/browser.ts';
import { culvert } from '../../support/e2e/culvert.ts';
const directory = '/tmp/pictures/words';
const ends: (() => Promise<void>)[] = [];
const t = { after: (end: () => Promise<void>) => ends.unshift(end) };
try {
  const web = await startWeb(t);
  const browser = await launchBrowser(t);
  await culvert(web.home, 'connect', '--wait');
  const shots = async (name: string, text: RegExp) => {
    for (const colorScheme of ['light', 'dark'] as const)
      for (const width of [360, 1100]) {
        const { page } = await openTab(browser, web.address, { viewport: { width, height: 760 }, colorScheme });
        await page.getByText(text).first().waitFor();
        console.log(await page.title());
        await page.screenshot({ path: join(directory, `page-${colorScheme}-${width}-${name}.png`) });
        await page.close();
      }
  };
  await shots('demo-connected', /Demo: Connected/);
  await culvert(web.home, 'off', '--for', '15m');
  await shots('demo-paused', /Demo: Paused/);
  console.log((await culvert(web.home, 'status')).stdout);
  await culvert(web.home, 'web', 'off');
  const off = await browser.newPage({ viewport: { width: 360, height: 300 } });
  await off.goto(web.address);
  await off.screenshot({ path: join(directory, 'page-off.png') });
} finally {
  for (const end of ends) await end();
}
