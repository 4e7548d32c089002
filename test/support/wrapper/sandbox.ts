// A temporary HOME with the wrapper's bundle, executable fakes on PATH, and ways to run them as a user would.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import type { TestContext } from 'node:test';
import { bundleProgram } from '../../../data/build/bundle.mjs';
import { catalogOf, providerOf } from '../../../wrapper/catalog/catalog.ts';
import { refreshPlans } from '../../../wrapper/manage/compile.ts';
import { trust } from '../../../wrapper/manage/directory.ts';
import { install } from '../../../wrapper/shims/install.ts';
import { uninstall } from '../../../wrapper/shims/uninstall.ts';
import { pathsFor } from '../../../wrapper/store/paths.ts';
import { builtOnce } from '../built.ts';
import { runInProcess } from '../in-process.ts';
import { removeTree } from '../temporary.ts';
import { PINS } from './release-keys.ts';

const STATE = '.local/state/culvert-wrap';

/** The words with which a shim starts the program. */
const START_OF_NODE = 'exec "$__cw_n" --v8-pool-size=0 -- "$__cw_b"';
/** A function of the shell in their place: stores the arguments and the environment of the program in two files. */
const handover = (file: string) =>
  `handover() { printf '%s\\0' "$@" >'${file}'; exec /usr/bin/env -0 >'${file}.env'; }\n`;

