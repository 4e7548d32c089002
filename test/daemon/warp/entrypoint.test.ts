// The container's entrypoint: which policy files leave the registration to WARP, and which allow a free account with consent.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { judgePolicy, readPolicyFile } from '../../../daemon/warp/parse/policy-file.ts';
import { NO_EVIDENCE, registrationCause } from '../../../daemon/warp/registration.ts';
import { temporary } from '../../support/temporary.ts';

const ENTRYPOINT = fileURLToPath(new URL('../../../data/container/entrypoint', import.meta.url));

/** Stands in for culvert: its state is a file, a registration is a line in another one, and "proxy on" ends the script. */
const CULVERT = `#!/bin/sh
case "$1 $2" in
  'status --fresh') cat "$PLACE/state" ;;
  'account register') echo registered >>"$PLACE/log"; sed -i 's/"not-registered"/null/' "$PLACE/state" ;;
  'proxy on') exit 3 ;;
  --*) exec sleep infinity ;;
esac
`;

/** Runs the entrypoint with consent and with the state that Culvert finds for this policy file. */
function start(t: TestContext, put: (file: string) => void) {
  const place = temporary(t, 'container');
  const file = join(place, 'mdm.xml');
  put(file);
  const policy = judgePolicy(readPolicyFile(file), process.getuid!());
  const registration = registrationCause({ ...NO_EVIDENCE, policy }) ?? undefined;
  writeFileSync(join(place, 'state'), JSON.stringify({ status: { blocked: 'not-registered', registration } }, null, 2));
  writeFileSync(join(place, 'culvert'), CULVERT);
  chmodSync(join(place, 'culvert'), 0o755);
  // no limit for a wait: the first look that fails ends it
  const variables = { CULVERT_DEMO: 'yes', CULVERT_ACCEPT_TERMS: 'yes', CULVERT_START_SECONDS: '0' };
  const env = { ...variables, PLACE: place, PATH: `${place}:${process.env.PATH}` };
  const { status, stderr } = spawnSync('sh', [ENTRYPOINT], { env, encoding: 'utf8' });
  const log = join(place, 'log');
  return { status, stderr, registered: existsSync(log) && readFileSync(log, 'utf8') === 'registered\n' };
}

const text = (xml: string) => (file: string) => writeFileSync(file, xml, { mode: 0o644 });
const FILES: [what: string, put: (file: string) => void, registers: boolean][] = [
  ['no file', () => {}, true],
  [
    'a file with other servers only',
    text('<dict><key>override_warp_endpoint</key><string>203.0.113.1:2408</string></dict>'),
    true,
  ],
  ['a file with an organization', text('<dict><key>organization</key><string>acme</string></dict>'), false],
  ['an empty file', text(''), false],
  ['a file with blank lines', text('\n \n'), false],
  ['a file with an empty dictionary', text('<dict/>'), false],
  ['a page of HTML', text('<html></html>'), false],
  ['half a file', text('<dict><key>organization</key>'), false],
  ['a link', file => symlinkSync('/etc/mdm.xml', file), false],
];

for (const [what, put, registers] of FILES)
  test(`the entrypoint of a container with ${what} ${registers ? 'registers a free account' : 'waits for WARP'}`, t => {
    const { status, stderr, registered } = start(t, put);
    assert.equal(registered, registers, stderr);
    assert.equal(status, registers ? 3 : 1, stderr);
    if (!registers) assert.match(stderr, /Waiting for WARP to register by/);
  });
