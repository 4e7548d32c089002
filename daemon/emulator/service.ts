// Faults of the service and of the process: not reachable, slow, hanging, leaving a process behind.
import { type Refusal, refuse } from './answer.ts';
import type { State } from './client/state.ts';
import { update } from './client/store.ts';
import type { Faults } from './faults.ts';

const DAEMON = 'Unable to connect to the CloudflareWARP daemon';

/** @returns the refusal of a service that can't be reached, or null */
export function serviceProblem(state: State, command: string, faults: Faults, file: string): Refusal | null {
  const absent: Refusal = {
    ...refuse('FailedToConnectToDaemon', `${DAEMON}: No such file or directory (os error 2)`),
    daemon: true,
  };
  if (faults.strikes('service-down', command) !== null) return absent;
  if (faults.strikes('connection-refused', command) !== null) {
    return { ...absent, message: `${DAEMON}: Connection refused (os error 111)` };
  }
  const late = faults.strikes('socket-late', command);
  if (late === null) return null;
  const upAt =
    state.serviceUpAt ??
    update(file, fresh => {
      fresh.serviceUpAt ??= Date.now() + Number(late || 2000);
      return fresh.serviceUpAt;
    });
  return Date.now() < upAt ? absent : null;
}

/** Does what the process faults ask for; resolves when the command may go on, which under `hang` is never. */
export async function injectFault(command: string, faults: Faults): Promise<void> {
  const grandchild = faults.strikes('grandchild', command);
  if (grandchild !== null) {
    const { spawn } = await import('node:child_process');
    spawn('sleep', [grandchild || '30'], { stdio: ['ignore', 'inherit', 'inherit'] }).unref();
  }
  const slow = faults.strikes('slow', command);
  if (slow !== null) await new Promise(resolve => setTimeout(resolve, Number(slow || 1000)));
  const deaf = faults.strikes('hang-deaf', command) !== null;
  if (!deaf && faults.strikes('hang', command) === null) return;
  if (deaf) for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => {});
  setInterval(() => {}, 2 ** 30);
  await new Promise(() => {});
}