export interface Run {
  exit: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

export interface RunOptions {
  env?: Record<string, string | undefined>;
  input?: string | Buffer;
  cwd?: string;
}

/** The program as the project's build makes it: an entry and its chunks. */
export function buildWrapper(): string {
  const share = builtOnce('wrap', directory => {
    bundleProgram('wrap', directory, { __VERSION__: '"0.0.0-test"', __RELEASE_KEYS__: PINS });
  });
  return path.join(share, 'main.cjs');
}

/** The program with its launcher, as an installation has them. */
export function launcher(): string {
  const share = path.dirname(buildWrapper());
  const prefix = builtOnce('wrap-prefix', directory => {
    for (const each of ['bin', 'share/culvert']) fs.mkdirSync(path.join(directory, each), { recursive: true });
    fs.symlinkSync(share, path.join(directory, 'share/culvert/wrap'));
    const template = fs.readFileSync(new URL('../../../data/bin/node.in', import.meta.url), 'utf8');
    const text = template.replaceAll('@PROGRAM@', 'wrap').replaceAll('@NODE@', process.execPath);
    fs.writeFileSync(path.join(directory, 'bin/culvert-wrap'), text, { mode: 0o755 });
  });
  return path.join(prefix, 'bin/culvert-wrap');
}

/** The directory of compiled code that the first run of a wrapped command fills, which takes half of that run. */
function compiledCode(): string {
  const home = builtOnce('wrap-code', directory => {
    fs.mkdirSync(path.join(directory, STATE), { recursive: true, mode: 0o700 });
    const env = { HOME: directory, CULVERT_WRAP_SHIM: '1' };
    spawnSync(process.execPath, ['--v8-pool-size=0', buildWrapper(), 'shim', 'none', '/bin/true'], { env });
  });
  return path.join(home, STATE, 'code');
}

export interface Sandbox {
  home: string;
  /** On PATH, holds the fakes. */
  bin: string;
  state: string;
  config: string;
  env: Record<string, string>;
  /** Runs a program from `bin`, or by absolute path. */
  run(program: string, args?: readonly string[], options?: RunOptions): Promise<Run>;
  /**
   * Runs a wrapped command: its shim in a shell and the program in this process, whose start would take most of the time. For what the
   * program decides; `run` is for what pipes, signals, stdin and several commands at the same time do.
   */
  shim(program: string, args?: readonly string[], options?: RunOptions): Promise<Run>;
  /** Runs `culvert-wrap`, in this process where it starts no wrapped command. */
  wrap(args: readonly string[], options?: RunOptions): Promise<Run>;
  /** Runs `culvert-wrap … --json`, and parses what it prints. */
  json(...words: string[]): Promise<ReturnType<typeof JSON.parse>>;
  /** Runs what a shim runs for `CLI auth …`, in this process: a start takes ten times as long. */
  auth(cli: string, args: readonly string[], options?: RunOptions): Promise<Run>;
  start(program: string, args?: readonly string[], options?: RunOptions): ChildProcess;
  /** Puts an executable script on PATH. */
  script(name: string, text: string): string;
  /** Adds lines to the configuration. */
  configure(toml: string): void;
  /** Replaces the stored state of a CLI's accounts. @param state a text is stored as it is */
  remember(cli: string, state: object | string): void;
  /** Puts a trusted file into a directory that chooses accounts. */
  choose(directory: string, toml: string): void;
  /** Adds an entry to the user's catalog. */
  provider(name: string, toml: string): void;
  /** Leaves what `culvert-wrap install CLI` leaves, in this process: starting the program takes 30 times as long. */
  install(cli: string): void;
  /** The same for `culvert-wrap uninstall CLI`. */
  uninstall(cli: string): void;
  /** Installs a shim and adds accounts with `env:` free literal keys kept in files. */
  accounts(cli: string, keys: Record<string, string>, variable?: string): void;
}

/** The entries of the audit log, the oldest first. */
export function auditOf({ state }: Pick<Sandbox, 'state'>): ReturnType<typeof JSON.parse>[] {
  const lines = fs.readFileSync(path.join(state, 'audit.jsonl'), 'utf8').trim().split('\n');
  return lines.map(line => JSON.parse(line));
}

/** True for the commands of `culvert-wrap` that start a program, which prints where they do. */
const startsProgram = ([command = '', ...words]: readonly string[]) =>
  ['serve', 'mcp'].includes(command) ? words.includes('--') : command === 'queue' && words[0] === 'run';

/** A sandbox that is removed after the test. */
export function sandbox(t: Pick<TestContext, 'after'>): Sandbox {
  const base = fs.mkdtempSync(path.join(os.tmpdir(), 'culvert-wrap-test-'));
  const started: ChildProcess[] = [];
  t.after(() => {
    // a test that failed may have left some that wait
    for (const child of started) child.kill('SIGKILL');
    removeTree(base);
  });
  const home = path.join(base, 'home');
  const bin = path.join(base, 'bin');
  for (const dir of [home, bin]) fs.mkdirSync(dir);
  const env = { HOME: home, PATH: `${bin}:/usr/local/bin:/usr/bin:/bin`, LANG: 'C.UTF-8' };
  const config = path.join(home, '.config/culvert-wrap');
  /** CLIs that got accounts since a program ran. */
  const unplanned = new Set<string>();
  const start = (program: string, args: readonly string[] = [], options: RunOptions = {}) => {
    compilePlans();
    putCode();
    const own = Object.fromEntries(
      Object.entries({ ...env, ...options.env }).filter(([, value]) => value !== undefined),
    );
    const file = program.includes('/') ? program : path.join(bin, program);
    const child = spawn(file, args, { env: own as Record<string, string>, cwd: options.cwd ?? home, stdio: 'pipe' });
    child.stdin.on('error', () => {});
    started.push(child);
    return child;
  };
  const run: Sandbox['run'] = (program, args, options) => {
    const child = start(program, args, options);
    child.stdin?.end(options?.input ?? '');
    return finished(child);
  };
  const inProcess = async (args: readonly string[], { env = {}, cwd = home, input = '' }: RunOptions): Promise<Run> => {
    const given = Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined);
    const command = { env: Object.fromEntries(given), cwd: fs.realpathSync(cwd), input };
    const { code, signal = null, ...text } = await runInProcess(buildWrapper(), args, command);
    return { exit: code, signal, ...text };
  };
  let handovers = 0;
  const shim: Sandbox['shim'] = async (program, args = [], options = {}) => {
    const file = path.join(base, `handover${handovers++}`);
    const text = fs.readFileSync(path.join(bin, program), 'utf8').replaceAll(START_OF_NODE, 'handover');
    const shell = await run('/bin/sh', ['-c', handover(file) + text, program, ...args], options);
    if (!fs.existsSync(file)) return shell;
    const [words, variables] = [file, `${file}.env`].map(each =>
      fs.readFileSync(each, 'utf8').split('\0').slice(0, -1),
    );
    const env = Object.fromEntries(
      variables!.map(each => [each.slice(0, each.indexOf('=')), each.slice(each.indexOf('=') + 1)]),
    );
    // the pipes of the shim's here-documents ended with it
    const rest = await inProcess(words!, { env: { ...env, CULVERT_WRAP_SHIM: '1' }, cwd: options.cwd ?? home });
    return { ...rest, stdout: shell.stdout + rest.stdout, stderr: shell.stderr + rest.stderr };
  };
  const wrap: Sandbox['wrap'] = async (args, options = {}) => {
    if (startsProgram(args)) return run(process.execPath, [buildWrapper(), ...args], options);
    compilePlans();
    return inProcess(args, { ...options, env: { ...env, ...options.env } });
  };
  const auth: Sandbox['auth'] = (cli, args, options = {}) => {
    const own = { CULVERT_WRAP_SHIM: '1', CULVERT_WRAP_CONFIG_DIR: config, CULVERT_WRAP_STATE_DIR: box.state };
    const original = path.join(box.state, 'originals', cli);
    return wrap(['auth', cli, original, 'auth', ...args], { ...options, env: { ...own, ...options.env } });
  };
  const installing = (cli: string) => {
    const bundle = fs.realpathSync(buildWrapper());
    const sources = { paths: pathsFor(env), catalog: path.join(path.dirname(bundle), 'providers.toml') };
    const entry = providerOf(catalogOf(sources), cli);
    return { ...entry, sources, programs: { node: process.execPath, bundle } };
  };
  const putShim = (cli: string) => {
    const { bin, auth_command: authCommand, sources, programs } = installing(cli);
    install({ cli, bin, authCommand, paths: sources.paths, programs, search: env.PATH });
  };
  /** As the commands that change the configuration do: a first run that does so takes three times as long. */
  const compilePlans = () => {
    const clis = [...unplanned];
    unplanned.clear();
    try {
      for (const cli of clis) refreshPlans([cli], installing(cli).sources);
    } catch {
      // the program says what is wrong with the configuration
    }
  };
  const putCode = () => {
    const code = path.join(box.state, 'code');
    if (fs.existsSync(path.join(box.state, 'plans')) && !fs.existsSync(code))
      fs.cpSync(compiledCode(), code, { recursive: true });
  };
  const box: Sandbox = {
    home,
    bin,
    state: path.join(home, STATE),
    config,
    env,
    run,
    shim,
    wrap,
    auth,
    start,
    script: (name, text) => {
      const file = path.join(bin, name);
      fs.writeFileSync(file, text, { mode: 0o755 });
      return file;
    },
    json: async (...words) => JSON.parse((await wrap([...words, '--json'])).stdout),
    configure: toml => fs.appendFileSync(path.join(config, 'config.toml'), toml),
    remember: (cli, state) => {
      const file = path.join(home, STATE, 'accounts', `${cli}.json`);
      fs.mkdirSync(path.dirname(file), { recursive: true });
      fs.writeFileSync(file, typeof state === 'string' ? state : JSON.stringify(state));
    },
    choose: (directory, toml) => {
      const file = path.join(directory, '.culvert-wrap.toml');
      fs.mkdirSync(directory, { recursive: true });
      fs.writeFileSync(file, toml);
      trust(file, toml, pathsFor(env));
    },
    provider: (name, toml) => {
      fs.mkdirSync(config, { recursive: true, mode: 0o700 });
      fs.appendFileSync(path.join(config, 'providers.toml'), `[providers.${name}]\nbin = "${name}"\n${toml}\n`);
    },
    install: cli => {
      putShim(cli);
      refreshPlans([cli], installing(cli).sources);
    },
    uninstall: cli => {
      const { bin, sources } = installing(cli);
      uninstall(cli, bin, sources.paths, env.PATH);
    },
    accounts: (cli, keys, variable = 'FAKE_KEY') => {
      putShim(cli);
      unplanned.add(cli);
      fs.mkdirSync(config, { recursive: true, mode: 0o700 });
      const file = path.join(config, 'keys.env');
      for (const [name, key] of Object.entries(keys)) {
        fs.appendFileSync(file, `${cli}_${name}=${key}\n`, { mode: 0o600 });
        const block = `[[accounts]]\ncli = "${cli}"\nname = "${name}"\nenv = { ${variable} = "file:${file}#${cli}_${name}" }\n\n`;
        fs.appendFileSync(path.join(config, 'config.toml'), block, { mode: 0o600 });
      }
    },
  };
  return box;
}

/** Waits for a child and collects its output. */
export function finished(child: ChildProcess): Promise<Run> {
  const chunks = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
  child.stdout?.on('data', chunk => chunks.stdout.push(chunk));
  child.stderr?.on('data', chunk => chunks.stderr.push(chunk));
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (exit, signal) => {
      resolve({
        exit,
        signal,
        stdout: Buffer.concat(chunks.stdout).toString(),
        stderr: Buffer.concat(chunks.stderr).toString(),
      });
    });
  });
}
