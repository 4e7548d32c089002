// Makes the links of programs outside the tunnel, and the routing and forwarding around them, with `ip` and the kernel's own
// files.
import Gio from 'gi://Gio?version=2.0';
import GLib from 'gi://GLib?version=2.0';
import type { OutsideEdges } from '../outside.ts';
import { createAlarm } from '../pacing.ts';
import { type Owner, parseDefaultRoute, parseRoutingRules } from '../passage.ts';
import { addressesOf, INNER_DEVICE, numberOf, PREFIX, PREFIX_6, TUNNEL_INTERFACES } from '../rules/place.ts';
import { createAllowlist } from './allowlist.ts';
import { type Child, createBackOff, output, runCommand, startChild } from './child.ts';
import { readDevice, readText, replaceFile } from './files.ts';
import { cgroupOfProcess, childrenOf } from './programs.ts';
import { resolverOf } from './uplink.ts';

/** Alias of a link in the kernel, which names the owner, for later services as well. */
const OWNER = /^culvert: program of user (\d+), process (\d+) since (\d+)$/;
/** Delay before a check, because changes come in bursts: WARP alone sets 200 routes. */
const CALM_MS = 20;
const NO_NETWORK = 'the process has no network of its own';
/** Flag of a device that is up (linux/if.h). */
const IFF_UP = 1;

export interface OutsidePaths {
  ip: string;
  warpCli: string;
  /** Directory for the list of settings that this service turned on. */
  run: string;
  /** Path of the list of programs that an administrator allowed. */
  allowlist: string;
}

/** Edges that the kill switch and its service provide. */
type OfSwitch = 'kernel' | 'report' | 'switchOn' | 'isGuarded' | 'isBlocking' | 'fill';

export function createOutsideEdges(
  bus: Gio.DBusConnection,
  { ip, warpCli, run, allowlist }: OutsidePaths,
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
          const alias = number === null ? null : readDevice(device, 'ifalias');
          return number === null || alias === null ? [] : [[number, ownerIn(alias)] as const];
        }),
      ),
    async addLink(number, { pid, uid, startTime }, mtu) {
      const { device } = addressesOf(number);
      const size = ['mtu', String(mtu)];
      // `ip` would prefer a name in /run/netns to the number of a process
      if (GLib.file_test(`/run/netns/${pid}`, GLib.FileTest.EXISTS))
        throw new Error(`there is a namespace named ${pid}`);
      // otherwise this machine would have both ends for a moment, and other programs would set them up
      if (namespaceOf(pid) === namespaceOf('self')) throw new Error(NO_NETWORK);
      const inner = ['peer', 'name', INNER_DEVICE, ...size, 'netns', String(pid)];
      await output([ip, 'link', 'add', device, ...size, 'type', 'veth', ...inner]);
      const [link] = JSON.parse(await output([ip, '-j', 'link', 'show', 'dev', device])) as Record<string, unknown>[];
      // in the meantime another process may have got the number
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
        if (GLib.file_test(`/sys/class/net/${device}`, GLib.FileTest.EXISTS)) throw error; // else the program removed it
      });
    },
    async startLink(number) {
      const { device, gateway, gateway6 } = addressesOf(number);
      await output([ip, 'address', 'add', `${gateway}/${PREFIX}`, 'dev', device]);
      if (GLib.file_test(`/proc/sys/net/ipv6/conf/${device}`, GLib.FileTest.EXISTS))
        await output([ip, 'address', 'add', `${gateway6}/${PREFIX_6}`, 'dev', device, 'nodad']).catch(() => {});
      await output([ip, 'link', 'set', 'dev', device, 'up']);
    },
    // a device that is gone must not be started again
    isStarted: number => (Number(readDevice(addressesOf(number).device, 'flags') ?? IFF_UP) & IFF_UP) !== 0,
    rules: async of => parseRoutingRules(await output([ip, '-j', family(of), 'rule', 'show'])),
    async addRule(of, words, priority) {
      await output([ip, family(of), 'rule', 'add', ...words, 'priority', String(priority), 'lookup', 'main']);
    },
    async removeRule(of, words) {
      await output([ip, family(of), 'rule', 'delete', ...words, 'lookup', 'main']);
    },
    async uplink(of) {
      const listed = await output([ip, '-j', family(of), 'route', 'show', 'default', 'table', 'main']);
      const route = parseDefaultRoute(listed, TUNNEL_INTERFACES);
      const mtu = route && Number(readDevice(route.device, 'mtu'));
      return route && mtu ? { device: route.device, mtu, resolver: await resolverOf(bus, route, of) } : null;
    },
    ...createForwarding(run),
    now: () => GLib.get_monotonic_time() / 1e6,
    alarm: createAlarm(),
    watch: createMonitor(ip, changed),
  };
}

/** @throws GLib.Error if there is no such process */
function namespaceOf(pid: number | 'self'): string {
  return GLib.file_read_link(`/proc/${pid}/ns/net`);
}

