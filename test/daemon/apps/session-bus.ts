// Starts a session bus for a test, and programs that own names on it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import type { Ends } from '../../support/temporary.ts';

/** Reason why no session bus can start here, or false. */
export const noBus = ['dbus-daemon', 'gdbus', 'gjs'].every(name => existsSync(`/usr/bin/${name}`))
  ? false
  : 'no dbus-daemon, gdbus or gjs';

export async function startBus(t: Ends) {
  const bus = spawn('dbus-daemon', ['--session', '--nofork', '--print-address=1'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  t.after(() => bus.kill('SIGKILL'));
  const [address] = await once(bus.stdout!, 'data');
  const env = { DBUS_SESSION_BUS_ADDRESS: String(address).trim() };
  return {
    env,
    /** Starts a program that owns a name. @returns a function that ends it */
    async own(name: string): Promise<() => Promise<unknown>> {
      const text = `const {Gio, GLib} = imports.gi;
        Gio.bus_own_name(Gio.BusType.SESSION, '${name}', 0, null, () => print('owned'), null);
        GLib.MainLoop.new(null, false).run();`;
      const owner = spawn('gjs', ['-c', text], {
        env: { ...process.env, ...env },
        stdio: ['ignore', 'pipe', 'ignore'],
      });
      t.after(() => owner.kill('SIGKILL'));
      await once(owner.stdout!, 'data');
      return () => {
        const gone = once(owner, 'exit');
        owner.kill('SIGKILL');
        return gone;
      };
    },
  };
}
