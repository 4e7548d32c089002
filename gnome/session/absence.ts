// Watches for the start of a daemon and the removal of Culvert without polling.
import Gio from 'gi://Gio?version=2.0';
import GLib from 'gi://GLib?version=2.0';
import type { ClientState } from '../../daemon/view/client/client-state.ts';
import { pkgdatadir, socketPath } from '../install-paths.ts';

/**
 * Returns a function that takes each state. While there is no daemon, it calls `appeared` when a daemon may have started, and
 * `removed` when the bridge's file is gone: a removal of Culvert stops the daemon first.
 */
export function absenceWatch(appeared: () => void, removed: () => void): (client: ClientState) => void {
  let ends: readonly (() => void)[] | null = null;
  return ({ offline }) => {
    if (offline && offline.code !== 'starting')
      ends ??= [
        watchForSocket(socketPath(), appeared),
        watchForRemoval(GLib.build_filenamev([pkgdatadir, 'bridge.js']), removed),
      ];
    else if (!offline) {
      for (const end of ends ?? []) end();
      ends = null;
    }
  };
}

/**
 * Calls `appeared` when a new file appears in the directory of the daemon's socket.
 * @returns a function that ends the watch
 */
function watchForSocket(path: string, appeared: () => void): () => void {
  const directory = Gio.File.new_for_path(path).get_parent()!;
  const parent = directory.get_parent()!;
  let inside: Gio.FileMonitor | null = null;
  const follow = (file: Gio.File, each: (changed: Gio.File, event: Gio.FileMonitorEvent) => void) => {
    const monitor = file.monitor_directory(Gio.FileMonitorFlags.NONE, null);
    monitor.connect('changed', (_monitor, changed, _other, event) => each(changed, event));
    return monitor;
  };
  // GLib would poll a missing directory every four seconds, so watch only an existing directory
  const enter = () => {
    inside?.cancel();
    inside = directory.query_exists(null)
      ? follow(directory, (changed, event) => {
          if (event === Gio.FileMonitorEvent.DELETED && changed.equal(directory)) inside?.cancel();
          else if (event === Gio.FileMonitorEvent.CREATED) appeared();
        })
      : null;
  };
  const outside = parent.query_exists(null)
    ? follow(parent, (changed, event) => {
        if (event !== Gio.FileMonitorEvent.CREATED || !changed.equal(directory)) return;
        enter();
        appeared();
      })
    : null;
  enter();
  return () => {
    inside?.cancel();
    outside?.cancel();
  };
}

/** Calls `removed` when a file is gone. @returns a function that ends the watch */
function watchForRemoval(path: string, removed: () => void): () => void {
  const file = Gio.File.new_for_path(path);
  const monitor = file.monitor_file(Gio.FileMonitorFlags.NONE, null);
  monitor.connect('changed', () => {
    if (!file.query_exists(null)) removed();
  });
  return () => monitor.cancel();
}
