// Kept programs that mean to leave their place, other users that try its calls, and hierarchies of cgroups in which there is no place.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { test } from 'node:test';
import { cgroupOf } from '../../../../daemon/killswitch/rules/place.ts';
import { line } from '../../../support/killswitch/loops.ts';
import {
  ASK_UDP,
  ask,
  DAEMON,
  FAMILIES,
  FAR,
  finish,
  machineFor,
  UPLINK,
} from '../../../support/killswitch/programs.ts';
import { missing } from '../../../support/killswitch/stage.ts';
import { FULL } from '../../../support/thoroughness.ts';

const skip = missing || (!FULL && 'only with --full');
/** A hierarchy of version 1 that is mounted already: a namespace of cgroups can't make one. */
const VERSION_1 = ['freezer', 'name=systemd'].find(name =>
  readFileSync('/proc/self/mountinfo', 'utf8').includes(` - cgroup cgroup rw,${name}`),
);

const machine = machineFor(skip, async each => {
  each.allow('tunnel-only', 'outside');
  await each.serve();
});

const python = (text: string) => ['/usr/bin/python3', '-c', text];

/** Tries to move to each parent cgroup, and to a cgroup that it makes; then sends. */
const MOVE = `
import os, socket
place = "/sys/fs/cgroup" + [line[3:].strip() for line in open("/proc/self/cgroup") if line.startswith("0::")][0]
refused = []
def attempt(act, *what):
    try: act(*what)
    except OSError as error: refused.append(type(error).__name__)
def move(to):
    with open(to + "/cgroup.procs", "w") as file: file.write(str(os.getpid()))
attempt(os.mkdir, place + "/own")
while place.startswith("/sys/fs/cgroup"):
    attempt(move, place)
    place = os.path.dirname(place)
print(len(refused), set(refused) or "")
try:
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("${FAR.address}", ${FAR.port}))
    print("sent")
except OSError as error: print(type(error).__name__)`;

test('a user can’t move a program out of its place by the files of cgroups, nor from the program’s own namespaces', {
  skip,
}, async () => {
  // the control: root can
  const { uplink } = await machine.seen();
  const control = await machine.run(machine.kept(...python(MOVE)), { uid: 0 });
  assert.match(control.out, /\nsent\n$/);
  const before = await machine.seen();
  assert.ok(before.uplink > uplink, 'the control');
  // its scope, the slices of its programs, its user and all users, and the root; and its own cgroup
  const all = "6 {'PermissionError'}\nPermissionError\n";
  assert.equal((await machine.run(machine.kept(...python(MOVE)))).out, all);
  assert.equal((await machine.run(machine.kept('unshare', '--user', '--map-root-user', ...python(MOVE)))).out, all);
  assert.deepEqual(await machine.seen(), before);
});

test('a socket that is handed in gets out, and so does a process outside that does its work, as culvert-run(1) says', {
  skip,
}, async () => {
  const helper = `
import array, os, socket, subprocess
server = socket.socket(socket.AF_UNIX)
server.bind("${machine.path('own')}/helper")
server.listen()
os.chmod("${machine.path('own')}/helper", 0o666)
print("ready", flush=True)
c, _ = server.accept()
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
c.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [s.fileno()]))])
c.send(subprocess.check_output(eval(c.recv(9999))))`;
  const outside = machine.start(python(helper), { uid: 0 });
  await line(outside);
  const ended = finish(outside);
  const program = python(`
import array, socket
c = socket.socket(socket.AF_UNIX)
c.connect("${machine.path('own')}/helper")
_, ((_, _, data),), _, _ = c.recvmsg(1, socket.CMSG_SPACE(4))
s = socket.socket(fileno=array.array("i", data)[0])
s.settimeout(5)
s.sendto(b"x", ("${FAR.address}", ${FAR.port}))
print(s.recv(100).decode())
c.send(b'''${JSON.stringify(ASK_UDP).replaceAll('\\', '\\\\')}''')
print(c.recv(100).decode().strip())`);
  const { out, err } = await machine.run(machine.kept(...program));
  assert.equal(out, `${UPLINK}\n${UPLINK}\n`, err);
  await ended;
});

test('a program enters the network of a program outside, as culvert-run(1) says', { skip }, async () => {
  assert.equal((await machine.run(machine.kept(...ASK_UDP))).out, 'PermissionError\n', 'the control');
  const outside = machine.start(machine.outside('sh', '-c', 'echo ready; exec sleep infinity'));
  await line(outside);
  const enter = ['nsenter', `--target=${outside.pid}`, '--user', '--net', '--preserve-credentials', '--'];
  const { out, err } = await machine.run(machine.kept(...enter, ...ASK_UDP));
  assert.equal(out, `${UPLINK}\n`, err);
  // another user can't
  assert.match((await machine.run([...enter, ...ASK_UDP], { uid: 2 })).err, /Permission denied|not permitted/);
  outside.kill();
  await finish(outside);
});

