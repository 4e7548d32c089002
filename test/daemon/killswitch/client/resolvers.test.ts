// Limits of names for a kept program: programs that look them up for others, and a mode of WARP without names.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { withoutSssd } from '../../../../daemon/killswitch/client/outside.ts';
import { limitsOfNames } from '../../../../daemon/killswitch/client/tunnel-only.ts';
import { wordMessage } from '../../../../daemon/view/message.ts';
import { english } from '../../../../daemon/view/translator.ts';
import { temporary } from '../../../support/temporary.ts';

const RUNNING = [
  '/run/nscd/socket',
  '/run/systemd/resolve/io.systemd.Resolve',
  '/var/lib/sss/pipes/nss',
  '/run/avahi-daemon/socket',
];

/** Sentences for a system with these sockets and this file, and with more in `/proc/net`. */
function said(
  t: TestContext,
  sockets: readonly string[],
  nsswitch: string | null,
  net: Readonly<Record<string, string>> = {},
): string[] {
  const root = temporary(t, 'resolvers');
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  for (const socket of sockets) write(socket, '');
  if (nsswitch !== null) write('/etc/nsswitch.conf', nsswitch);
  for (const [file, text] of Object.entries(net)) write(`/proc/net/${file}`, text);
  return limitsOfNames(root).map(sentence => wordMessage(sentence, english));
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

test('while the tunnel is up and WARP looks up no names, it says so', t => {
  const up = 'Inter-|   Receive\n face |bytes\n    lo: 1 2\nCloudflareWARP: 3 4\n';
  const none =
    '  sl  local_address rem_address   st\n  7: 3500007F:0035 00000000:0000 07\n  9: 00000000:0035 00000000:0000 07\n';
  const warp = (address: string) => `${none}  12: ${address}:0035 00000000:0000 07\n`;
  const sentence =
    'WARP looks up no names now, as in the mode tunnel_only. Only name servers that the tunnel reaches can be asked.';
  assert.deepEqual(said(t, [], null, { dev: up, udp: none }), [sentence]);
  assert.deepEqual(said(t, [], null, { dev: up, udp: warp('0202007F') }), []);
  assert.deepEqual(said(t, [], null, { dev: up, udp: warp('7F000202') }), []);
  assert.deepEqual(said(t, [], null, { dev: up.replace('CloudflareWARP', 'eth0'), udp: none }), []);
});

test('SSSD is taken out of the line for hosts alone', () => {
  const file = (hosts: string) => `passwd: files sss\n${hosts}\nnetgroup: sss\n`;
  assert.equal(
    withoutSssd(file('hosts:  files sss [NOTFOUND=return] mdns_sss dns')),
    file('hosts:  files mdns_sss dns'),
  );
  assert.equal(withoutSssd(file(' hosts:\tsss')), file(' hosts:'));
  for (const hosts of ['hosts: files dns # not sss-d', '# hosts: sss', 'networks: files'])
    assert.equal(withoutSssd(file(hosts)), file(hosts));
});
