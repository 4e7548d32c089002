// Knows which programs use the bridge: those that have called it and are still on the bus.
import Gio from 'gi://Gio?version=2.0';

/** Time without callers, in ms, after which the bridge ends. */
const GRACE_MS = 5_000;

export interface Callers {
  /** A call of this connection begins; the result is called when it has ended. */
  began(sender: string): () => void;
  /** Counts the calls so far. */
  calls(): number;
  /** Resolves once no call is under way. */
  answered(): Promise<void>;
}

/** @param unused is called when no caller has been there for a while */
export function watchCallers(bus: Gio.DBusConnection, unused: () => void): Callers {
  const watches = new Map<string, number>();
  let underWay = 0;
  let calls = 0;
  let allAnswered = () => {};
  let timer: ReturnType<typeof setTimeout> | null = null;

  const decide = () => {
    const used = underWay > 0 || watches.size > 0;
    if (timer) clearTimeout(timer);
    timer = used ? null : setTimeout(unused, GRACE_MS);
  };
  const left = (sender: string) => {
    const watch = watches.get(sender);
    if (watch === undefined) return;
    Gio.bus_unwatch_name(watch);
    watches.delete(sender);
    decide();
  };
  decide();
  return {
    calls: () => calls,
    async answered() {
      if (underWay > 0)
        await new Promise<void>(resolve => {
          allAnswered = resolve;
        });
    },
    began(sender) {
      calls++;
      underWay++;
      if (!watches.has(sender)) {
        const { NONE } = Gio.BusNameWatcherFlags;
        const watch = Gio.bus_watch_name_on_connection(bus, sender, NONE, null, () => left(sender));
        watches.set(sender, watch);
      }
      decide();
      return () => {
        underWay--;
        if (underWay === 0) allAnswered();
        decide();
      };
    },
  };
}
