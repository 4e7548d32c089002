// Answers calls on the system bus: checks arguments, asks polkit, and calls the services of the kill switch.
import Gio from 'gi://Gio?version=2.0';
import GLib from 'gi://GLib?version=2.0';
import type { OutsidePrograms } from '../outside.ts';
import { type Action, ALL_ACTIONS } from '../permission.ts';
import { MAX_LEASE_SECONDS, type Recorder } from '../recorder.ts';
import { BUS_NAME, OBJECT_PATH, type Report } from '../report.ts';
import type { Endpoint } from '../rules/endpoints.ts';
import {
  checkConfirmSeconds,
  checkEndpoints,
  checkSeconds,
  checkSignInSeconds,
  type EndpointTuple,
  MAX_ENDPOINTS,
  tooManyEndpoints,
  type Wanted,
} from '../rules/wanted.ts';
import type { SignInWindow } from '../sign-in/window.ts';
import type { Caller, Switch } from '../switch.ts';
import type { Programs } from '../tunnel-only.ts';
import { N_, SwitchError } from '../wording.ts';
import type { Gate } from './gate.ts';
import { mayCall, processOf } from './system-bus.ts';

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
  <method name="Blocked">
    <arg name="seconds" type="u" direction="in"/>
    <arg name="list" type="s" direction="out"/>
  </method>
  <method name="LeadOutside"><arg name="state" type="s" direction="out"/></method>
  <method name="Status"><arg name="state" type="s" direction="out"/></method>
  <signal name="Changed"><arg name="state" type="s"/></signal>