function ownerIn(alias: string): Owner | null {
  const [, uid, pid, startTime] = OWNER.exec(alias.trim()) ?? [];
  return startTime === undefined ? null : { uid: Number(uid), pid: Number(pid), startTime };
}

/** Follows `ip monitor`. @returns a function that turns it on or off */
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
      restart(changed); // the check turns it on again
    });
    child = started;
    soon(); // for changes before the monitor listens
  };
  return on => {
    if (on && !child) start();
    if (on || !child) return;
    const ending = child;
    child = null;
    ending.kill();
  };
}

/** File with a path below /proc/sys/net on each line. `culvert-killswitch-remove` reads it too. */
const FILE = 'forwarding';
const LINE = /^ipv[46]\/conf\/[^/\s]+\/(?:force_)?forwarding$/;
/**
 * Linux forwards IPv4 from a device whose key is set. Before 6.17, it forwards IPv6 from all devices or none; 6.17 has a key
 * for each device.
 */
const KEYS = { 4: 'forwarding', 6: 'force_forwarding' } as const;

/** @param run directory of the list */
function createForwarding(run: string): Pick<OutsideEdges, 'forward' | 'stopForwarding' | 'remember' | 'isRemembered'> {
  const file = GLib.build_filenamev([run, FILE]);
  const list = () => (readText(file) ?? '').split('\n').filter(line => LINE.test(line));
  const save = (lines: readonly string[]) => replaceFile(file, lines.map(line => `${line}\n`).join(''), 0o644);
  const isRemembered = () => GLib.file_test(file, GLib.FileTest.EXISTS);

  return {
    forward(family, [uplink, ...devices]) {
      if (read(`ipv${family}/conf/all/forwarding`) === '1') return false;
      const keys = [uplink!, ...devices].map(device => `ipv${family}/conf/${device}/${KEYS[family]}`);
      if (read(keys[0]!) === null) return null;
      const listed = list();
      const off = keys.filter(key => read(key) === '0');
      const added = off.filter(key => !listed.includes(key));
      if (added.length) save([...listed, ...added]);
      for (const key of off) write(key, '1');
      return list().includes(keys[0]!);
    },
    stopForwarding(but) {
      const listed = list();
      const isKept = (key: string) => {
        const [protocol, , device] = key.split('/');
        return but[protocol === 'ipv4' ? 4 : 6].includes(device!);
      };
      const ended = listed.filter(key => !isKept(key));
      if (!ended.length) return;
      for (const key of ended) {
        const [protocol] = key.split('/');
        // another program may have turned forwarding on for all devices since then
        if (read(key) === '1' && read(`${protocol}/conf/all/forwarding`) !== '1') write(key, '0');
      }
      save(listed.filter(isKept));
    },
    remember(on) {
      if (!on) GLib.unlink(file);
      else if (!isRemembered()) save([]);
    },
    isRemembered,
  };
}

/** Returns null if there is no such key. */
function read(key: string): string | null {
  return readText(`/proc/sys/net/${key}`)?.trim() ?? null;
}

/** Writes a key, unless its device is missing. @throws GLib.Error if the kernel rejects the value */
function write(key: string, value: string): void {
  const path = `/proc/sys/net/${key}`;
  try {
    const stream = Gio.File.new_for_path(path).append_to(Gio.FileCreateFlags.NONE, null);
    stream.write_all(new TextEncoder().encode(value), null);
    stream.close(null);
  } catch (error) {
    if (GLib.file_test(path, GLib.FileTest.EXISTS)) throw error;
  }
}

/** File with the deployment parameters of an organization. */
const MDM = '/var/lib/cloudflare-warp/mdm.xml';
const MS = 8_000;

/** @param warpCli path of WARP's program. @returns null if WARP does not say */
async function isManaged(warpCli: string): Promise<boolean | null> {
  if (GLib.file_test(MDM, GLib.FileTest.EXISTS)) return true;
  if (!GLib.file_test(warpCli, GLib.FileTest.IS_EXECUTABLE)) return false; // there is no WARP to manage
  try {
    const { out, err } = await runCommand([warpCli, '--accept-tos', '-j', 'registration', 'show'], MS);
    return parseManaged(`${out}\n${err}`);
  } catch {
    return null;
  }
}

/** Parses the answer as JSON, or as the text of older versions. */
function parseManaged(text: string): boolean | null {
  if (/\b(?:Missing registration|Registration Missing)\b/i.test(text)) return false;
  if (/"managed"\s*:\s*true|"organization"\s*:\s*"|"(?:account_)?type"\s*:\s*"teams?"/i.test(text)) return true;
  if (/^\s*(?:Organization:\s*\S|Account type:\s*Teams?\s*$)/im.test(text)) return true;
  return /"(?:account|device_id)"|^\s*Account type:\s*\S/im.test(text) ? false : null;
}
