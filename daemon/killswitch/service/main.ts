// Runs the root service in GJS. systemd or the system bus starts it, so none of its files are where a user can write.
import Gio from 'gi://Gio?version=2.0';
import GLib from 'gi://GLib?version=2.0';
import system from 'system';
import { createOutside, type OutsidePrograms } from '../outside.ts';
import { createAlarm } from '../pacing.ts';
import { createRecorder } from '../recorder.ts';
import { BUS_NAME, SIGN_IN_DIRECTORY, STATE_FILE } from '../report.ts';
import { shippedEndpoints } from '../rules/endpoints.ts';
import { OUTSIDE_TABLE, type OutsideRules, renderOutside } from '../rules/outside.ts';
import { ALLOWLIST } from '../rules/place.ts';
import { type RuleOptions, render, TABLE } from '../rules/rules.ts';
import { PROGRAMS_TABLE, type ProgramRules, renderPrograms } from '../rules/tunnel-only.ts';
import { createWindow } from '../sign-in/window.ts';
import { createSwitch, type Switch } from '../switch.ts';
import { createPrograms, type Programs } from '../tunnel-only.ts';
import { serve } from './bus.ts';
import { createFiles, createStateFile } from './files.ts';
import { openGate } from './gate.ts';
import { createKernel, createSession } from './nft.ts';
import { createOutsideEdges, type OutsidePaths } from './outside.ts';
import { createProgramEdges, programsIn } from './programs.ts';
import { runHelper } from './sign-in/helper.ts';
import { createHelperLink } from './sign-in/helper-link.ts';
import { createTimer } from './system-bus.ts';
import { createUplink } from './uplink.ts';

const SIGTERM = 15;
const FALLBACK = { allowLan: false, endpoints: shippedEndpoints() };

const [mode = ''] = system.programArgs;
const isHelper = mode === '--sign-in';
const options = parse(isHelper ? [] : system.programArgs, {
  '--state': '/var/lib/culvert-killswitch',
  '--run': '/run/culvert-killswitch',
  '--nft': '/usr/sbin/nft',
  '--cgroups': '/sys/fs/cgroup',
  '--ip': '/usr/sbin/ip',
  '--warp-cli': '/usr/bin/warp-cli',
  '--outside-programs': ALLOWLIST,
  /** Seconds without calls after which the service exits while the kill switch is off. */
  '--idle': '30',
  '--guard-links': '/etc/systemd/system:/usr/local/lib/systemd/system:/usr/lib/systemd/system:/lib/systemd/system',
});
if (mode === '--fallback') print(render(FALLBACK).trimEnd());
else {
  const loop = new GLib.MainLoop(null, false);
  const started = isHelper
    ? runHelper(parse(system.programArgs.slice(1), { '--own': SIGN_IN_DIRECTORY })['--own'], () => loop.quit())
    : startService(loop);
  started.catch(error => {
    printerr(`culvert-killswitch: ${error}`);
    system.exit(1);
  });
  loop.run();
}

async function startService(loop: GLib.MainLoop): Promise<void> {
  const gate = await openGate(why => {
    printerr(`culvert-killswitch: the connection to the system bus has ended: ${why}`);
    system.exit(1); // the rules stay, and systemd starts it again
  });
  const { bus } = gate;
  const files = createFiles(options['--state']);
  const report = (trouble: string) => printerr(`culvert-killswitch: ${trouble}`);
  const state = createStateFile(GLib.build_filenamev([options['--run'], STATE_FILE]), report);
  const recorder = createRecorder({
    nft: createSession(options['--nft'], () => {}),
    programsIn: cgroup => programsIn(options['--cgroups'], cgroup),
    now: Date.now,
    report,
  });
  const kernel = createKernel<RuleOptions>(options['--nft'], { name: TABLE, render }, () => void control.check());
  const window = createWindow(
    {
      ...createUplink(bus),
      ...createHelperLink(bus, options['--run']),
      fill: kernel.fill,
      isBlocking: () => control.isBlocking(),
      now: uptime,
      alarm: createAlarm(),
      report,
    },
    () => void control.check(),
  );
  const control = createSwitch({
    kernel: recorder.followSwitch(kernel),
    files,
    clock: {
      bootId: readProc('/proc/sys/kernel/random/boot_id').trim(),
      uptime,
      now: Date.now,
    },
    alarm: createAlarm(),
    ...createTimer(bus),
    bootGuard: () =>
      GLib.file_test(options['--nft'], GLib.FileTest.IS_EXECUTABLE) && guarded(options['--guard-links'].split(':')),
    isSigningIn: window.isOpen,
    publish(report) {
      if (state.publish(report)) server.changed(report);
    },
    fallback: FALLBACK,
  });
  const programEdges = createProgramEdges(bus, options['--cgroups']);
  const programs = createPrograms({
    ...programEdges,
    kernel: recorder.followPrograms(
      createKernel<ProgramRules>(
        options['--nft'],
        { name: PROGRAMS_TABLE, render: renderPrograms },
        () => void programs.check(),
      ),
    ),
    report,
  });
  const outside = createOutside({
    ...createOutsideEdges(bus, outsidePaths(), {
      ...programEdges,
      changed: () => void outside.check(),
    }),
    kernel: createKernel<OutsideRules>(
      options['--nft'],
      { name: OUTSIDE_TABLE, render: renderOutside },
      () => void outside.check(),
    ),
    isGuarded: () => !control.idle(),
    isBlocking: () => control.isBlocking(),
    fill: kernel.fill,
    switchOn: async () => (await control.check()).enabled || !control.idle(),
    report,
  });
  /** Leaves the rules in place, and marks the published state as no longer measured. */
  const end = () => {
    state.end(control.idle());
    void recorder.end().then(() => loop.quit());
  };
  const exitWhenIdle = createExit({ control, programs, outside }, end);
  const server = serve(gate, { control, programs, outside, window, recorder }, exitWhenIdle);
  onSleep(bus, () => {
    void window.close('sleep');
    void control.check();
  });
  await onTermination(() => void window.close('service').then(end));

  await control.start(); // before the name, so that the first caller finds the rules in force
  await programs.start();
  void recorder.start();
  await outside.start();
  Gio.bus_own_name_on_connection(bus, BUS_NAME, Gio.BusNameOwnerFlags.NONE, null, () => {
    printerr(`culvert-killswitch: ${BUS_NAME} belongs to another process`);
    system.exit(1);
  });
  exitWhenIdle(0);
}

