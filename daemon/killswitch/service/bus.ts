// Answers calls on the system bus: checks arguments, asks polkit, and runs the switch.
import Gio from 'gi://Gio?version=2.0';
import GLib from 'gi://GLib?version=2.0';
import { MAX_LEASE_SECONDS, type Recorder } from '../blocked/recorder.ts';
import type { OutsidePrograms } from '../outside/outside.ts';
import { type Action, ALL_ACTIONS } from '../permission.ts';
import type { Programs } from '../programs.ts';
import { BUS_NAME, OBJECT_PATH, type Report } from '../report.ts';
import {
  checkConfirmSeconds,
  checkEndpoints,
  checkSeconds,
  checkSignInSeconds,
  type EndpointTuple,
  MAX_ENDPOINTS,
  tooManyEndpoints,
} from '../rules/request.ts';
import type { Detection } from '../sign-in/detection.ts';
import type { SignInWindow } from '../sign-in/window.ts';
import type { Caller, Switch } from '../switch.ts';
import { SwitchError } from '../switch-error.ts';
import { N_ } from '../wording.ts';
import { mayCall, processOf } from './authorization.ts';
import type { Gate } from './gate.ts';

const XML = `<node><interface name="${BUS_NAME}">
  <method name="Enable">
    <arg name="allowLan" type="b" direction="in"/>
    <arg name="endpoints" type="a(ssaq)" direction="in"/>
    <arg name="state" type="s" direction="out"/>
  </method>
  <method name="Disable"><arg name="state" type="s" direction="out"/></method>
  <method name="TryEnable">
    <arg name="allowLan" type="b" direction="in"/>
    <arg name="endpoints" type="a(ssaq)" direction="in"/>
    <arg name="seconds" type="u" direction="in"/>
    <arg name="state" type="s" direction="out"/>
  </method>
  <method name="TryDisable">
    <arg name="seconds" type="u" direction="in"/>
    <arg name="state" type="s" direction="out"/>
  </method>
  <method name="Confirm"><arg name="state" type="s" direction="out"/></method>
  <method name="Revert"><arg name="state" type="s" direction="out"/></method>
  <method name="SetEndpoints">
    <arg name="endpoints" type="a(ssaq)" direction="in"/>
    <arg name="state" type="s" direction="out"/>
  </method>
  <method name="Pause">
    <arg name="seconds" type="u" direction="in"/>
    <arg name="state" type="s" direction="out"/>
  </method>
  <method name="KeepInTunnel"><arg name="state" type="s" direction="out"/></method>
  <method name="SignIn">
    <arg name="seconds" type="u" direction="in"/>
    <arg name="state" type="s" direction="out"/>
  </method>
  <method name="DetectLogin"><arg name="verdict" type="s" direction="out"/></method>
  <method name="Blocked">
    <arg name="seconds" type="u" direction="in"/>
    <arg name="list" type="s" direction="out"/>
  </method>
  <method name="LeadOutside"><arg name="state" type="s" direction="out"/></method>
  <method name="Status"><arg name="state" type="s" direction="out"/></method>
  <signal name="Changed"><arg name="state" type="s"/></signal>
</interface></node>`;

/** Open questions to polkit allowed per user. */
const MOST_ASKING = 4;

/**
 * GLib before 2.84 hands over a reference to each call, which GJS does not know of: every call, with its arguments, would stay
 * in memory (g_dbus_connection_register_object_with_closures).
 */
const OWNS_INVOCATIONS = GLib.check_version(2, 84, 0) !== null;

interface Call {
  /** Required permission; null: none. */
  action: Action | null;
  run(caller: Caller & { sender: string }): Promise<object>;
}

/**
 * Answers on the bus from now on.
 * @param touched called at the begin and end of each call, with how many are under way
 */
