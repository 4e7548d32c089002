// Hosts the proxy in a separate process, which ends when the connection ends, the state file is gone, or its owner exits.
import { spawn } from 'node:child_process';
import { existsSync, watch } from 'node:fs';
import { basename, dirname } from 'node:path';
import { isAlive, startTime } from '../core/process.ts';
import { type Setting, view } from './command.ts';
import { effectiveMode, statusAt } from './connection.ts';
import type { Faults } from './faults.ts';
import { createProxy } from './proxy.ts';
import { serviceProblem } from './service.ts';
import { load, type State, update } from './state.ts';

/** Interval of the checks that the owner still runs: the kernel notifies a parent of its child's end, but not the reverse. */
const LOOK_MS = 500;

/**
 * Starts the hosting process if the state calls for a proxy and no such process runs. Its owner is the parent of this
 * command: the daemon, or a shell.
 */
export function ensureProxyHost({ file, faultsFor }: Setting): void {
  const state = load(file);
  if (wish(state, faultsFor(state), file) === null) return;
  const owner = identity(process.ppid);
  if (lives(state.proxyHost?.process) && lives(state.proxyHost?.owner)) return;
  const hosted = update(file, fresh => {
    if (!lives(fresh.proxyHost?.process)) return false;
    if (fresh.proxyHost && !lives(fresh.proxyHost.owner)) fresh.proxyHost.owner = owner;
    return true;
  });
  if (hosted) return;
  const args = [...process.execArgv, process.argv[1]!, '--host-proxy', owner];
  spawn(process.execPath, args, { detached: true, stdio: 'ignore', cwd: '/' }).unref();
}

/** Runs as the hosting process until it is no longer needed. */
export function hostProxy(setting: Setting, owner: string): void {
  const { file, generationFor, faultsFor } = setting;
  const me = identity(process.pid);
  let open: { form: string; close(): void } | null = null;
  let timer: NodeJS.Timeout | undefined;
  let opening = false;

  const claimed =
    existsSync(file) &&
    update(file, state => {
      if (lives(state.proxyHost?.process)) return false;
      state.proxyHost = { process: me, owner };
      return true;
    });
  if (!claimed) process.exit(0);

  const watcher = watch(dirname(file), (_, name) => {
    if (name === basename(file)) look();
  });
  watcher.on('error', end);
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, end);
  setInterval(look, LOOK_MS);
  look();

  function look(): void {
    clearTimeout(timer);
    if (!existsSync(file)) process.exit(0);
    const state = load(file);
    if (state.proxyHost?.process !== me) process.exit(0);
    const port = lives(state.proxyHost.owner) ? wish(state, faultsFor(state), file) : null;
    if (port === null) end();
    else if (typeof port === 'object') {
      shut();
      timer = setTimeout(look, Math.max(port.at - Date.now(), 1));
    } else {
      const deaf = faultsFor(state).has('proxy-deaf') !== null;
      const form = JSON.stringify([port, deaf, state.proxyFrom]);
      if (open?.form === form || opening) return;
      shut();
      listen(port, form, createProxy({ generation: generationFor(state), from: state.proxyFrom, deaf }));
    }
  }

  function listen(port: number, form: string, { server, closeAllSockets }: ReturnType<typeof createProxy>): void {
    opening = true;
    server.once('error', () => {
      opening = false;
      refused(port); // the next look tries again
    });
    server.listen(port, '127.0.0.1', () => {
      opening = false;
      open = {
        form,
        close() {
          server.close();
          closeAllSockets();
        },
      };
      refused(null);
      look();
    });
  }

  function refused(port: number | null): void {
    if (!existsSync(file)) return;
    update(file, state => {
      state.proxyRefused = port;
    });
  }

  function shut(): void {
    open?.close();
    open = null;
  }

  function end(): void {
    shut();
    if (existsSync(file)) {
      // Under the lock, so that a later command sees that no process hosts a proxy.
      update(file, state => {
        if (state.proxyHost?.process === me) Object.assign(state, { proxyHost: null, proxyRefused: null });
      });
    }
    process.exit(0);
  }
}

/** The port to listen on, the time of the next look, or null if no proxy is wanted. */
function wish(stored: State, faults: Faults, file: string): number | { at: number } | null {
  const state: State = { ...view(stored, faults), proxyRefused: null };
  if (effectiveMode(state) !== 'proxy' || faults.has('proxy-silent') !== null) return null;
  if (serviceProblem(stored, 'status', faults, file)) return null;
  const { status, nextAt } = statusAt(state, Date.now(), faults);
  if (status.status === 'Connecting' && nextAt !== null) return { at: nextAt };
  return status.status === 'Connected' ? state.settings.proxyPort : null;
}

/** Identity of a process: its pid and start time, which no later process shares. */
function identity(pid: number): string {
  return `${pid} ${startTime(pid)}`;
}

function lives(process: string | undefined): boolean {
  return process !== undefined && isAlive(process);
}
