// Signs in as `culvert portal` does, in the network of a stage: browse.ts SERVICE DIRECTORY PROFILES, with JSON of `ServicePaths`. Prints what was
// found before and after, and the profiles that are left.
import { readdirSync } from 'node:fs';
import { openBrowser } from '../../../daemon/networks/portal/browser.ts';
import { findLogin } from '../../../daemon/networks/portal/probe.ts';
import { openWindow } from '../../../daemon/networks/portal/sign-in-window.ts';
import { until } from '../until.ts';

const [service = '', directory = '', profiles = ''] = process.argv.slice(2);
const window = await openWindow(300, { service: JSON.parse(service), directory });
const before = await findLogin(window.connect);
const browser = openBrowser(before.loginPage!, profiles, process.env, window.port)!;
// it leaves the machine to the browser
const isThrough = await until(async () => (await findLogin(window.connect)).network === 'open', 'the login', {
  limitMs: 240_000, // a browser on a busy machine starts slowly
  pollMs: 1_000,
}).then(Boolean, () => false);
await browser.close();
await window.close();
console.log(JSON.stringify({ before, isThrough, left: readdirSync(profiles) }));
