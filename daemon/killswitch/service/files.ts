// Stores the files of the root service: rules and trial in a directory that only root can read, and the published state.
import Gio from 'gi://Gio?version=2.0';
import GLib from 'gi://GLib?version=2.0';
import type { FileName, Files } from '../keeper.ts';
import type { Published, Report } from '../report.ts';

const MAX_BYTES = 1 << 20;

/** Stores files that only root can read. @param directory existing directory in which only root can write */
export function createFiles<Name extends string = FileName>(directory: string): Files<Name> {
  const path = (name: Name) => GLib.build_filenamev([directory, name]);
  return {
    read: name => readText(path(name)),
    write: (name, text) => replaceFile(path(name), text, 0o600),
    remove(name) {
      try {
        Gio.File.new_for_path(path(name)).delete(null);
      } catch (error) {
        if (!isMissing(error)) throw error;
      }
    },
  };
}

/** Writes the published state, which every user can read. @param report called with the reason if writing fails */
export function createStateFile(path: string, report: (trouble: string) => void) {
  const self = { pid: Number(GLib.file_read_link('/proc/self')), startTime: startTimeOf(readText('/proc/self/stat')) };
  let last: Report | null = null;

  function write(state: Report, process: Pick<Published, 'pid' | 'startTime'>): void {
    const published: Published = { version: 1, ...process, ...state };
    replaceFile(path, `${JSON.stringify(published)}\n`, 0o644);
  }

  return {
    /** @returns true if the state differs from the last published state */
    publish(state: Report): boolean {
      if (JSON.stringify(state) === JSON.stringify(last)) return false;
      last = state;
      try {
        write(state, self);
      } catch (error) {
        report(`the state can't be published: ${(error as Error).message}`);
      }
      return true;
    },
    /** Marks the state as no longer measured. @param isIdle if false, the state may still change, so the file is removed */
    end(isIdle: boolean): void {
      if (isIdle && last) write(last, { pid: null, startTime: null });
      else GLib.unlink(path);
    },
  };
}

/** Replaces a file durably: a reader or a crash finds the old text or the new. @throws GLib.Error */
export function replaceFile(path: string, text: string, mode: number): void {
  const { CONSISTENT, DURABLE } = GLib.FileSetContentsFlags;
  GLib.file_set_contents_full(path, new TextEncoder().encode(text), CONSISTENT | DURABLE, mode);
}

/** @returns null if there is no such file. @throws Error if it is not a regular file of a sensible size, or unreadable */
export function readText(path: string): string | null {
  try {
    const info = Gio.File.new_for_path(path).query_info('standard::type,standard::size', 0, null);
    if (info.get_file_type() !== Gio.FileType.REGULAR) throw new Error(`${path} is not a regular file`);
    if (info.get_size() > MAX_BYTES) throw new Error(`${path} has more than ${MAX_BYTES} bytes`);
    const [, bytes] = GLib.file_get_contents(path);
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

/** Returns a value of a network device from sysfs; null if the device is missing or being removed. @throws Error */
export function readDevice(device: string, name: string): string | null {
  try {
    return readText(`/sys/class/net/${device}/${name}`);
  } catch (error) {
    // the kernel answers with EINVAL while it removes a device (net/core/net-sysfs.c)
    if (error instanceof GLib.Error && error.matches(GLib.file_error_quark(), GLib.FileError.INVAL)) return null;
    throw error;
  }
}

/** True for an error that reports a missing file. */
export function isMissing(error: unknown): boolean {
  if (!(error instanceof GLib.Error)) return false;
  const { NOT_FOUND } = Gio.IOErrorEnum;
  return error.matches(Gio.io_error_quark(), NOT_FOUND) || error.matches(GLib.file_error_quark(), GLib.FileError.NOENT);
}

/** Returns the fields of /proc/PID/stat from the third on. The command's name before them, in parentheses, may hold anything. */
export function fieldsOf(stat: string): string[] {
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

export function startTimeOf(stat: string | null): string | null {
  return (stat && fieldsOf(stat)[19]) ?? null;
}