</interface></node>`;

/** Maximum number of pending requests to polkit per user. */
const MAX_PENDING = 4;

/**
 * GLib before 2.84 gives the callee a reference to each call, which GJS never releases: every call, with its arguments, would
 * stay in memory (g_dbus_connection_register_object_with_closures).
 */
const OWNS_INVOCATIONS = GLib.check_version(2, 84, 0) !== null;

interface Services {
  control: Switch;
  programs: Programs;
  outside: OutsidePrograms;
  window: SignInWindow;
  recorder: Recorder;
}

interface Call {
  /** Required permission; null if none is required. */
  action: Action | null;
  /** @param caller `pid` looks up the process that opened the connection. */
  run(caller: Caller & { pid(): Promise<number> }): Promise<object>;
}

/** Creates the call of each method, and unpacks its arguments after counting them. @throws SwitchError InvalidArgument */
const METHODS: Readonly<Record<string, (services: Services, parameters: GLib.Variant, uid: number) => Call>> = {
  Enable({ control }, parameters) {
    const wanted = wantedIn(parameters);
    return { action: control.permissions.toEnable(wanted), run: ({ granted }) => control.enable(wanted, granted) };
  },
  TryEnable({ control }, parameters, uid) {
    const wanted = wantedIn(parameters);
    return tryCall(control, wanted, numberIn(parameters, 2), uid);
  },
  Disable: ({ control }) => ({ action: 'org.culvert.killswitch.disable', run: control.disable }),
  TryDisable: ({ control }, parameters, uid) => tryCall(control, null, numberIn(parameters), uid),
  Confirm: ({ control }, _, uid) => ({ action: control.permissions.toDecide(uid), run: control.confirm }),
  Revert: ({ control }, _, uid) => ({ action: control.permissions.toDecide(uid), run: control.revert }),
  SetEndpoints({ control }, parameters) {
    const endpoints = endpointsIn(parameters, 0);
    const action = control.permissions.toSetEndpoints(endpoints);
    return { action, run: ({ granted }) => control.setEndpoints(endpoints, granted) };
  },
  Pause({ control }, parameters) {
    const seconds = valid(checkSeconds(numberIn(parameters)));
    const action = seconds === 0 ? 'org.culvert.killswitch.enable' : 'org.culvert.killswitch.pause';
    return { action, run: () => control.pause(seconds) };
  },
  SignIn({ window }, parameters, uid) {
    const seconds = valid(checkSignInSeconds(numberIn(parameters)));
    const action = seconds === 0 ? 'org.culvert.killswitch.enable' : 'org.culvert.killswitch.sign-in';
    return { action, run: () => window.signIn({ uid, seconds }) };
  },
  KeepInTunnel: ({ programs }) => ({
    action: 'org.culvert.killswitch.tunnel-only',
    run: async ({ uid, pid }) => programs.place({ uid, pid: await pid() }),
  }),
  LeadOutside: ({ outside }) => ({
    action: 'org.culvert.killswitch.outside',
    run: async ({ uid, pid }) => outside.place({ uid, pid: await pid() }),
  }),
  Blocked({ recorder }, parameters) {
    const seconds = numberIn(parameters);
    if (seconds < 1 || seconds > MAX_LEASE_SECONDS)
      throw new SwitchError('InvalidArgument', `A recording lasts 1 to ${MAX_LEASE_SECONDS} seconds.`);
    // users see only their own blocked traffic, and root sees all
    return { action: null, run: ({ uid }) => recorder.read(uid, seconds) };
  },
  Status: ({ control }) => ({ action: null, run: control.check }),
};

/**
 * Starts answering calls on the bus.
 * @param touched called at the start and end of each call, with the number of calls under way
 */
export function serve({ bus, userOf }: Gate, services: Services, touched: (underWay: number) => void) {
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
      const result = await run({ uid, granted, pid: () => processOf(bus, sender) });
      invocation.return_value(new GLib.Variant('(s)', [JSON.stringify(result)]));
    } catch (error) {
      const { code, message } = error instanceof SwitchError ? error : new SwitchError('Failed', String(error));
      // the code also leads the message: busctl prints only the message
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
    if (open >= MAX_PENDING)
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

  const description = Gio.DBusNodeInfo.new_for_xml(XML).lookup_interface(BUS_NAME);
  const register = OWNS_INVOCATIONS ? bus.register_object : bus.register_object_with_closures2;
  register.call(
    bus,
    OBJECT_PATH,
    description!,
    // GJS's wrapper would unpack every argument first
    (...[, , , , method, parameters, invocation]) =>
      void answer(invocation, uid => METHODS[method]!(services, parameters, uid)),
    null,
    null,
  );
  return {
    changed: (report: Report) =>
      bus.emit_signal(null, OBJECT_PATH, BUS_NAME, 'Changed', new GLib.Variant('(s)', [JSON.stringify(report)])),
  };
}

/** @param wanted null to turn the switch off. @throws SwitchError InvalidArgument */
function tryCall(control: Switch, wanted: Wanted | null, seconds: number, uid: number): Call {
  valid(checkConfirmSeconds(seconds));
  return { action: control.permissions.toTry(wanted, uid), run: caller => control.try(wanted, seconds, caller) };
}

function wantedIn(parameters: GLib.Variant): Wanted {
  const endpoints = endpointsIn(parameters, 1);
  return { allowLan: parameters.get_child_value(0).get_boolean(), endpoints };
}

/** Reads endpoints, and counts them before unpacking any. @throws SwitchError InvalidArgument */
function endpointsIn(parameters: GLib.Variant, index: number): Endpoint[] {
  const tuples = parameters.get_child_value(index);
  const count = tuples.n_children();
  if (count > MAX_ENDPOINTS) throw new SwitchError('InvalidArgument', tooManyEndpoints(count));
  return valid(checkEndpoints(tuples.recursiveUnpack() as EndpointTuple[]));
}

function numberIn(parameters: GLib.Variant, index = 0): number {
  return parameters.get_child_value(index).get_uint32();
}

function valid<T>(checked: T | string): T {
  if (typeof checked === 'string') throw new SwitchError('InvalidArgument', checked);
  return checked;
}
