// The root service on the system bus: who may call how often, with what, and what is answered.
import Gio from 'gi://Gio?version=2.0';
import GLib from 'gi://GLib?version=2.0';
import { createLimit } from '../limit.ts';
import { BUS_NAME, OBJECT_PATH, type Report } from '../report.ts';
import { checkEndpoints, checkSeconds, type EndpointTuple } from '../request.ts';
import { type Switch, SwitchError } from '../switch.ts';
import { type Action, mayCall, userOf } from './callers.ts';

const XML = `<node><interface name="${BUS_NAME}">
  <method name="Enable">
    <arg name="allowLan" type="b" direction="in"/>
    <arg name="endpoints" type="a(ssaq)" direction="in"/>
    <arg name="state" type="s" direction="out"/>
  </method>
  <method name="Disable"><arg name="state" type="s" direction="out"/></method>
  <method name="Pause">
    <arg name="seconds" type="u" direction="in"/>
    <arg name="state" type="s" direction="out"/>
  </method>
  <method name="Status"><arg name="state" type="s" direction="out"/></method>
  <signal name="Changed"><arg name="state" type="s"/></signal>
</interface></node>`;

/** Calls at once and per second, of one user other than root. */
const LIMIT = { burst: 40, perSecond: 5 };
/** Of one user, questions to polkit that may be open. */
const MOST_ASKING = 4;

interface Call {
  /** What must be allowed; null: anybody may. */
  action: Action | null;
  run(): Promise<Report>;
}

/**
 * Answers on the bus from now on.
 * @param touched called at the begin and end of each call, with how many are under way
 */
export function serve(bus: Gio.DBusConnection, control: Switch, touched: (underWay: number) => void) {
  const limit = createLimit(LIMIT.burst, LIMIT.perSecond);
  const asking = new Map<number, number>();
  let underWay = 0;

  /** @param prepare checks the arguments. @throws SwitchError InvalidArgument */
  async function answer(invocation: Gio.DBusMethodInvocation, prepare: () => Call): Promise<void> {
    touched(++underWay);
    try {
      const sender = invocation.get_sender()!;
      const uid = await userOf(bus, sender);
      if (uid !== 0 && !limit.take(uid, GLib.get_monotonic_time() / 1e6))
        throw new SwitchError('LimitsExceeded', 'Too many calls. Try again in some seconds.');
      const { action, run } = prepare();
      if (action) await allow(invocation, { sender, uid }, action);
      invocation.return_value(new GLib.Variant('(s)', [JSON.stringify(await run())]));
    } catch (error) {
      const { code, message } = error instanceof SwitchError ? error : new SwitchError('Failed', String(error));
      // the code leads the message too: busctl prints only that
      invocation.return_dbus_error(`${BUS_NAME}.Error.${code}`, `${code}: ${message}`);
    } finally {
      touched(--underWay);
    }
  }

  async function allow(
    invocation: Gio.DBusMethodInvocation,
    { sender, uid }: { sender: string; uid: number },
    action: Action,
  ): Promise<void> {
    const open = asking.get(uid) ?? 0;
    if (open >= MOST_ASKING) throw new SwitchError('LimitsExceeded', 'Other calls of this user wait for permission.');
    asking.set(uid, open + 1);
    try {
      const flags = invocation.get_message().get_flags();
      const interactive = (flags & Gio.DBusMessageFlags.ALLOW_INTERACTIVE_AUTHORIZATION) !== 0;
      if (!(await mayCall(bus, { sender, uid, interactive }, action)))
        throw new SwitchError('Denied', 'This needs the permission of an administrator.');
    } finally {
      const left = asking.get(uid)! - 1;
      if (left) asking.set(uid, left);
      else asking.delete(uid);
    }
  }

  const exported = Gio.DBusExportedObject.wrapJSObject(XML, {
    EnableAsync: ([allowLan, tuples]: [boolean, EndpointTuple[]], invocation: Gio.DBusMethodInvocation) =>
      answer(invocation, () => {
        const endpoints = valid(checkEndpoints(tuples));
        const wanted = { allowLan, endpoints };
        const action = control.loosens(wanted) ? 'org.culvert.killswitch.disable' : 'org.culvert.killswitch.enable';
        return { action, run: () => control.enable(wanted) };
      }),
    DisableAsync: (_: [], invocation: Gio.DBusMethodInvocation) =>
      answer(invocation, () => ({ action: 'org.culvert.killswitch.disable', run: control.disable })),
    PauseAsync: ([word]: [number], invocation: Gio.DBusMethodInvocation) =>
      answer(invocation, () => {
        const seconds = valid(checkSeconds(word));
        const action = seconds === 0 ? 'org.culvert.killswitch.enable' : 'org.culvert.killswitch.pause';
        return { action, run: () => control.pause(seconds) };
      }),
    StatusAsync: (_: [], invocation: Gio.DBusMethodInvocation) =>
      answer(invocation, () => ({ action: null, run: control.check })),
  });
  exported.export(bus, OBJECT_PATH);
  return {
    changed: (report: Report) => exported.emit_signal('Changed', new GLib.Variant('(s)', [JSON.stringify(report)])),
  };
}

function valid<T>(checked: T | string): T {
  if (typeof checked === 'string') throw new SwitchError('InvalidArgument', checked);
  return checked;
}
