// Inspects program files for Electron and for support of preloaded libraries, and finds Gio's proxy module.
import { closeSync, constants, existsSync, openSync, readdirSync, readSync, realpathSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** True for an Electron app, whose code is in `resources/` next to its program. */
export function isElectron(file: string): boolean {
  let directory: string;
  try {
    directory = dirname(realpathSync.native(file));
  } catch {
    return false;
  }
  // a launcher script is in `bin/` below the app's directory
  return [directory, join(directory, '..')].some(
    place =>
      existsSync(join(place, 'resources/app.asar')) ||
      (existsSync(join(place, 'resources/app/package.json')) && existsSync(join(place, 'chrome_100_percent.pak'))),
  );
}

/**
 * True if a preloaded library would see a program's connections. Static and setuid programs ignore such a library, and Go
 * programs call the kernel without the C library.
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

/** True for an ELF file with an interpreter (elf(5)), so dynamically linked, that is not a Go program. */
function isDynamic(head: Buffer | null): boolean {
  if (!head || head.length < 64 || head.readUInt32BE(0) !== 0x7f454c46) return false;
  const [wide, little] = [head[4] === 2, head[5] === 1];
  if (!wide || !little) return true; // assumed on other architectures; the app's note mentions the limits
  const [offset, size, count] = [Number(head.readBigUInt64LE(32)), head.readUInt16LE(54), head.readUInt16LE(56)];
  let dynamic = false;
  for (let at = offset; size > 0 && at < offset + size * count && at + 4 <= head.length; at += size)
    dynamic ||= head.readUInt32LE(at) === PT_INTERP;
  return dynamic && !head.includes(GO_NOTE);
}

/**
 * Returns the glib-networking module that makes Gio read the proxy variables: `environment` if it exists, else `libproxy`;
 * null without either, and then programs with Gio use no proxy.
 */
export function gioResolver(): 'environment' | 'libproxy' | null {
  const below = existsSync('/usr/lib') ? readdirSync('/usr/lib').filter(name => name.includes('-linux-')) : [];
  const libraries = ['/usr/lib', '/usr/lib64', '/usr/local/lib', ...below.map(name => join('/usr/lib', name))];
  const has = (name: string) =>
    libraries.some(library => existsSync(join(library, `gio/modules/libgio${name}proxy.so`)));
  return has('environment') ? 'environment' : has('lib') ? 'libproxy' : null;
}