export function serve(
  { bus, userOf }: Gate,
  {
    control,
    programs,
    outside,
    window,
    detection,
    recorder,
  }: {
    control: Switch;
    programs: Programs;
    outside: OutsidePrograms;
    window: SignInWindow;
    detection: Detection;
    recorder: Recorder;
  },
  touched: (underWay: number) => void,
) {
  const asking = new Map<number, number>();
  let underWay = 0;

  /** @param prepare checks the arguments. @throws SwitchError InvalidArgument */
  async function answer(invocation: Gio.DBusMethodInvocation, prepare: (uid: number) => Call): Promise<void> {
    touched(++underWay);
    try {
      const sender = invocation.get_sender()!;
      const uid = userOf(sender);
      const { action, run } = prepare(uid);
      if (action) await allow(invocation, { sender, uid }, action);
      const granted = uid === 0 ? ALL_ACTIONS : action ? [action] : [];
      invocation.return_value(new GLib.Variant('(s)', [JSON.stringify(await run({ uid, granted, sender }))]));
    } catch (error) {
      const { code, message } = error instanceof SwitchError ? error : new SwitchError('Failed', String(error));
      // the code leads the message too: busctl prints only that
      invocation.return_dbus_error(`${BUS_NAME}.Error.${code}`, `${code}: ${message}`);
    } finally {
      if (OWNS_INVOCATIONS) invocation.unref();
      touched(--underWay);
    }
  }

  async function allow(
    invocation: Gio.DBusMethodInvocation,
    { sender, uid }: { sender: string; uid: number },
    action: Action,
  ): Promise<void> {
    const open = asking.get(uid) ?? 0;
    if (open >= MOST_ASKING)
      throw new SwitchError('LimitsExceeded', N_('Other requests of this user are waiting for permission.'));
    asking.set(uid, open + 1);
    try {
      const flags = invocation.get_message().get_flags();
      const interactive = (flags & Gio.DBusMessageFlags.ALLOW_INTERACTIVE_AUTHORIZATION) !== 0;
      if (!(await mayCall(bus, { sender, uid, interactive }, action)))
        throw new SwitchError('Denied', N_('This needs the permission of an administrator.'));
    } finally {
      const left = asking.get(uid)! - 1;
      if (left) asking.set(uid, left);
      else asking.delete(uid);
    }
  }

  /** The action behind a method. Arguments are unpacked here, after their number was checked. */
  function prepare(uid: number, method: string, parameters: GLib.Variant): Call {
    const unpacked = () => parameters.recursiveUnpack();
    switch (method) {
      case 'Enable':
      case 'TryEnable': {
        checkCount(parameters.get_child_value(1));
        const [allowLan, tuples, seconds] = unpacked() as [boolean, EndpointTuple[], number?];
        const wanted = { allowLan, endpoints: valid(checkEndpoints(tuples)) };
        if (seconds === undefined)
          return { action: control.permissionFor(wanted), run: ({ granted }) => control.enable(wanted, granted) };
        valid(checkConfirmSeconds(seconds));
        return { action: control.permissionToTry(wanted, uid), run: caller => control.try(wanted, seconds, caller) };
      }
      case 'Disable':
        return { action: 'org.culvert.killswitch.disable', run: control.disable };
      case 'TryDisable': {
        const [seconds] = unpacked() as [number];
        valid(checkConfirmSeconds(seconds));
        return { action: control.permissionToTry(null, uid), run: caller => control.try(null, seconds, caller) };
      }
      case 'Confirm':
        return { action: control.permissionToDecide(uid), run: control.confirm };
      case 'Revert':
        return { action: control.permissionToDecide(uid), run: control.revert };
      case 'SetEndpoints': {
        checkCount(parameters.get_child_value(0));
        const [tuples] = unpacked() as [EndpointTuple[]];
        const endpoints = valid(checkEndpoints(tuples));
        const action = control.permissionForEndpoints(endpoints);
        return { action, run: ({ granted }) => control.setEndpoints(endpoints, granted) };
      }
      case 'Pause': {
        const seconds = valid(checkSeconds((unpacked() as [number])[0]));
        const action = seconds === 0 ? 'org.culvert.killswitch.enable' : 'org.culvert.killswitch.pause';
        return { action, run: () => control.pause(seconds) };
      }
      case 'SignIn': {
        const seconds = valid(checkSignInSeconds((unpacked() as [number])[0]));
        const action = seconds === 0 ? 'org.culvert.killswitch.enable' : 'org.culvert.killswitch.sign-in';
        return { action, run: () => window.signIn({ uid, seconds }) };
      }
      case 'DetectLogin':
        return { action: 'org.culvert.killswitch.detect-login', run: detection.detect };
      case 'KeepInTunnel':
        return {
          action: 'org.culvert.killswitch.tunnel-only',
          run: async ({ sender }) => programs.place({ uid, pid: await processOf(bus, sender) }),
        };
      case 'Blocked': {
        const [seconds] = unpacked() as [number];
        if (seconds < 1 || seconds > MAX_LEASE_SECONDS)
          throw new SwitchError('InvalidArgument', `A recording lasts 1 to ${MAX_LEASE_SECONDS} seconds.`);
        // a user sees what was blocked of that user, and root sees all
        return { action: null, run: ({ uid }) => recorder.read(uid, seconds) };
      }
      case 'LeadOutside':
        return {
          action: 'org.culvert.killswitch.outside',
          run: async ({ sender }) => outside.place({ uid, pid: await processOf(bus, sender) }),
        };
      default:
        return { action: null, run: control.check };
    }
  }

  const description = Gio.DBusNodeInfo.new_for_xml(XML).lookup_interface(BUS_NAME);
  const register = OWNS_INVOCATIONS ? bus.register_object : bus.register_object_with_closures2;
  register.call(
    bus,
    OBJECT_PATH,
    description!,
    // not by GJS's wrapper, which unpacks every argument before it calls anything
    (...[, , , , method, parameters, invocation]) => void answer(invocation, uid => prepare(uid, method, parameters)),
    null,
    null,
  );
  return {
    changed: (report: Report) =>
      bus.emit_signal(null, OBJECT_PATH, BUS_NAME, 'Changed', new GLib.Variant('(s)', [JSON.stringify(report)])),
  };
}

/** Before anything is unpacked. @throws SwitchError InvalidArgument */
function checkCount(endpoints: GLib.Variant): void {
  const count = endpoints.n_children();
  if (count > MAX_ENDPOINTS) throw new SwitchError('InvalidArgument', tooManyEndpoints(count));
}

function valid<T>(checked: T | string): T {
  if (typeof checked === 'string') throw new SwitchError('InvalidArgument', checked);
  return checked;
}
