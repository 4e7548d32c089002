// Starts listeners in a separate process, and clients that flood them as this user or as another.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { bundleScript } from '../script.ts';
import type { Ends } from '../temporary.ts';

export interface Server {
  pid: number;
  port: number;
  socket: string;
}

/** Bundles the programs. @param directory made readable for other users */
export function flooding(directory: string) {
  chmodSync(directory, 0o755);
  const [serve, flood] = ['serve-listeners.ts', 'flood.ts'].map(name =>
    bundleScript(join(import.meta.dirname, name), directory),
  );
  const run = (t: Ends, command: string[]): ChildProcess => {
    // both programs end with their stdin
    const child = spawn(command[0]!, command.slice(1), { stdio: ['pipe', 'pipe', 'inherit'] });
    t.after(() => child.kill('SIGKILL'));
    return child;
  };
  return {
    async start(t: Ends): Promise<Server> {
      const child = run(t, [process.execPath, serve!]);
      const [line] = (await once(child.stdout!, 'data')) as [Buffer];
      const { port, socket } = JSON.parse(line.toString());
      return { pid: child.pid!, port, socket };
    },
    /** @param uid another user; null: this one */
    async attack(t: Ends, target: string, shape: string, uid: number | null): Promise<ChildProcess> {
      const words = [process.execPath, flood!, target, uid === null ? '60' : '120', shape];
      const other = uid === null ? [] : ['setpriv', `--reuid=${uid}`, `--regid=${uid}`, '--clear-groups'];
      const child = run(t, [...other, ...words]);
      await once(child.stdout!, 'data');
      return child;
    },
  };
}

export const residentMegabytes = (pid: number) =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024;
