// Turns on forwarding of single devices, remembers which, and turns it off again. The list outlives this process; while it is there, even an
// empty one, there may be something to remove.
import Gio from 'gi://Gio?version=2.0';
import GLib from 'gi://GLib?version=2.0';
import type { OutsideEdges } from '../../outside/outside.ts';
import { readText, replaceFile } from '../files.ts';

/** `culvert-killswitch-remove` reads it too: a path below /proc/sys/net on each line. */
const FILE = 'forwarding';
const LINE = /^ipv[46]\/conf\/[^/\s]+\/(?:force_)?forwarding$/;
/** Linux forwards IPv4 from a device whose key is set. It forwards IPv6 from all or none before 6.17, which has a key for each. */
const KEYS = { 4: 'forwarding', 6: 'force_forwarding' } as const;

/** @param run the directory of the list */
export function createForwarding(
  run: string,
): Pick<OutsideEdges, 'forward' | 'stopForwarding' | 'remember' | 'isRemembered'> {
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
        // another program may have turned it on for all since then
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

/** null: there is no such key. */
function read(key: string): string | null {
  return readText(`/proc/sys/net/${key}`)?.trim() ?? null;
}

/** @throws GLib.Error where the kernel does not take it. A device that has gone is fine. */
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
