// Counts the processes that all checks start on the fullest healthy machine that can be staged.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { CHECKS } from '../../../daemon/doctor/checks/all.ts';
import { captivePortal } from '../../../daemon/doctor/checks/reach.ts';
import { runChecks } from '../../../daemon/doctor/engine.ts';
import { examine, namespace, snapshot, startBus, tree, withPrograms, world } from '../../support/doctor/world.ts';
import { missing } from '../../support/temporary.ts';

/**
 * Processes of a run besides those of the checks: node, readlink and setpriv for the command, and nine
 * questions of the daemon to the tunnel CLI, as test/bench/doctor.ts counts them.
 */
const OTHERS = 3 + 9;

test('a connected machine with resolved, NetworkManager, Docker and a desktop takes at most 20 processes, and one more for root', async t => {
  const { pid, prefix } = await namespace(
    t,
    [
      'ip link add eth0 type bridge; ip addr add 192.168.1.20/24 dev eth0; ip link set eth0 up',
      'ip route add default via 192.168.1.1',
      'ip link add docker0 type bridge; ip addr add 172.17.0.1/16 dev docker0; ip link set docker0 up mtu 1280',
      'ip link add CloudflareWARP type bridge; ip addr add 172.16.0.2/32 dev CloudflareWARP',
      'ip link set CloudflareWARP up mtu 1280; ip route add default dev CloudflareWARP table 65743',
      'ip rule add not fwmark 0x100cf table 65743;',
    ].join('\n'),
  );
  const bus = await startBus(t, {
    'org.freedesktop.resolve1': {
      '/org/freedesktop/resolve1': {
        'org.freedesktop.resolve1.Manager': { DNS: ['a(iiay)', '[(0, 2, [0x7f, 0x00, 0x02, 0x02])]'] },
      },
    },
    'org.freedesktop.NetworkManager': {
      '/org/freedesktop/NetworkManager': { 'org.freedesktop.NetworkManager': { Connectivity: ['u', '4'] } },
    },
    'org.freedesktop.systemd1': {
      '/org/freedesktop/systemd1/unit/warp_2dsvc_2eservice': {
        'org.freedesktop.systemd1.Unit': {
          LoadState: ['s', "'loaded'"],
          ActiveState: ['s', "'active'"],
          UnitFileState: ['s', "'enabled'"],
        },
        'org.freedesktop.systemd1.Service': { NRestarts: ['u', '0'] },
      },
    },
  });
  const key = '/usr/share/keyrings/cloudflare-warp-archive-keyring.gpg';
  const root = tree(t, {
    '/etc/resolv.conf': 'nameserver 127.0.0.53\n',
    '/etc/os-release': 'ID=debian\nVERSION_CODENAME=bookworm\n',
    '/etc/apt/sources.list.d/cloudflare-client.list': `deb [signed-by=${key}] https://pkg.cloudflareclient.com/ bookworm main\n`,
    [key]: { text: 'a key', at: new Date('2026-01-01') },
    '/proc/net': { link: `/proc/${pid}/net` },
  });
  const ran: string[] = [];
  const programs = withPrograms(t, {
    gjs: `echo '{"missing": [], "host": true}'`,
  });
  const env = { ...programs, HOME: missing(t), WAYLAND_DISPLAY: 'wayland-0', XDG_CURRENT_DESKTOP: 'GNOME' };
  const within = world(t, { env, bus, root, prefix });
  const { run } = within.tools;
  within.tools.run = (program, args, options) => {
    ran.push([program, ...args].join(' '));
    return run(program, args, options);
  };
  const results = await runChecks(CHECKS, within, { limitMs: 60_000 });
  assert.equal(within.tools.started(), ran.length);
  const verdicts = Object.fromEntries(results.map(({ id, verdict }) => [id, verdict]));
  const needed = ['captive-portal', 'dns-resolv-conf', 'systemd-version', 'bridge-mtu', 'path-mtu', 'container-ranges'];
  for (const id of [...needed, 'duplicate-rules', 'nft-features', 'package-repository', 'panel', 'tray'])
    assert.equal(verdicts[id], 'ok', `${id}: ${results.find(result => result.id === id)?.evidence.join('; ')}`);
  // the firewall of WARP, which others can't read
  const ofRoot = process.getuid!() === 0 ? 1 : 0;
  assert.ok(ran.length + OTHERS <= 20 + ofRoot, ran.join('\n'));
});

test('the search for a login page asks no service that can name none', async t => {
  const asked = join(tree(t), 'asked');
  const refuses = `echo "$*" >>'${asked}'; echo 'Call failed: Could not activate remote peer' >&2; exit 1`;
  const env = { HOME: missing(t), ...withPrograms(t, { busctl: refuses }) };
  await examine(captivePortal, world(t, { env, tunnel: snapshot({ status: { state: 'disconnected' } }) }));
  const calls = readFileSync(asked, 'utf8').trim().split('\n');
  const services = calls.map(call => /NetworkManager|network1|iwd/.exec(call)?.[0]);
  assert.deepEqual(services.sort(), ['NetworkManager', 'NetworkManager', 'network1']);
});
