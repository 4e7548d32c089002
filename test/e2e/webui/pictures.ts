// Takes the README's pictures of the browser page, light and dark, from a demo.
// Run after ./culvert-tool build: node --import tsx test/e2e/webui/pictures.ts DIRECTORY
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { launchBrowser, openTab, startWeb } from '../../support/e2e/browser.ts';
import { culvert } from '../../support/e2e/culvert.ts';

const [directory] = process.argv.slice(2);
if (!directory) throw new Error('Name the directory for the pictures.');
mkdirSync(directory, { recursive: true });
const ends: (() => Promise<void>)[] = [];
const t = { after: (end: () => Promise<void>) => ends.unshift(end) };
try {
  const web = await startWeb(t);
  await culvert(web.home, 'connect', '--wait');
  const browser = await launchBrowser(t);
  for (const colorScheme of ['light', 'dark'] as const) {
    const { page } = await openTab(browser, web.address, { viewport: { width: 1000, height: 720 }, colorScheme });
    // the curves have begun
    await page.getByText(/^Connected for ([2-5]\d s|\d+ min)/).waitFor();
    await page.screenshot({ path: join(directory, colorScheme === 'dark' ? 'page-dark.png' : 'page.png') });
  }
} finally {
  for (const end of ends) await end();
}