/**
 * Ends the service once there is nothing to guard and no call has come for a while.
 * @returns a function to call at the start and end of each call, with the number of calls under way
 */
function createExit(
  { control, programs, outside }: { control: Switch; programs: Programs; outside: OutsidePrograms },
  end: () => void,
): (underWay: number) => void {
  const alarm = createAlarm();
  let calls = 0;
  const exitWhenIdle = (underWay: number) => {
    calls = underWay;
    alarm(underWay > 0 ? null : Number(options['--idle']), leave);
  };
  const leave = () =>
    void Promise.all([programs.check(), outside.check()]).then(() => {
      if (calls > 0) return;
      if (!programs.idle() || !outside.idle()) exitWhenIdle(0);
      else if (control.idle()) end();
    });
  return exitWhenIdle;
}

/** Subscribes to sleep: timers stop in a suspended machine, and a pause does not. @param slept called before and after sleep */
function onSleep(bus: Gio.DBusConnection, slept: () => void): void {
  bus.signal_subscribe(
    'org.freedesktop.login1',
    'org.freedesktop.login1.Manager',
    'PrepareForSleep',
    '/org/freedesktop/login1',
    null,
    Gio.DBusSignalFlags.NONE,
    slept,
  );
}

/** Calls `ended` on SIGTERM. GLib 2.80 moved signals into a separate library, which older systems lack. */
async function onTermination(ended: () => void): Promise<void> {
  const unix = await import('gi://GLibUnix?version=2.0' as string).catch(() => null);
  const add: typeof GLib.unix_signal_add = unix?.default.signal_add_full ?? GLib.unix_signal_add;
  add(GLib.PRIORITY_HIGH, SIGTERM, () => {
    ended();
    return GLib.SOURCE_REMOVE;
  });
}

function outsidePaths(): OutsidePaths {
  return {
    ip: options['--ip'],
    warpCli: options['--warp-cli'],
    run: options['--run'],
    allowlist: options['--outside-programs'],
  };
}

/** True while the boot guard's unit is enabled and not masked. */
function guarded(directories: readonly string[]): boolean {
  const exists = (path: string) => GLib.file_test(path, GLib.FileTest.EXISTS);
  const masked = directories.some(directory => {
    const unit = `${directory}/culvert-killswitch-guard.service`;
    return GLib.file_test(unit, GLib.FileTest.IS_SYMLINK) && GLib.file_read_link(unit) === '/dev/null';
  });
  const wanted = directories.some(directory =>
    exists(`${directory}/sysinit.target.wants/culvert-killswitch-guard.service`),
  );
  return wanted && !masked;
}

/** Seconds since boot, suspend included. */
function uptime(): number {
  return Number(readProc('/proc/uptime').split(' ')[0]);
}

function readProc(path: string): string {
  const [, bytes] = GLib.file_get_contents(path);
  return new TextDecoder().decode(bytes);
}

function parse<T extends Record<string, string>>(argv: readonly string[], defaults: T): T {
  const given: Record<string, string> = { ...defaults };
  for (let i = 0; i + 1 < argv.length; i += 2) {
    if (!Object.hasOwn(defaults, argv[i]!)) throw new Error(`unknown option ${argv[i]}`);
    given[argv[i]!] = argv[i + 1]!;
  }
  return given as T;
}
