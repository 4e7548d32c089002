// Reads the list of programs that an administrator allowed outside the tunnel while the kill switch is on, and recognizes the
// programs by their files.
import Gio from 'gi://Gio?version=2.0';
import GLib from 'gi://GLib?version=2.0';
import type { ExceptionEdges, OutsideEdges } from '../outside.ts';
import type { Owner } from '../passage.ts';
import { parseAllowlist } from '../rules/place.ts';
import { readText } from './files.ts';
import { childrenOf } from './programs.ts';

const MAX_BYTES = 64 * 1024;
/** Write permissions of the group and of others. */
const WRITABLE = 0o022;
const ATTRIBUTES = 'standard::type,standard::size,unix::uid,unix::mode,unix::device,unix::inode';

/** @param file path of the list */
export function createAllowlist(
  file: string,
  processOf: OutsideEdges['processOf'],
): Pick<ExceptionEdges, 'refusalOf'> & Pick<OutsideEdges, 'allowsAny'> {
  const listed = () => {
    const info = onlyRoots(file);
    return info && info.get_size() <= MAX_BYTES ? parseAllowlist(readText(file) ?? '') : [];
  };
  const isAlive = ({ uid, pid, startTime }: Owner) => {
    const process = processOf(pid);
    return process?.uid === uid && process.startTime === startTime;
  };
  return {
    allowsAny: () => listed().length > 0,
    refusalOf(owner) {
      const ended = `process ${owner.pid} has ended`;
      if (!isAlive(owner)) return ended;
      const allowed = new Set(listed().map(path => identityOf(onlyRoots(path))));
      const isAllowed = (pid: number) => {
        const running = identityOf(infoOf(`/proc/${pid}/exe`, Gio.FileQueryInfoFlags.NONE));
        return running !== null && allowed.has(running);
      };
      const space = namespaceOf(owner.pid);
      if (space === null) return ended;
      // search the network only once the process is the program: callers ask often until then
      const pids = isAllowed(owner.pid)
        ? childrenOf('/proc')
            .filter(name => /^\d+$/.test(name))
            .map(Number)
        : [owner.pid];
      // a process that has ended by now has no program and no network
      const other = pids.find(pid => namespaceOf(pid) === space && !isAllowed(pid) && namespaceOf(pid) === space);
      // another process may have the number now
      if (!isAlive(owner)) return ended;
      return other === undefined ? null : `${programOf(other)} (process ${other}) is not in ${file}`;
    },
  };
}

/** Returns null if there is no such process. */
function namespaceOf(pid: number): string | null {
  return linkOf(`/proc/${pid}/ns/net`);
}

/** Returns the path of a program, quoted, since any user can choose the name. */
function programOf(pid: number): string {
  return JSON.stringify(linkOf(`/proc/${pid}/exe`));
}

function linkOf(path: string): string | null {
  try {
    return GLib.file_read_link(path);
  } catch {
    return null;
  }
}

/** Returns a regular file that only root can change or replace, without a link in its path; otherwise null. */
function onlyRoots(path: string): Gio.FileInfo | null {
  const names = path.split('/').slice(1);
  const steps = ['/', ...names.map((_, index) => `/${names.slice(0, index + 1).join('/')}`)];
  const infos = steps.map(step => infoOf(step, Gio.FileQueryInfoFlags.NOFOLLOW_SYMLINKS));
  const isOf = (info: Gio.FileInfo | null, type: Gio.FileType) =>
    info?.get_file_type() === type &&
    info.get_attribute_uint32('unix::uid') === 0 &&
    (info.get_attribute_uint32('unix::mode') & WRITABLE) === 0;
  const last = infos.pop() ?? null;
  return infos.every(info => isOf(info, Gio.FileType.DIRECTORY)) && isOf(last, Gio.FileType.REGULAR) ? last : null;
}

/** Returns device and inode as text: an inode has more digits than a JavaScript number can hold. */
function identityOf(info: Gio.FileInfo | null): string | null {
  return info && `${info.get_attribute_as_string('unix::device')} ${info.get_attribute_as_string('unix::inode')}`;
}

/** Returns null if the file can't be read. */
function infoOf(path: string, flags: Gio.FileQueryInfoFlags): Gio.FileInfo | null {
  try {
    return Gio.File.new_for_path(path).query_info(ATTRIBUTES, flags, null);
  } catch {
    return null;
  }
}
