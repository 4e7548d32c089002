// Records what a process does besides answering: programs that it starts, connections that it opens, names that it looks up.

import dgram from 'node:dgram';
import dns from 'node:dns';
import dnsPromises from 'node:dns/promises';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire, syncBuiltinESMExports } from 'node:module';
import net from 'node:net';
import { join } from 'node:path';

type Ends = { after(end: () => void): unknown };
// the types of these do not allow what is done here
type Methods = Record<string, (...args: unknown[]) => unknown>;

export interface Acts {
  /** Acts since the last call, a line each: `connect 192.0.2.1:443`. */
  take(): string[];
}

/** Records connections over the network, datagrams, and look-ups of this process until the test ends. Unix sockets are left out. */
export function recordConnections(t: Ends): Acts {
  const seen: string[] = [];
  const patch = (object: object, name: string, note: (args: unknown[]) => string | null) => {
    const methods = object as Methods;
    const original = methods[name]!;
    methods[name] = function (this: unknown, ...args: unknown[]) {
      const line = note(args);
      if (line) seen.push(line);
      return original.apply(this, args);
    };
    t.after(() => {
      methods[name] = original;
      syncBuiltinESMExports();
    });
  };
  patch(net.Socket.prototype, 'connect', args => {
    const [options] = [args.flat()[0]] as [{ path?: string; host?: string; port?: number } | string | number | null];
    if (typeof options !== 'object' || options === null) return `connect ${args.flat().slice(0, 2).join(' ')}`;
    return options.path ? null : `connect ${options.host ?? 'localhost'}:${options.port}`;
  });
  for (const name of ['send', 'connect']) patch(dgram.Socket.prototype, name, () => `datagram ${name}`);
  for (const library of [dns, dnsPromises])
    for (const name of ['lookup', 'resolve', 'resolve4', 'resolve6', 'resolveAny'])
      patch(library, name, ([host]) => (net.isIP(String(host)) ? null : `look up ${String(host)}`));
  syncBuiltinESMExports();
  return { take: () => seen.splice(0) };
}

/**
 * Records every program that this process starts, but for those of the system that only read its state.
 * @param readers names of programs that may be started
 */
export function recordPrograms(t: Ends, readers: readonly string[]): Acts {
  const seen: string[] = [];
  // the one place through which each of spawn, exec, fork and their kind goes
  const children = createRequire(import.meta.url)('node:child_process') as { ChildProcess: { prototype: object } };
  const prototype = children.ChildProcess.prototype as { spawn(options: { file: string }): unknown };
  const { spawn } = prototype;
  prototype.spawn = function (options) {
    if (!readers.includes(options.file.replace(/.*\//, ''))) seen.push(`start ${options.file}`);
    return spawn.call(this, options);
  };
  t.after(() => {
    prototype.spawn = spawn;
  });
  return { take: () => seen.splice(0) };
}

/**
 * Puts programs in front of PATH which only note that they were started, also by another program.
 * @param script what else they do @returns the directory
 */
export function recorders(directory: string, names: readonly string[], script: string): Acts & { bin: string } {
  const bin = join(directory, 'recorders');
  const log = join(directory, 'started');
  mkdirSync(bin);
  writeFileSync(log, '');
  for (const name of names)
    writeFileSync(join(bin, name), `#!/bin/sh\necho "start ${name}" >> '${log}'\n${script}`, { mode: 0o755 });
  return {
    bin,
    take() {
      const lines = readFileSync(log, 'utf8').split('\n').filter(Boolean);
      writeFileSync(log, '');
      return lines;
    },
  };
}
