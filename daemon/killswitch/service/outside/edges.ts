// Makes the links of programs outside the tunnel, and the routing around them, with `ip` and the kernel's own files.
import type Gio from 'gi://Gio?version=2.0';
import GLib from 'gi://GLib?version=2.0';
import { addressesOf, INNER_DEVICE, numberOf, PREFIX, PREFIX_6 } from '../../outside/addresses.ts';
import type { Owner } from '../../outside/exceptions.ts';
import type { OutsideEdges } from '../../outside/outside.ts';
import { parseDefaultRoute, parseRules } from '../../outside/routing.ts';
import { TUNNEL_INTERFACES } from '../../rules/place.ts';
import { createAlarm } from '../../switch.ts';
import { type Child, createBackOff, startChild } from '../child.ts';
import { readText } from '../files.ts';
import { cgroupOfProcess, childrenOf } from '../programs.ts';
import { createAllowlist } from './allowlist.ts';
import { output } from './commands.ts';
import { createForwarding } from './forwarding.ts';
import { isManaged } from './managed.ts';
import { resolverOf } from './resolver.ts';

/** The name that a link has in the kernel says whose it is, also to a later service. */
const OWNER = /^culvert: program of user (\d+), process (\d+) since (\d+)$/;
/** Changes come in crowds: WARP alone sets 200 routes. */
const CALM_MS = 20;
const NO_NETWORK = 'the process has no network of its own';
/** Flag of a device that is on (linux/if.h). */
const IFF_UP = 1;

export interface OutsidePlaces {
  ip: string;
  warpCli: string;
  /** Directory of what this service turned on. */
  run: string;
  /** Path of the list of programs that an administrator allowed. */
  allowlist: string;
}

/** Parts that the kill switch and its service have. */
type OfSwitch = 'kernel' | 'report' | 'switchOn' | 'isGuarded' | 'isBlocking' | 'fill';

export function createOutsideEdges(
  bus: Gio.DBusConnection,
  { ip, warpCli, run, allowlist }: OutsidePlaces,
  { processOf, hasAsked, changed }: Pick<OutsideEdges, 'processOf' | 'hasAsked'> & { changed: () => void },
): Omit<OutsideEdges, OfSwitch> {
  const family = (of: 4 | 6) => `-${of}`;
  return {
    processOf,
    hasAsked,
    ...createAllowlist(allowlist, processOf),
    isSupported: () =>
      GLib.file_test('/run/systemd/system', GLib.FileTest.IS_DIR) && GLib.file_test(ip, GLib.FileTest.IS_EXECUTABLE),
    isKept: pid => cgroupOfProcess(pid)?.includes('-culvert.slice/') ?? true,
    managed: () => isManaged(warpCli),
    links: () =>
      new Map(
        childrenOf('/sys/class/net').flatMap(device => {
          const number = numberOf(device);
          return number === null ? [] : [[number, ownerOf(device)] as const];
        }),
      ),
    async addLink(number, { pid, uid, startTime }, mtu) {
      const { device } = addressesOf(number);
      const size = ['mtu', String(mtu)];
      // a name in /run/netns would come before the number of a process
      if (GLib.file_test(`/run/netns/${pid}`, GLib.FileTest.EXISTS))
        throw new Error(`there is a namespace named ${pid}`);
      // otherwise both ends would be devices of this machine for a moment, and other programs would set them up
      if (namespaceOf(pid) === namespaceOf('self')) throw new Error(NO_NETWORK);
      const inner = ['peer', 'name', INNER_DEVICE, ...size, 'netns', String(pid)];
      await output([ip, 'link', 'add', device, ...size, 'type', 'veth', ...inner]);
      const [link] = JSON.parse(await output([ip, '-j', 'link', 'show', 'dev', device])) as Record<string, unknown>[];
      // by then the number may have been that of another process
      if (link?.link_netnsid === undefined) throw new Error(NO_NETWORK);
      await output([
        ip,
        'link',
        'set',
        'dev',
        device,
        'alias',
        `culvert: program of user ${uid}, process ${pid} since ${startTime}`,
      ]);
    },
    async removeLink(number) {
      const { device } = addressesOf(number);
      await output([ip, 'link', 'delete', 'dev', device]).catch(error => {
        if (GLib.file_test(`/sys/class/net/${device}`, GLib.FileTest.EXISTS)) throw error; // else it has gone with its program
      });
    },
    async startLink(number) {
      const { device, gateway, gateway6 } = addressesOf(number);
      await output([ip, 'address', 'add', `${gateway}/${PREFIX}`, 'dev', device]);
      if (GLib.file_test(`/proc/sys/net/ipv6/conf/${device}`, GLib.FileTest.EXISTS))
        await output([ip, 'address', 'add', `${gateway6}/${PREFIX_6}`, 'dev', device, 'nodad']).catch(() => {});
      await output([ip, 'link', 'set', 'dev', device, 'up']);
    },
    isStarted: number => (Number(readText(`/sys/class/net/${addressesOf(number).device}/flags`)) & IFF_UP) !== 0,
    rules: async of => parseRules(await output([ip, '-j', family(of), 'rule', 'show'])),
    async addRule(of, words, priority) {
      await output([ip, family(of), 'rule', 'add', ...words, 'priority', String(priority), 'lookup', 'main']);
    },
    async removeRule(of, words) {
      await output([ip, family(of), 'rule', 'delete', ...words, 'lookup', 'main']);
    },
    async uplink(of) {
      const listed = await output([ip, '-j', family(of), 'route', 'show', 'default', 'table', 'main']);
      const route = parseDefaultRoute(listed, TUNNEL_INTERFACES);
      const mtu = route && Number(readText(`/sys/class/net/${route.device}/mtu`));
      return route && mtu ? { device: route.device, mtu, resolver: await resolverOf(bus, route, of) } : null;
    },
    ...createForwarding(run),
    now: () => GLib.get_monotonic_time() / 1e6,
    alarm: createAlarm(),
    watch: createMonitor(ip, changed),
  };
}

/** @throws GLib.Error where there is no such process */
function namespaceOf(pid: number | 'self'): string {
  return GLib.file_read_link(`/proc/${pid}/ns/net`);
}

function ownerOf(device: string): Owner | null {
  const [, uid, pid, startTime] = OWNER.exec(readText(`/sys/class/net/${device}/ifalias`)?.trim() ?? '') ?? [];
  return startTime === undefined ? null : { uid: Number(uid), pid: Number(pid), startTime };
}

/** Follows `ip monitor`. @returns turns it on or off */
function createMonitor(ip: string, changed: () => void): (on: boolean) => void {
  const restart = createBackOff();
  let child: Child | null = null;
  let due = false;
  const soon = () => {
    if (due) return;
    due = true;
    setTimeout(() => {
      due = false;
      changed();
    }, CALM_MS);
  };
  const start = () => {
    const started = startChild([ip, 'monitor', 'link', 'route', 'rule', 'netconf'], soon, () => {
      if (child !== started) return;
      child = null;
      restart(changed); // whose check turns it on again
    });
    child = started;
    soon(); // for changes before it listens
  };
  return on => {
    if (on && !child) start();
    if (on || !child) return;
    const ending = child;
    child = null;
    ending.kill();
  };
}
