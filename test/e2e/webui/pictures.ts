// Takes the README's pictures of the browser page, light and dark, and of the terminal, from a demo.
// Run after ./culvert-tool build: node --import tsx test/e2e/webui/pictures.ts DIRECTORY
import { execFile } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { Browser } from 'playwright-core';
import { launchBrowser, openTab, startWeb } from '../../support/e2e/browser.ts';
import { culvert, type Home, program } from '../../support/e2e/culvert.ts';

/** Commands that the picture of the terminal shows, with what they print. */
const COMMANDS = ['culvert status', 'culvert off --for 15m', 'culvert status', 'culvert connect --wait'];
/** Columns of the terminal. */
const COLUMNS = 84;

/** Looks of the terminal: a class for each code of a color or style. */
const TERMINAL = `body { margin: 0 }
  pre { margin: 0; padding: 18px 22px; background: #1d1f21; color: #e6e6e6; font: 14px/1.45 'DejaVu Sans Mono', monospace }
  .s1 { font-weight: bold } .s2 { color: #a0a0a0 } .s31 { color: #ff8f8f } .s32 { color: #8fe3a0 }
  .s33 { color: #ffcf7a } .s34 { color: #8fb8ff } .s35 { color: #e3a0ff } .s36 { color: #86dcdc }`;

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
  await takeTerminal(browser, web.home, join(directory, 'terminal.png'));
} finally {
  for (const end of ends) await end();
}

/** Runs the commands in a separate terminal, and takes a picture of what they print. */
async function takeTerminal(browser: Browser, { env }: Home, file: string): Promise<void> {
  const lines = COMMANDS.map(command => `echo '\x1b[1;32m$\x1b[0m ${command}'; ${command}; echo`).join('; ');
  // asynchronous, since the demo's stand-in for the service answers in this process
  const { stdout } = await promisify(execFile)('script', ['-qec', `stty cols ${COLUMNS}; ${lines}`, '/dev/null'], {
    env: { ...env, PATH: `${dirname(program)}:${env.PATH}`, TERM: 'xterm-256color' },
  });
  const page = await browser.newPage({ viewport: { width: 760, height: 100 }, deviceScaleFactor: 1 });
  await page.setContent(`<style>${TERMINAL}</style><pre>${htmlOf(stdout.replaceAll('\r', '').trimEnd())}</pre>`);
  await page.locator('pre').screenshot({ path: file });
  await page.close();
}

/** Returns text with colors of a terminal as HTML. */
function htmlOf(text: string): string {
  let styles: string[] = [];
  const [first, ...rest] = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').split('\x1b[');
  const pieces = rest.map(piece => {
    const [, codes = '', words = ''] = /^([\d;]*)m(.*)$/s.exec(piece) ?? [];
    for (const code of codes.split(';')) {
      if (/^0?$/.test(code)) styles = [];
      else if (/^(22|39)$/.test(code)) styles = styles.filter(each => /^3/.test(each) !== (code === '39'));
      else styles.push(code);
    }
    return `<span class="${styles.map(code => `s${code}`).join(' ')}">${words}</span>`;
  });
  return [first, ...pieces].join('');
}
