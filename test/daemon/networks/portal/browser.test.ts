// The browser for a login page has a separate profile, which is removed with it.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { browserWords, openBrowser } from '../../../../daemon/networks/portal/browser.ts';
import { temporary } from '../../../support/temporary.ts';
import { until } from '../../../support/until.ts';

const writeScript = (path: string, text: string) => writeFileSync(path, text, { mode: 0o755 });

test('takes Firefox before Chromium, and nothing that is not installed', t => {
  const directory = temporary(t, 'bin');
  assert.equal(browserWords(directory, '/p', 'http://x/'), null);
  writeScript(join(directory, 'chromium'), '#!/bin/sh\n');
  assert.deepEqual(browserWords(directory, '/p', 'http://x/')?.slice(0, 2), ['chromium', '--user-data-dir=/p']);
  writeScript(join(directory, 'firefox-esr'), '#!/bin/sh\n');
  assert.deepEqual(browserWords(`/nowhere:${directory}`, '/p', 'http://x/'), [
    'firefox-esr',
    '--no-remote',
    '--new-instance',
    '--profile',
    '/p',
    'http://x/',
  ]);
});

test('the profile uses no proxy and no encrypted DNS, and is removed with the browser', async t => {
  const [bin, runtime] = [temporary(t, 'bin'), temporary(t, 'runtime')];
  writeScript(
    join(bin, 'firefox'),
    `#!/bin/sh\nwhile [ "$1" != --profile ]; do shift; done\ncp "$2/user.js" '${bin}/copy'\nmv '${bin}/copy' '${runtime}'\nexec sleep 60\n`,
  );
  const env = { PATH: `${bin}:${process.env.PATH}`, DISPLAY: ':0' };
  assert.equal(openBrowser('http://x/', runtime, { PATH: env.PATH }), null, 'without a display');
  const browser = openBrowser('http://x/', runtime, env)!;
  await until(() => readdirSync(runtime).includes('copy'));
  const preferences = readFileSync(join(runtime, 'copy'), 'utf8');
  for (const wanted of ['"network.proxy.type", 0', '"network.trr.mode", 5']) assert.ok(preferences.includes(wanted));
  await browser.close();
  assert.deepEqual(readdirSync(runtime), ['copy']);
});
