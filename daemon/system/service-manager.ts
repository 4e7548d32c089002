// Finds out what starts services on this machine: systemd, another service manager, or nothing, as in most containers.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { ServiceManager } from '../api/schema.ts';
import { readText } from '../core/files.ts';
import { SYSTEMD } from '../core/process.ts';

const WARP = 'warp-svc';

/** Service managers: what exists while one runs, and the places of its services. The first match counts. */
const MANAGERS: readonly { kind: ServiceManager['kind']; runs: readonly string[]; services: readonly string[] }[] = [
  // openrc(8) keeps the state of services there
  { kind: 'openrc', runs: ['run/openrc/softlevel'], services: ['etc/init.d'] },
  // stage 2 of Void and Artix makes it
  { kind: 'runit', runs: ['run/runit'], services: ['var/service', 'run/runit/service', 'etc/service', 'service'] },
  // the scan directory of s6-overlay, which many images bring, and of Artix; s6-svscan(8) makes .s6-svscan in it
  { kind: 's6', runs: ['run/service/.s6-svscan'], services: ['run/service'] },
];

/** Files that container engines make, of podman-run(1) and moby's daemon/container_operations_unix.go. */
const CONTAINERS: readonly { kind: ServiceManager['kind']; file: string }[] = [
  { kind: 'podman', file: 'run/.containerenv' },
  // other engines copy it from images, so it alone does not identify Docker
  { kind: 'container', file: '.dockerenv' },
  // Kubernetes mounts it into each container, whatever engine runs it
  { kind: 'container', file: 'run/secrets/kubernetes.io' },
  { kind: 'container', file: 'var/run/secrets/kubernetes.io' },
  // container(7) of systemd: other engines tell a payload by it
  { kind: 'container', file: 'run/host/container-manager' },
];

/** Files that Docker mounts from its own directory into each container (moby's daemon/container_operations_unix.go). */
const OF_DOCKER = /\/containers\/[\da-f]{64}\/(hostname|hosts|resolv\.conf) \/etc\//;

/** Build time in /proc/version of every release of gVisor: reports of 2019 (4.4.0) to 2026 (4.19.0-gvisor). */
const GVISOR = 'Sun Jan 10 15:06:54 PST 2016';

/**
 * Returns what starts services on this machine.
 * @param root a directory that stands for `/`
 * @returns null where systemd runs
 */
export function serviceManager(root = '/'): ServiceManager | null {
  const has = (file: string) => existsSync(join(root, file));
  if (has(SYSTEMD)) return null;
  const manager = MANAGERS.find(({ runs }) => runs.some(has));
  if (manager) return { kind: manager.kind, startsWarp: manager.services.some(place => has(join(place, WARP))) };
  if (readText(join(root, 'proc/version'))?.includes(GVISOR)) return { kind: 'gvisor', startsWarp: false };
  const kind = CONTAINERS.find(({ file }) => has(file))?.kind ?? 'none';
  const isDocker = kind === 'container' && OF_DOCKER.test(readText(join(root, 'proc/self/mountinfo')) ?? '');
  return { kind: isDocker ? 'docker' : kind, startsWarp: false };
}
