// Tests the detection of the service manager, in directories that stand for machines.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ServiceManager } from '../../../daemon/api/schema.ts';
import { serviceManager } from '../../../daemon/system/service-manager.ts';
import { type Fixture, tree } from '../../support/doctor/world.ts';

/** /proc/version as gVisor wrote it in 2019 and 2026, and as Linux does. */
const OLD_GVISOR = 'Linux version 4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016\n';
const NEW_GVISOR = 'Linux version 4.19.0-gvisor #1 SMP Sun Jan 10 15:06:54 PST 2016\n';
const LINUX = 'Linux version 6.12.48 (debian-kernel@lists.debian.org) #1 SMP PREEMPT_DYNAMIC Debian 6.12.48-1\n';

const systemd = { '/run/systemd/system/x': '' };
const copied = { '/.dockerenv': '', '/proc/version': LINUX };
const docker = {
  ...copied,
  '/proc/self/mountinfo': `611 603 254:1 /var/lib/docker/containers/${'6f'.repeat(32)}/hosts /etc/hosts rw,relatime - ext4 /dev/vda1 rw\n`,
};
const podman = { '/run/.containerenv': 'engine="podman-5.4.2"\n', '/proc/version': LINUX };

const TABLE: [title: string, files: Fixture, expected: ServiceManager | null][] = [
  ['systemd', systemd, null],
  ['systemd in a container of Podman', { ...systemd, ...podman }, null],
  ['OpenRC', { '/run/openrc/softlevel': 'default' }, { kind: 'openrc', startsWarp: false }],
  [
    'OpenRC with the service',
    { '/run/openrc/softlevel': 'default', '/etc/init.d/warp-svc': '' },
    { kind: 'openrc', startsWarp: true },
  ],
  [
    'Alpine in Docker, where OpenRC is installed and does not run',
    { ...docker, '/etc/init.d/warp-svc': '' },
    engine('docker'),
  ],
  ['runit', { '/run/runit/stopit': '' }, { kind: 'runit', startsWarp: false }],
  [
    'runit with the service',
    { '/run/runit/stopit': '', '/var/service/warp-svc/run': '' },
    { kind: 'runit', startsWarp: true },
  ],
  [
    's6 in a container of Docker',
    { ...docker, '/run/service/.s6-svscan/finish': '' },
    { kind: 's6', startsWarp: false },
  ],
  [
    's6 with the service',
    { '/run/service/.s6-svscan/finish': '', '/run/service/warp-svc/run': '' },
    { kind: 's6', startsWarp: true },
  ],
  ['Docker', docker, engine('docker')],
  ['a file of Docker in the image of another engine', copied, engine('container')],
  ['Podman', podman, engine('podman')],
  ['a pod of Kubernetes', { '/run/secrets/kubernetes.io/serviceaccount/token': 'x' }, engine('container')],
  ['a payload of another engine', { '/run/host/container-manager': 'lxc' }, engine('container')],
  ['gVisor of 2019 below Docker', { ...docker, '/proc/version': OLD_GVISOR }, engine('gvisor')],
  ['gVisor of 2026', { '/proc/version': NEW_GVISOR }, engine('gvisor')],
  ['a machine with nothing of these', { '/proc/version': LINUX }, engine('none')],
  ['a machine that tells nothing', {}, engine('none')],
];

function engine(kind: ServiceManager['kind']): ServiceManager {
  return { kind, startsWarp: false };
}

for (const [title, files, expected] of TABLE)
  test(`finds what starts services: ${title}`, t => assert.deepEqual(serviceManager(tree(t, files)), expected));
