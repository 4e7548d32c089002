// A small machine for the root service: its own network namespace, a private bus that plays the system's, and
// stand-ins for polkit and systemd. Everything ends with the test.
import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmdirSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { endpointWords } from '../../../daemon/killswitch/client/service-link.ts';
import { type Published, parsePublished } from '../../../daemon/killswitch/report.ts';
import { shippedEndpoints } from '../../../daemon/killswitch/rules/endpoints.ts';
import { TABLE } from '../../../daemon/killswitch/rules/rules.ts';
import { bundleGjs } from '../../../data/build/bundle.mjs';
import { builtOnce } from '../built.ts';
import { signal } from '../signal.ts';
import { removeTree } from '../temporary.ts';
import { until } from '../until.ts';

const root = resolve(import.meta.dirname, '../../..');
const run = promisify(execFile);

/** Why there can be no stage here, or false: the form of `node:test`'s `skip`. */
export const missing: string | false = (() => {
  if (process.getuid?.() !== 0) return 'needs root, for a network namespace';
  for (const program of ['nft', 'gjs', 'dbus-daemon', 'busctl', 'unshare', 'nsenter', 'setpriv', 'python3'])
    if (!which(program)) return `needs ${program}`;
  try {
    execFileSync('unshare', ['-n', 'nft', 'add', 'table', 'inet', 'probe'], { stdio: 'pipe' });
  } catch {
    return 'needs the right to make a network namespace with nftables in it';
  }
  return false;
})();

export function which(program: string): string | null {
  const places = `${process.env.PATH}:/usr/sbin:/sbin`.split(':').map(directory => join(directory, program));
  return places.find(existsSync) ?? null;
}

/** The service, bundled. */
export function bundled(): string {
  return join(
    builtOnce('killswitch', directory => bundleGjs(['killswitch'], directory)),
    'killswitch.js',
  );
}

/** Arguments of `Enable` as the daemon gives them: all shipped endpoints, and further ones as busctl takes them. */
export function shippedAnd(...further: string[][]): string[] {
  const [count, ...shipped] = endpointWords(shippedEndpoints());
  return ['ba(ssaq)', 'false', String(Number(count) + further.length), ...shipped, ...further.flat()];
}

/** The user that systemd makes up for the helper of a sign-in. */
export const SIGN_IN_USER = 61_999;

export interface Answer {
  ok: boolean;
  /** The state document, or the error's text. */
  text: string;
}

export type Stage = Awaited<ReturnType<typeof setStage>>;

/** A stage that ends with the test. */
export async function stageFor(
  t: { after(end: () => Promise<void>): void },
  ...options: Parameters<typeof setStage>
): Promise<Stage> {
  const stage = await setStage(...options);
  t.after(stage.end);
  return stage;
}

/** A test that has a stage. */
export function onStage(title: string, act: (stage: Stage, t: TestContext) => Promise<void>): void {
  test(title, { skip: missing }, async t => act(await stageFor(t), t));
}

/** The hierarchy of cgroups of version 2, also if version 1 is mounted too. */
export const CGROUPS = ['/sys/fs/cgroup/unified', '/sys/fs/cgroup'].find(path =>
  existsSync(join(path, 'cgroup.procs')),
);

/** Becomes a machine with its own cgroups: version 2 alone, as `$1` in the real hierarchy. It has no activation files either. */
const WITH_CGROUPS = `mkdir "$1" && echo $$ >"$1/cgroup.procs" && exec unshare -nmC -- sh -c '
  mount --make-rprivate / && mount -t sysfs none /sys && mount -t cgroup2 none /sys/fs/cgroup && mount -t tmpfs none /run &&
  mkdir -p /run/systemd/system && mount -t tmpfs none /usr/local/share && echo ready && exec sleep infinity'`;

