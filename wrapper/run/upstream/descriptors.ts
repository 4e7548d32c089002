// Gives upstreams the descriptors of the caller. Node opens /dev/null in place of closed ones when it starts, and closes
// those beyond stderr for its children, so the shim says which are open (`CULVERT_WRAP_FDS`, for example `0125`).

const open = process.env.CULVERT_WRAP_FDS ?? '012';

/** Reports whether the caller had closed a standard descriptor. */
export function closedByCaller(fd: 0 | 1 | 2): boolean {
  return !open.includes(String(fd));
}

/** Entries after stderr in the `stdio` of an upstream. Node leaves ignored descriptors beyond stderr closed. */
export function furtherDescriptors(): ('inherit' | 'ignore')[] {
  const last = Number(open.at(-1) ?? 2);
  return Array.from({ length: Math.max(0, last - 2) }, (_, i) => (open.includes(String(i + 3)) ? 'inherit' : 'ignore'));
}

/** Program and arguments that run `program` without the standard descriptors that the caller had closed. */
export function startable(program: string, args: readonly string[]): [string, readonly string[]] {
  const closing = ([0, 1, 2] as const).filter(closedByCaller).map(fd => (fd === 0 ? '<&-' : `${fd}>&-`));
  if (closing.length === 0) return [program, args];
  return ['/bin/sh', ['-c', `exec "$@" ${closing.join(' ')}`, 'sh', program, ...args]];
}
