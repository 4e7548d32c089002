// Finds the users and cgroups of processes, and makes systemd put tunnel-only programs into scopes.
import Gio from 'gi://Gio?version=2.0';
import GLib from 'gi://GLib?version=2.0';
import { cgroupOf, sliceOf, TUNNEL_INTERFACES } from '../rules/place.ts';
import type { Process, ProgramEdges } from '../tunnel-only.ts';
import { fieldsOf, isMissing, startTimeOf } from './files.ts';
import { startUnit, type UnitProperty } from './system-bus.ts';

/** Maximum number of processes in a cgroup whose names are read. */
const MAX_PROCESSES = 8;
/** Bytes read of a command line: enough for a shell, the longest path of Linux, and one more word. */
const MAX_COMMAND_BYTES = 8192;
const MAX_NAMES = 3;
const ARRIVAL_MS = { each: 3, limit: 5_000 };
const NEVER_DENIED = ['lo', ...TUNNEL_INTERFACES];

/** Users for whom systemd makes a slice by default. */
const USERS = { first: 1000, last: 60_000 };

/** @param root directory where cgroups are mounted */
export function createProgramEdges(bus: Gio.DBusConnection, root: string): Omit<ProgramEdges, 'kernel' | 'report'> {
  const scopesOf = (uid: number) => childrenOf(`${root}/${cgroupOf(uid)}`).filter(name => name.endsWith('.scope'));

  async function startScope(uid: number, pids: readonly number[]): Promise<void> {
    const name = `culvert-${GLib.uuid_string_random()}.scope`;
    const properties: UnitProperty[] = [
      ['Description', new GLib.Variant('s', 'Program that is kept in the tunnel')],
      ['PIDs', new GLib.Variant('au', [...pids])],
      ['Slice', new GLib.Variant('s', sliceOf(uid))],
      ['CollectMode', new GLib.Variant('s', 'inactive-or-failed')],
    ];
    // a second lock in the cgroup holds even while another program flushes all rules; it needs systemd 250 with BPF
    const denied = childrenOf('/sys/class/net').filter(device => !NEVER_DENIED.includes(device));
    const restriction: UnitProperty = ['RestrictNetworkInterfaces', new GLib.Variant('(bas)', [false, denied])];
    await startUnit(bus, name, [...properties, restriction]).catch(() => startUnit(bus, name, properties));
    await arrival(pids, `/${cgroupOf(uid)}/${name}`);
  }

  async function release({ pid, uid }: Process): Promise<void> {
    const name = `culvert-released-${GLib.uuid_string_random()}.scope`;
    const slice = uid !== null && uid >= USERS.first && uid <= USERS.last ? `user-${uid}.slice` : 'system.slice';
    await startUnit(bus, name, [
      ['Description', new GLib.Variant('s', 'Process that is not kept in the tunnel')],
      ['PIDs', new GLib.Variant('au', [pid])],
      ['Slice', new GLib.Variant('s', slice)],
      ['CollectMode', new GLib.Variant('s', 'inactive-or-failed')],
    ]);
  }

  return {
    isSupported: () => GLib.file_test(`${root}/cgroup.controllers`, GLib.FileTest.EXISTS),
    processOf,
    // only the process itself can change its command line; reading the environment of another user's process needs
    // CAP_DAC_READ_SEARCH
    hasAsked(pid) {
      const [shell, script = '', verb] = (startOf(`/proc/${pid}/cmdline`, MAX_COMMAND_BYTES) ?? '').split('\0');
      return shell === '/bin/sh' && /(?:^|\/)culvert$/.test(script) && verb === 'run';
    },
    count: uid => scopesOf(uid).length,
    cgroups() {
      const uids = childrenOf(`${root}/user.slice`).flatMap(name => /^user-(\d+)\.slice$/.exec(name)?.[1] ?? []);
      return new Map(
        uids.map(Number).flatMap(uid => {
          const path = `${root}/${cgroupOf(uid)}`;
          const populated = /^populated 1$/m.test(textOf(`${path}/cgroup.events`) ?? '');
          const inode = populated ? inodeOf(path) : null;
          return inode ? [[uid, inode] as const] : [];
        }),
      );
    },
    startScope,
    release,
    now: () => GLib.get_monotonic_time() / 1e6,
  };
}

/** Waits until systemd has moved the processes or one of them has ended. */
async function arrival(pids: readonly number[], place: string): Promise<void> {
  const isAway = (pid: number) => ![place, null].includes(cgroupOfProcess(pid));
  for (let waited = 0; pids.some(isAway); waited += ARRIVAL_MS.each) {
    if (waited > ARRIVAL_MS.limit) throw new Error('systemd did not move the program in time');
    await new Promise(done => setTimeout(done, ARRIVAL_MS.each));
  }
}

/** Returns null if there is no such process, or if it has just ended. */
export function processOf(pid: number): Process | null {
  const stat = () => textOf(`/proc/${pid}/stat`);
  const before = stat();
  const [, uids = ''] = /^Uid:\t(.*)$/m.exec(textOf(`/proc/${pid}/status`) ?? '') ?? [];
  const startTime = startTimeOf(before);
  if (!before || startTime === null || startTimeOf(stat()) !== startTime) return null;
  const [uid, ...others] = uids.split('\t');
  const isOfOne = uid && others.length === 3 && others.every(other => other === uid);
  const [, parent] = fieldsOf(before);
  return { pid, uid: isOfOne ? Number(uid) : null, startTime, parent: Number(parent) };
}

/** Returns the cgroup of a process in the hierarchy of version 2. */
export function cgroupOfProcess(pid: number): string | null {
  return /^0::(.*)$/m.exec(textOf(`/proc/${pid}/cgroup`) ?? '')?.[1] ?? null;
}

/** Returns the first bytes of a file whose owner decides its size; null if it can't be read. */
function startOf(path: string, bytes: number): string | null {
  try {
    const stream = Gio.File.new_for_path(path).read(null);
    const start = stream.read_bytes(bytes, null).get_data();
    stream.close(null);
    return new TextDecoder().decode(start ?? undefined);
  } catch {
    return null;
  }
}

/** Returns the text of one of the kernel's own files, which show a size of 0; null if it can't be read. */
function textOf(path: string): string | null {
  try {
    const [, bytes] = GLib.file_get_contents(path);
    return new TextDecoder().decode(bytes);
  } catch {
    return null;
  }
}

/** Returns the names of some processes in a cgroup. @param path path below `root`, where cgroups are mounted */
export function programsIn(root: string, path: string): string[] {
  const pids = textOf(`${root}/${path}/cgroup.procs`)?.split('\n').filter(Boolean).slice(0, MAX_PROCESSES) ?? [];
  const names = pids.flatMap(pid => textOf(`/proc/${pid}/comm`)?.trim() || []);
  return [...new Set(names)].slice(0, MAX_NAMES);
}

/** Returns the inode as text: the number of a cgroup has more digits than a JavaScript number can hold. */
function inodeOf(path: string): string | null {
  try {
    return Gio.File.new_for_path(path).query_info('unix::inode', 0, null).get_attribute_as_string('unix::inode');
  } catch {
    return null;
  }
}

/** Returns the names of the files in a directory; empty if it does not exist. */
export function childrenOf(path: string): string[] {
  try {
    const flags = Gio.FileQueryInfoFlags.NOFOLLOW_SYMLINKS;
    return [...Gio.File.new_for_path(path).enumerate_children('standard::name', flags, null)].map(info =>
      info.get_name(),
    );
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}
