// Real browsers sign in through the window of the kill switch, and take no other way out. In a full run only.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { setLoginPage } from '../../../support/killswitch/login-page.ts';
import { missing, SIGN_IN_USER, which } from '../../../support/killswitch/stage.ts';
import { FULL } from '../../../support/thoroughness.ts';

const exec = promisify(execFile);
const script = resolve(import.meta.dirname, '../../../support/killswitch/browse.ts');

/** Notes where other users than the helper's try to send, before the kill switch sees it. */
const TRIED = `nft 'table inet tried {
  set places { type ipv4_addr . inet_proto . inet_service; flags dynamic; }
  chain o { type filter hook output priority -400; oifname "up0" meta skuid != ${SIGN_IN_USER} meta l4proto { tcp, udp } update @places { ip daddr . meta l4proto . th dport }; }; }'`;

for (const [name, program, words, agent] of [
  ['firefox', '/usr/bin/firefox-esr', '--headless', /Firefox\//],
  ['chromium', '/usr/bin/chromium', '--headless=new --no-sandbox', /Chrome\//],
] as const)
  test(`${name} reaches the form of a login page through the window, and nothing past it`, {
    skip: !FULL ? 'takes --full' : missing || (existsSync(program) ? false : `needs ${program}`),
  }, async () => {
    const stage = await setLoginPage('redirect');
    try {
      const [bin, profiles] = [stage.path('bin'), stage.path('profiles')];
      for (const directory of [bin, profiles]) mkdirSync(directory);
      writeFileSync(join(bin, name), `#!/bin/sh\nexport PATH=/usr/bin:/bin\nexec ${program} ${words} "$@"\n`, {
        mode: 0o755,
      });
      symlinkSync(which('busctl')!, join(bin, 'busctl'));
      await stage.script(TRIED);
      const inside = [...stage.inside, process.execPath, '--import', import.meta.resolve('tsx'), script];
      const argv = [...inside, JSON.stringify(stage.service), stage.path('own'), profiles];
      const env = {
        ...stage.env,
        PATH: bin,
        HOME: stage.path('bin'),
        DISPLAY: ':none',
        LANG: 'C.UTF-8',
      };
      const { stdout } = await exec(which(argv[0]!)!, argv.slice(1), { env });
      const { before, isThrough, left } = JSON.parse(stdout);
      assert.deepEqual(before, { network: 'login', loginPage: 'http://login.example/' });
      assert.equal(isThrough, true);
      const pages = readFileSync(stage.path('pages'), 'utf8').split('\n');
      assert.match(pages.find(line => line.startsWith('login.example /accept '))!, agent);
      assert.deepEqual(left, [], 'the profile is gone');
      // names are looked up by the helper alone, too
      assert.doesNotMatch(await stage.nft('list', 'set', 'inet', 'tried', 'places'), /elements/);
    } finally {
      await stage.end();
    }
  });
