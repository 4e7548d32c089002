// Ends a pause through a systemd timer that loads the stored rules, in case this process dies before.
import type Gio from 'gi://Gio?version=2.0';
import GLib from 'gi://GLib?version=2.0';
import { message, WordedError } from '../wording.ts';
import { call } from './authorization.ts';

/** A timer starts the service of its own name, here an instance of the installed template. */
const TEMPLATE = 'culvert-killswitch-resume@';

export function createTimer(bus: Gio.DBusConnection) {
  let armed: string | null = null;
  const systemd = (method: string, body: GLib.Variant) =>
    call(bus, {
      name: 'org.freedesktop.systemd1',
      path: '/org/freedesktop/systemd1',
      method: `org.freedesktop.systemd1.Manager.${method}`,
      body,
      reply: '(o)',
      ms: 10_000,
    });

  async function disarm(): Promise<void> {
    const name = armed;
    armed = null;
    if (name) await systemd('StopUnit', new GLib.Variant('(ss)', [name, 'replace']));
  }

  return {
    disarm,
    /** @throws Error where systemd does not take it */
    async arm(seconds: number): Promise<void> {
      const before = armed;
      // a unit's name is free again only some time after it stopped
      const name = `${TEMPLATE}${GLib.get_monotonic_time()}.timer`;
      const properties: [string, GLib.Variant][] = [
        ['Description', new GLib.Variant('s', 'End of the pause of the kill switch of Culvert')],
        ['TimersMonotonic', new GLib.Variant('a(st)', [['OnActiveSec', seconds * 1_000_000]])],
        ['AccuracyUSec', new GLib.Variant('t', 100_000)],
        ['RemainAfterElapse', new GLib.Variant('b', false)],
      ];
      try {
        await systemd('StartTransientUnit', new GLib.Variant('(ssa(sv)a(sa(sv)))', [name, 'replace', properties, []]));
      } catch (error) {
        throw new WordedError(
          message('systemd did not accept the timer that ends the pause: %s', (error as Error).message),
        );
      }
      if (before) {
        armed = before;
        await disarm().catch(() => {});
      }
      armed = name;
    },
  };
}