/**
 * Sets the stage, with nothing started but the bus and its players.
 * @param polkit its stand-in, or the real one
 * @param nft program that changes and lists the table from outside the service
 * @param place what is its own: the network, or also cgroups, /run and /usr/local/share
 * @param broker path of dbus-broker-launch, which is the bus then
 */
export async function setStage(
  polkit: 'played' | 'real' = 'played',
  nft = 'nft',
  place: 'network' | 'cgroups' = 'network',
  broker?: string,
) {
  const directory = mkdtempSync(join(tmpdir(), 'culvert-killswitch-'));
  chmodSync(directory, 0o755);
  const path = (name: string) => join(directory, name);
  for (const name of ['state', 'run', 'units/sysinit.target.wants']) mkdirSync(path(name), { recursive: true });
  chmodSync(path('state'), 0o700);
  writeFileSync(path('units/sysinit.target.wants/culvert-killswitch-guard.service'), '');
  writeFileSync(path('allowed'), '');
  const children = new Set<ChildProcess>();
  const start = (argv: readonly string[], env: NodeJS.ProcessEnv = {}) => {
    const child = spawn(argv[0]!, argv.slice(1), {
      env: { PATH: `${process.env.PATH}:/usr/sbin:/sbin`, LANG: 'C', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    children.add(child);
    child.once('exit', () => children.delete(child));
    return child;
  };

  const cgroup = place === 'cgroups' ? join(CGROUPS ?? '/sys/fs/cgroup', basename(directory)) : null;
  const { holder, inside } = await openSpace(start, cgroup);
  const address = `unix:path=${path('bus')}`;
  writeFileSync(path('bus.conf'), busConfig(address));
  const bus = start(busCommand(path('bus'), path('bus.conf'), broker));
  await line(bus);
  const env = { DBUS_SYSTEM_BUS_ADDRESS: address };
  const script = (name: string, text: string) => writeFileSync(path(name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  if (cgroup) writeFileSync(path('cgroups'), cgroup);
  script('resume', `exec ${inside.join(' ')} ${nft} -f ${path('state')}/rules.nft`);
  mkdirSync(path('own'));
  chownSync(path('own'), SIGN_IN_USER, SIGN_IN_USER);
  const asHelper = `setpriv --reuid=${SIGN_IN_USER} --regid=${SIGN_IN_USER} --clear-groups`;
  copyFileSync(bundled(), path('killswitch.js')); // its directory is closed to other users
  const helper = `gjs -m ${path('killswitch.js')} --sign-in --own ${path('own')}`;
  script('sign-in', `exec ${inside.join(' ')} ${asHelper} ${helper} 2>>${path('helper.log')}`);
  const players = start(
    [
      '/usr/bin/python3',
      join(import.meta.dirname, 'system.py'),
      directory,
      ...(polkit === 'real' ? ['real-polkit'] : []),
    ],
    env,
  );
  await line(players);

  let service: ChildProcess | null = null;
  const isChild = (pid: number) => [...children].some(child => child.pid === pid);
  const stage = {
    directory,
    path,
    env,
    /** The cgroup that is the root of the stage's own; null without. */
    cgroup,
    inside,
    netns: `/proc/${holder.pid}/ns/net`,
    start,
    /** The command line of the service here. */
    command: (own = which('nft')!) => [
      ...inside,
      ...asUnit(),
      'gjs',
      '-m',
      bundled(),
      '--nft',
      own,
      ...placeOptions(path),
    ],
    /** Starts the service and waits until it answers on the bus. */
    async serve(own?: string): Promise<ChildProcess> {
      const child = start(stage.command(own), env);
      service = child;
      let errors = '';
      child.stderr?.on('data', data => (errors += data));
      await until(async () => {
        if (child.exitCode !== null) throw new Error(`the service ended: ${errors}`);
        // it publishes its state before it answers, and to read a file takes no process
        return stage.state()?.pid === child.pid && (await stage.call('Status')).ok;
      });
      return child;
    },
    /** `kill -9`, and waits until it is gone. */
    async kill(): Promise<void> {
      if (!service || service.exitCode !== null || service.signalCode) return;
      const gone = new Promise(done => service!.once('exit', done));
      service.kill('SIGKILL');
      await gone;
    },
    /** Calls the service as a user. */
    call: (method: string, args: readonly string[] = [], uid = 0) => callAs(uid, [method, ...args], env),
    /** Runs nft in the namespace. */
    async nft(...args: string[]): Promise<string> {
      return (await run(inside[0]!, [...inside.slice(1), nft, ...args])).stdout;
    },
    /** Removes every table while no service runs. A table with an owner stays until its owner, which was just killed, is gone. */
    async clear(): Promise<void> {
      await until(async () => {
        await stage.nft('flush', 'ruleset');
        return (await stage.table()) === null;
      }, 'the table to go');
    },
    /** The table's text without its flags: newer tables have an owner, and lose it when that dies. */
    async table(): Promise<string | null> {
      const text = await stage.nft('list', 'table', 'inet', TABLE).catch(() => null);
      return text?.replace(/^table inet \w+ \{.*$/m, `table inet ${TABLE} {`).replace(/^\tflags .*\n\n?/m, '') ?? null;
    },
    state(): Published | null {
      return existsSync(path('run/state.json')) ? parsePublished(readFileSync(path('run/state.json'), 'utf8')) : null;
    },
    allow(...actions: string[]) {
      writeFileSync(path('allowed'), actions.map(action => `org.culvert.killswitch.${action}\n`).join(''));
    },
    async end(): Promise<void> {
      // a killed service leaves its children behind, which systemd would end with the unit
      for (const pid of sharing(holder.pid!)) if (!isChild(pid)) signal(pid, 'SIGKILL');
      const all = [...children].map(child => new Promise(done => child.once('exit', done)));
      for (const child of children)
        try {
          process.kill(-child.pid!, 'SIGKILL');
        } catch {
          child.kill('SIGKILL');
        }
      await Promise.all(all);
      if (cgroup) removeCgroup(cgroup);
      removeTree(directory);
    },
  };
  return stage;
}

/** Words that start a program with the rights and the priority of the service's unit. */
function asUnit(): string[] {
  const unit = readFileSync(new URL('../../../data/killswitch/culvert-killswitch.service.in', import.meta.url), 'utf8');
  const [, capabilities = ''] = /^CapabilityBoundingSet=(.*)$/m.exec(unit) ?? [];
  const [, priority = ''] = /^Nice=(.*)$/m.exec(unit) ?? [];
  const bounds = capabilities.split(' ').map(name => `+${name.replace('CAP_', '').toLowerCase()}`);
  return ['nice', '-n', priority, 'setpriv', '--bounding-set', ['-all', ...bounds].join(',')];
}

/** Options of the service for what is the stage's own. */
function placeOptions(path: (name: string) => string): string[] {
  const places = { '--state': 'state', '--run': 'run', '--guard-links': 'units', '--warp-cli': 'warp-cli' };
  // no bus starts it again here, as a machine's would
  return [...Object.entries(places).flatMap(([option, name]) => [option, path(name)]), '--idle', '3600'];
}

/** A process in a new network, and the words that enter it. @param cgroup the root of its cgroups; null: those of all */
async function openSpace(start: (argv: readonly string[]) => ChildProcess, cgroup: string | null) {
  const holder = start(
    cgroup
      ? ['sh', '-c', WITH_CGROUPS, 'sh', cgroup]
      : ['unshare', '-n', '--', 'sh', '-c', 'echo ready; exec sleep infinity'],
  );
  await line(holder);
  const own = cgroup ? { net: 'net', mount: 'mnt', cgroup: 'cgroup' } : { net: 'net' };
  const entering = Object.entries(own).map(([option, file]) => `--${option}=/proc/${holder.pid}/ns/${file}`);
  return { holder, inside: ['nsenter', ...entering, '--'] };
}

/** Calls the service as a user. @param words the method and its arguments */
async function callAs(uid: number, words: readonly string[], env: NodeJS.ProcessEnv): Promise<Answer> {
  const busctl = ['busctl', '--system', '--json=short', '--timeout=20', '--auto-start=no', '--', 'call'];
  const target = ['org.culvert.KillSwitch1', '/org/culvert/KillSwitch1', 'org.culvert.KillSwitch1'];
  const as = uid === 0 ? [] : ['setpriv', `--reuid=${uid}`, `--regid=${uid}`, '--clear-groups'];
  const argv = [...as, ...busctl, ...target, ...words];
  try {
    const { stdout } = await run(argv[0]!, argv.slice(1), { env: { ...process.env, ...env } });
    return { ok: true, text: (JSON.parse(stdout) as { data: [string] }).data[0] };
  } catch (error) {
    return { ok: false, text: (error as { stderr: string }).stderr.trim() };
  }
}

/** Deepest first, once its processes have ended. */
export function removeCgroup(path: string): void {
  for (const entry of readdirSync(path, { withFileTypes: true }))
    if (entry.isDirectory()) removeCgroup(join(path, entry.name));
  try {
    writeFileSync(join(path, 'cgroup.kill'), '1');
  } catch {
    // the root of a hierarchy has no such file
  }
  for (let attempt = 0; existsSync(path) && attempt < 1000; attempt++)
    try {
      rmdirSync(path);
    } catch {
      // its last process has not ended yet
    }
}

/** The processes in the same network namespace. */
function sharing(pid: number): number[] {
  const namespace = (of: string) => {
    try {
      return readlinkSync(`/proc/${of}/ns/net`);
    } catch {
      return null;
    }
  };
  const own = namespace(String(pid));
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name) && own !== null && namespace(name) === own)
    .map(Number);
}

function line(child: ChildProcess): Promise<string> {
  return new Promise((done, fail) => {
    let errors = '';
    child.stderr?.on('data', data => (errors += data));
    child.stdout?.once('data', data => done(String(data)));
    child.once('exit', code => fail(new Error(`${child.spawnargs[0]} ended with ${code}: ${errors}`)));
  });
}

/** The program prints a line when it is ready. */
function busCommand(socket: string, config: string, broker: string | undefined): string[] {
  return broker === undefined
    ? ['dbus-daemon', '--nofork', '--print-address', `--config-file=${config}`]
    : ['unshare', '-m', 'python3', join(import.meta.dirname, 'broker.py'), socket, config, broker];
}

/** As the system's bus: nothing is allowed but what policies allow. */
function busConfig(address: string): string {
  const policy = readFileSync(join(root, 'data/killswitch/org.culvert.KillSwitch1.conf'), 'utf8');
  const [, rules = ''] = /<busconfig>\n(.*)<\/busconfig>/s.exec(policy) ?? [];
  return `<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>system</type>
  <listen>${address}</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow user="*"/>
    <deny own="*"/>
    <deny send_type="method_call"/>
    <allow send_type="signal"/>
    <allow send_requested_reply="true" send_type="method_return"/>
    <allow send_requested_reply="true" send_type="error"/>
    <allow receive_type="method_call"/>
    <allow receive_type="method_return"/>
    <allow receive_type="error"/>
    <allow receive_type="signal"/>
    <allow send_destination="org.freedesktop.DBus"/>
    <allow send_destination="org.freedesktop.PolicyKit1"/>
  </policy>
  <policy user="root">
    <allow own="org.freedesktop.PolicyKit1"/>
    <allow own="org.freedesktop.systemd1"/>
    <allow own="org.freedesktop.login1"/>
    <allow send_destination="org.freedesktop.login1"/>
    <allow send_destination="org.freedesktop.systemd1"/>
  </policy>
  <policy user="polkitd">
    <allow own="org.freedesktop.PolicyKit1"/>
  </policy>
${rules}</busconfig>
`;
}