/** Asks the service from the third of three processes, of one user each. Prints what it said, and the cgroups of the others. */
const FAMILY = (uids: readonly number[], method: string) => `
import os
ready, go = os.pipe()
def drop(uid):
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    os.write(go, b"x")
if os.fork():
    drop(${uids[0]})
    os.wait()
elif os.fork():
    drop(${uids[1]})
    os.wait()
    for pid in (os.getpid(), os.getppid()): print(open(f"/proc/{pid}/cgroup").read(), flush=True)
else:
    for _ in "12": os.read(ready, 1)
    drop(${uids[2]})
    os.dup2(1, 2)
    words = "busctl call org.culvert.KillSwitch1 /org/culvert/KillSwitch1 org.culvert.KillSwitch1 ${method}".split()
    os.execvp(words[0], words)`;

/** A command whose process has the command line of `culvert run`. @param text the shell script that it runs */
function asCulvertRun(text: string): string[] {
  mkdirSync(machine.path('asks'), { recursive: true });
  const script = machine.path('asks/culvert');
  writeFileSync(script, text);
  return ['/bin/sh', script, 'run'];
}
/** The same command line, of a process that runs Python. */
const asPython = (words: string[]) => python(`import os; os.execv("/usr/bin/python3", ${JSON.stringify(words)})`);
/** Shells that a program runs in, which asks the service. Each then prints its cgroup, and uses the network. */
const SHELLS: Record<string, (...script: string[]) => string[]> = {
  'that runs another command': (...script) => ['sh', '-c', ...script],
  'that culvert run started': (...script) => [...asCulvertRun('shift; "$@"'), 'sh', '-c', ...script],
  'whose script names culvert run': (text, ...words) => ['sh', '-c', `: culvert run; ${text}`, ...words],
};
const CALL_AND_GO_ON = `/usr/bin/python3 -c '
import subprocess, sys
call = "busctl call org.culvert.KillSwitch1 /org/culvert/KillSwitch1 org.culvert.KillSwitch1".split()
sys.exit(subprocess.run([*call, sys.argv[1]], stderr=1).returncode)' "$1"; cat /proc/$$/cgroup; shift; "$@"`;

for (const method of ['KeepInTunnel', 'LeadOutside'])
  for (const [which, shell] of Object.entries(SHELLS))
    test(`a call of ${method} takes no shell along ${which}`, { skip }, async () => {
      const { out, err } = await machine.run(shell(CALL_AND_GO_ON, 'sh', method, ...ask('DGRAM')));
      assert.match(out, /Refused: Only culvert run can ask for this/, err);
      assert.doesNotMatch(out, /culvert\.slice/);
      assert.match(out, new RegExp(`^${UPLINK}$`, 'm'));
    });

test('a user’s call concerns no process of another user', { skip }, async () => {
  const OTHER = 2;
  const ask = (method: string, ...uids: number[]) =>
    machine.run(asPython(asCulvertRun(FAMILY(uids, method))), { uid: 0 });
  assert.equal((await ask('KeepInTunnel', OTHER, OTHER, OTHER)).out.match(/user-2-culvert\.slice/g)?.length, 2);
  for (const method of ['KeepInTunnel', 'LeadOutside'])
    for (const uids of [
      [DAEMON, OTHER, OTHER],
      [OTHER, DAEMON, OTHER],
    ]) {
      const { out, err } = await ask(method, ...uids);
      assert.match(out, /Only a process of your own can/, `${method} ${uids}: ${err}`);
      assert.doesNotMatch(out, /culvert\.slice/);
    }
});

for (const net of FAMILIES)
  test(`in a hierarchy of version 1 there is no place: rules don’t know it, and a start is refused (${net.name})`, {
    skip: skip || (VERSION_1 ? false : 'needs a hierarchy of version 1'),
  }, async () => {
    const other = machine.start(machine.kept('sh', '-c', 'echo ready; exec sleep infinity'));
    await line(other);
    const at = machine.path('v1');
    await machine.script(`mkdir -p ${at} && mount -t cgroup -o ${VERSION_1!} none ${at}`);
    // the control: in a cgroup of the same name, by hand
    const own = `${at}/${basename(machine.directory)}`;
    const place = `${own}/${cgroupOf(DAEMON)}`;
    const byHand = ['sh', '-c', `mkdir -p ${place} && echo $$ >${place}/cgroup.procs && exec "$@"`, 'sh'];
    assert.match(await machine.nft('list', 'table', 'inet', 'culvert_programs'), /user-1-culvert\.slice/);
    assert.equal((await machine.run([...byHand, ...ask('DGRAM', net)], { uid: 0 })).out, `${net.uplink}\n`);
    await machine.script(`cd ${own} && rmdir -p ${cgroupOf(DAEMON)} && rmdir ${own}`);

    const before = await machine.seen();
    for (const mount of [
      `mount --bind ${at} /sys/fs/cgroup`,
      // hybrid: systemd has version 2 below, without its limits
      'mount -t tmpfs none /sys/fs/cgroup && mkdir /sys/fs/cgroup/unified && mount -t cgroup2 none /sys/fs/cgroup/unified',
    ]) {
      await machine.script(mount);
      const { code, out, err } = await machine.run(machine.kept(...ask('DGRAM', net)));
      await machine.script('umount -R /sys/fs/cgroup');
      assert.deepEqual([code, out], [1, '']);
      assert.match(err, /needs version 2 of control groups; this system uses version 1/);
    }
    assert.deepEqual(await machine.seen(), before);
    await machine.script(`umount ${at}`);
    other.kill();
    await finish(other);
  });
