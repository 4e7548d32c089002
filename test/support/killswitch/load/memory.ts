// Memory of the root service and the limit of its unit.
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

const UNIT = resolve(import.meta.dirname, '../../../../data/killswitch/culvert-killswitch.service.in');

/** Kilobytes that the unit allows the service and its children. */
export function memoryLimit(): number {
  const [, megabytes] = /^MemoryMax=(\d+)M$/m.exec(readFileSync(UNIT, 'utf8'))!;
  return Number(megabytes) * 1024;
}

/** Kilobytes that a process and its children ever had in memory. */
export function peakMemory(pid: number): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean);
  return [pid, ...children].map(peakOf).reduce((a, b) => a + b);
}

function peakOf(pid: number | string): number {
  try {
    return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0);
  } catch {
    return 0; // a child that has just ended
  }
}
