// A program that stays, and asks the far end whenever it gets a line.
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { FAR, finish } from './programs.ts';

/** Command that answers each line with what ASK or ASK_UDP would print, in a process that stays. */
export const LOOP = [
  '/usr/bin/python3',
  '-c',
  `
import socket, sys
print("ready", flush=True)
for line in sys.stdin:
    kind, address, port = line.split()
    six = ":" in address
    s = socket.socket(socket.AF_INET6 if six else socket.AF_INET, socket.SOCK_DGRAM if kind == "udp" else socket.SOCK_STREAM)
    s.settimeout(5)
    try:
        s.connect((address, int(port)))
        s.send(b"x")
        print(s.recv(100).decode().split()[0], flush=True)
    except OSError as error:
        print(type(error).__name__, flush=True)
    s.close()`,
];

/** Next output of a program. */
export function line(child: ChildProcess): Promise<string> {
  return new Promise((done, fail) => {
    let errors = '';
    const read = (data: unknown) => {
      errors += data;
    };
    const ended = () => fail(new Error(`it ended: ${errors}`));
    child.stderr!.on('data', read);
    child.once('close', ended);
    child.stdout!.once('data', data => {
      child.stderr!.off('data', read);
      child.off('close', ended);
      done(String(data).trim());
    });
  });
}

/** The program once it is ready. @param child a started `LOOP`, with pipes */
export async function attachLoop(child: ChildProcess) {
  assert.equal(await line(child), 'ready');
  return {
    child,
    /** Its answer: the address that the far end saw, or the name of an error. */
    ask(kind: 'tcp' | 'udp' = 'tcp', { address = FAR.address, port = FAR.port } = {}): Promise<string> {
      const answer = line(child);
      child.stdin!.write(`${kind} ${address} ${port}\n`);
      return answer;
    },
    async end(): Promise<void> {
      child.stdin!.end();
      await finish(child);
    },
  };
}
