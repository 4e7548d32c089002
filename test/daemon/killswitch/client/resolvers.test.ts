// Programs that look up names for others.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { resolversElsewhere } from '../../../../daemon/killswitch/client/resolvers.ts';
import { wordMessage } from '../../../../daemon/view/message.ts';
import { english } from '../../../../daemon/view/translator.ts';
import { temporary } from '../../../support/temporary.ts';

const RUNNING = [
  '/run/nscd/socket',
  '/run/systemd/resolve/io.systemd.Resolve',
  '/var/lib/sss/pipes/nss',
  '/run/avahi-daemon/socket',
];

/** Sentences for a system with these sockets and this file. */
function said(t: TestContext, sockets: readonly string[], nsswitch: string | null): string[] {
  const root = temporary(t, 'resolvers');
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  for (const socket of sockets) write(socket, '');
  if (nsswitch !== null) write('/etc/nsswitch.conf', nsswitch);
  return resolversElsewhere(root).map(sentence => wordMessage(sentence, english));
}

test('a resolver counts where it runs and the system asks it', t => {
  const of = (name: string) => `Names are looked up by ${name}, which is not kept in the tunnel.`;
  const local = 'Names that end in .local are looked up by Avahi, which is not kept in the tunnel.';
  assert.deepEqual(said(t, [], 'hosts: files mdns4_minimal [NOTFOUND=return] resolve [!UNAVAIL=return] sss dns\n'), []);
  assert.deepEqual(said(t, RUNNING, 'passwd: files systemd sss\nhosts: files dns\n'), [of('nscd')]);
  assert.deepEqual(said(t, RUNNING, null), [of('nscd')]);
  assert.deepEqual(said(t, RUNNING.slice(1), 'hosts:\tfiles resolve [!UNAVAIL=return] dns # mdns sss\n'), [
    of('systemd-resolved'),
  ]);
  // the default of Debian's desktops
  assert.deepEqual(said(t, RUNNING.slice(1), ' hosts: files mdns4_minimal [NOTFOUND=return] dns\n'), [local]);
  assert.deepEqual(said(t, RUNNING, 'hosts: sss mdns resolve\n'), [
    of('nscd'),
    of('systemd-resolved'),
    of('SSSD'),
    local,
  ]);
});
