// Unused TCP ports.
import { existsSync, readFileSync } from 'node:fs';

/** Below the range of ephemeral ports, where a client's own end can't be in the way. */
const [LOWEST, HIGHEST] = [12_000, 32_000];

/**
 * A random unused TCP port, so that test files that run at the same time hardly ever choose the same.
 * @param count so many ports in a row are free
 * @returns the first of them
 */
export function freePort(count = 1): number {
  const used = usedPorts();
  for (;;) {
    const first = LOWEST + Math.floor(Math.random() * (HIGHEST - LOWEST - count));
    if (!Array.from({ length: count }, (_, i) => first + i).some(port => used.has(port))) return first;
  }
}

/** Local ports of all sockets: https://www.kernel.org/doc/html/latest/networking/proc_net_tcp.html */
function usedPorts(): Set<number> {
  const tables = ['/proc/net/tcp', '/proc/net/tcp6'].filter(existsSync);
  const sockets = tables.flatMap(table => readFileSync(table, 'utf8').split('\n').slice(1));
  return new Set(sockets.map(line => Number.parseInt(/^\s*\d+: [\dA-F]+:([\dA-F]{4}) /.exec(line)?.[1] ?? '', 16)));
}
