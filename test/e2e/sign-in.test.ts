// The address at which a sign-in ends, as a browser hands it to the launcher.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { createHome, culvert, startDemo } from '../support/e2e/culvert.ts';

const SECRET = 'header.payload.signature';
const ADDRESS = `com.cloudflare.warp://acme.cloudflareaccess.com/auth?token=${SECRET}`;

test('the launcher hands the address over in a pipe, as it is', async t => {
  const home = createHome(t);
  const [words, input] = [join(home.directory, 'words'), join(home.directory, 'input')];
  writeFileSync(join(home.directory, 'node'), `#!/bin/sh\nprintf '%s\\n' "$@" >'${words}'\ncat >'${input}'\n`, {
    mode: 0o755,
  });
  home.env.PATH = `${home.directory}:${home.env.PATH}`;
  for (const address of [ADDRESS, `${ADDRESS}$(id)\`id\`\\"'$HOME`]) {
    assert.equal((await culvert(home, address)).code, 0);
    assert.match(readFileSync(words, 'utf8'), /main\.cjs\naccount\nsign-in\n$/);
    assert.equal(readFileSync(input, 'utf8'), `${address}\n`);
  }
});

test('joining takes no pasting once it was begun here, and an address that was not asked for is refused', async t => {
  const home = createHome(t);
  await startDemo(home);
  const unasked = await culvert(home, ADDRESS);
  assert.notEqual(unasked.code, 0);
  assert.match(unasked.stderr, /No sign-in to this organization was begun in Culvert/);
  await culvert(home, 'account', 'accept-terms');
  await culvert(home, 'account', 'delete', '--yes');
  const begun = await culvert(home, 'account', 'register', '--organization', 'acme');
  assert.equal(begun.code, 0);
  assert.match(begun.stderr, /^Sign in with the browser\..* culvert account token$/m);
  const asked = await culvert(home, ADDRESS);
  assert.equal(asked.code, 0);
  assert.match(asked.stderr, /^The registration is complete\.$/m);
  assert.equal(JSON.parse((await culvert(home, 'account', '--json')).stdout).organization, 'acme');
  const { stdout } = await culvert(home, 'logs', '--json');
  for (const text of [unasked.stdout, unasked.stderr, asked.stdout, stdout]) assert.ok(!text.includes(SECRET), text);
});
