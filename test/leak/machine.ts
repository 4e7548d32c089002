// Machines for the leak test. One process holds the network and the /run of each, and both end with it.
// Nothing has a name outside, so that runs side by side don't meet; whatever ends this process ends them all.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';

/** Debian's directories: nft and the like are in sbin, and no version manager's shim is wanted for python3. */
export const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

interface Finished {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

/** A program under way that says `ready` on stdout before anything else. */
export interface Program {
  child: ChildProcess;
  /** The next line of its stdout, within ten seconds. */
  line(): Promise<string>;
  ended: Promise<Finished>;
  /** Closes its stdin, and kills what has not ended in five seconds. */
  end(): Promise<Finished>;
}

export interface Machine {
  /** Process that holds its namespaces: `ip link … netns PID`. */
  pid: number;
  /** @throws Error with the program's stderr unless it exits with 0. */
  run(command: readonly string[], input?: string): Promise<string>;
  /** As `run`, whatever the exit code. */
  attempt(command: readonly string[], input?: string): Promise<Finished>;
  /** Commands of `ip`, without its name; those that begin with `-6 ` come last. */
  ip(...commands: string[]): Promise<void>;
  /** @param program the nft that takes the rules; the system's unless given */
  nft(rules: string, program?: string): Promise<void>;
  start(command: readonly string[], options?: { env?: Record<string, string> }): Program;
  /** Starts a program of fixtures/ and waits until it is ready. */
  fixture(name: string, words?: readonly string[], input?: string): Promise<Program>;
}

export interface Ground {
  /** Files of this run. */
  directory: string;
  /** @param setting sysctls, without their `net.` */
  machine(setting?: Record<string, string | number>): Promise<Machine>;
  /** Runs at the end, last given first. */
  defer(end: () => unknown): void;
  close(): Promise<void>;
}

export function createGround(): Ground {
  const directory = mkdtempSync(join(tmpdir(), 'culvert-leak-'));
  const remove = () => rmSync(directory, { recursive: true, force: true });
  process.once('exit', remove);
  const ends: (() => unknown)[] = [];
  const running = new Set<Program>();
  return {
    directory,
    defer: end => ends.push(end),
    async machine(setting = {}) {
      const holder = spawn('unshare', ['--net', '--mount', 'sh', '-euc', HOLD], {
        stdio: ['pipe', 'pipe', 'pipe'],
        env: { PATH },
      });
      const failed = text(holder.stderr!);
      const said = await Promise.race([once(holder.stdout!, 'data'), once(holder, 'exit')]);
      if (String(said[0]) !== 'ready\n') throw new Error(`no namespaces: ${failed()}`);
      ends.push(async () => {
        const gone = once(holder, 'exit');
        holder.stdin!.end();
        await gone;
      });
      const machine = inside(holder.pid!, running);
      const settings = Object.entries(setting).map(([key, value]) => `net.${key}=${value}`);
      await machine.run(['sysctl', '-qw', ...settings, 'net.ipv6.conf.default.accept_dad=0']);
      return machine;
    },
    async close() {
      for (const { child } of running) child.kill('SIGKILL');
      await Promise.all([...running].map(({ ended }) => ended));
      for (const end of ends.splice(0).reverse()) await end();
      process.off('exit', remove);
      remove();
    },
  };
}

/** A boot and a shutdown take the longest. */
const LONGEST_COMMAND_MS = 150_000;
/**
 * /run is where wireguard-go, D-Bus and the kill switch's service leave sockets and state. The holder's stdin is a pipe
 * from this process: when that ends, in whatever way, everything ends that runs in the machine, orphans included.
 */
const HOLD = `
mount -t tmpfs -o mode=755 run /run
mkdir -m 700 /run/wireguard
ip link set lo up
trap '' INT TERM HUP
echo ready
cat >/dev/null
for process in /proc/[0-9]*; do
  if [ $process/ns/net -ef /proc/$$/ns/net ] && [ $process != /proc/$$ ]; then kill -KILL \${process#/proc/} || :; fi
done 2>/dev/null
`;
const FIXTURES = resolve(import.meta.dirname, 'fixtures');

function inside(pid: number, running: Set<Program>): Machine {
  const enter = (command: readonly string[]) =>
    // nsenter becomes the command: its pid is the command's own, and no signal goes astray; without --root and --wd it leaves a chroot
    ['-t', String(pid), '--net', '--mount', '--root', '--wd', 'setpriv', '--pdeathsig', 'KILL', '--', ...command];
  const start: Machine['start'] = (command, { env } = {}) => {
    const all = { PATH, LANG: 'C.UTF-8', ...env };
    const started = program(spawn('nsenter', enter(command), { stdio: ['pipe', 'pipe', 'pipe'], env: all }));
    running.add(started);
    void started.ended.then(() => running.delete(started));
    return started;
  };
  const attempt: Machine['attempt'] = async (command, input = '') => {
    const { child, ended } = start(command);
    child.stdin!.on('error', () => {}).end(input);
    const late = setTimeout(() => child.kill('SIGKILL'), LONGEST_COMMAND_MS);
    return ended.finally(() => clearTimeout(late));
  };
  const run: Machine['run'] = async (command, input) => {
    const { code, signal, stdout, stderr } = await attempt(command, input);
    if (code !== 0) throw new Error(`${command.join(' ')}: ${signal ?? code}: ${stderr.trim()}`);
    return stdout;
  };
  return {
    pid,
    run,
    attempt,
    start,
    async ip(...commands) {
      const [ipv6, others] = [true, false].map(wanted => commands.filter(word => word.startsWith('-6 ') === wanted));
      if (others!.length) await run(['ip', '-batch', '-'], others!.join('\n'));
      if (ipv6!.length) await run(['ip', '-6', '-batch', '-'], ipv6!.map(word => word.slice(3)).join('\n'));
    },
    nft: async (rules, program = 'nft') => void (await run([program, '-f', '-'], rules)),
    async fixture(name, words = [], input = '') {
      const started = start(['python3', '-I', join(FIXTURES, name), ...words]);
      started.child.stdin!.on('error', () => {}).write(input);
      const said = await started.line().catch(async () => (await started.end()).stderr);
      if (said !== 'ready') throw new Error(`${name}: ${said}`);
      return started;
    },
  };
}

function program(child: ChildProcess): Program {
  const [stdout, stderr] = [text(child.stdout!), text(child.stderr!)];
  const heard: string[] = [];
  let wake = () => {};
  createInterface({ input: child.stdout! }).on('line', line => {
    heard.push(line);
    wake();
  });
  const ended = once(child, 'close').then(([code, signal]) => ({ code, signal, stdout: stdout(), stderr: stderr() }));
  return {
    child,
    ended,
    async line() {
      const said = new Promise<void>(done => (wake = done));
      const late = new AbortController();
      if (!heard.length)
        await Promise.race([said, ended, delay(10_000, undefined, { signal: late.signal })]).finally(() =>
          late.abort(),
        );
      const line = heard.shift();
      if (line === undefined) throw new Error(`said nothing: ${stderr().trim()}`);
      return line;
    },
    async end() {
      child.stdin!.on('error', () => {}).end();
      const late = setTimeout(() => child.kill('SIGKILL'), 5_000);
      const finished = await ended;
      clearTimeout(late);
      return finished;
    },
  };
}

function text(stream: NodeJS.ReadableStream): () => string {
  let all = '';
  stream.setEncoding('utf8').on('data', (piece: string) => (all = (all + piece).slice(-1_000_000)));
  return () => all;
}
