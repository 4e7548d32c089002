// Inspects a program's file: whether it is Electron, or ignores preloaded libraries.
import { closeSync, constants, existsSync, openSync, readdirSync, readSync, realpathSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** True for an Electron app, which keeps its code in `resources/` next to its program. */
export function isElectron(file: string): boolean {
  let directory: string;
  try {
    directory = dirname(realpathSync.native(file));
  } catch {
    return false;
  }
  // a launcher script is in `bin/` below it
  return [directory, join(directory, '..')].some(
    place =>
      existsSync(join(place, 'resources/app.asar')) ||
      (existsSync(join(place, 'resources/app/package.json')) && existsSync(join(place, 'chrome_100_percent.pak'))),
  );
}

/**
 * True if a preloaded library would see the connections of a program. The loader ignores it for static and setuid
 * programs, and Go programs call the kernel without the C library.
 */
export function takesPreload(file: string): boolean {
  const stats = statSync(file, { throwIfNoEntry: false });
  if (!stats || (stats.mode & 0o6000) !== 0) return false;
  const head = headOf(file);
  if (head?.toString('latin1', 0, 2) !== '#!') return isDynamic(head);
  const interpreter = /^#![ \t]*(\S+)/.exec(head.toString('latin1', 0, 256))?.[1];
  return interpreter !== undefined && isDynamic(headOf(interpreter));
}

const HEAD_BYTES = 4096;
const GO_NOTE = Buffer.from('Go\0\0');
const PT_INTERP = 3;

function headOf(file: string): Buffer | null {
  const head = Buffer.allocUnsafe(HEAD_BYTES);
  try {
    const fd = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
    const size = readSync(fd, head, 0, HEAD_BYTES, 0);
    closeSync(fd);
    return head.subarray(0, size);
  } catch {
    return null;
  }
}

/** ELF with an interpreter (elf(5)), that is, linked dynamically, and not of Go. */
function isDynamic(head: Buffer | null): boolean {
  if (!head || head.length < 64 || head.readUInt32BE(0) !== 0x7f454c46) return false;
  const [wide, little] = [head[4] === 2, head[5] === 1];
  if (!wide || !little) return true; // assume so on other machines; the note says that it is not certain
  const [offset, size, count] = [Number(head.readBigUInt64LE(32)), head.readUInt16LE(54), head.readUInt16LE(56)];
  let dynamic = false;
  for (let at = offset; size > 0 && at < offset + size * count && at + 4 <= head.length; at += size)
    dynamic ||= head.readUInt32LE(at) === PT_INTERP;
  return dynamic && !head.includes(GO_NOTE);
}

/**
 * glib-networking's module that can have Gio take the proxy from the variables: `environment` where it exists, else
 * `libproxy`; null without any, and then Gio's programs use no proxy at all.
 */
export function gioResolver(): 'environment' | 'libproxy' | null {
  const below = existsSync('/usr/lib') ? readdirSync('/usr/lib').filter(name => name.includes('-linux-')) : [];
  const libraries = ['/usr/lib', '/usr/lib64', '/usr/local/lib', ...below.map(name => join('/usr/lib', name))];
  const has = (name: string) =>
    libraries.some(library => existsSync(join(library, `gio/modules/libgio${name}proxy.so`)));
  return has('environment') ? 'environment' : has('lib') ? 'libproxy' : null;
}
