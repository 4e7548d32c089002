// A server that answers as a recorded one did, byte for byte, and the lines of the recording.
import * as fs from 'node:fs';
import * as path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Sandbox } from './sandbox.ts';

const fixtures = fileURLToPath(new URL('../../fixtures/mcp/', import.meta.url));

/** One line of the client, and the lines that the server wrote before the next one. */
interface Exchange {
  sent: string;
  received: string[];
}

/** Reads a recording of `test/fixtures/mcp`. */
export function readTranscript(name: string): Exchange[] {
  const exchanges: Exchange[] = [];
  for (const line of fs.readFileSync(path.join(fixtures, name), 'utf8').trimEnd().split('\n')) {
    if (line.startsWith('> ')) exchanges.push({ sent: line.slice(2), received: [] });
    if (line.startsWith('< ')) exchanges.at(-1)!.received.push(line.slice(2));
  }
  return exchanges;
}

/**
 * It logs what it reads, by process. A line that was not recorded gets the answer to the first of its method. A key that ends in
 * "-b" meets no limit: it gets the answer to the first call. A call with "die" ends the process.
 */
const SERVER = `#!${process.execPath}
const fs = require('fs');
const exchanges = EXCHANGES;
const hasCredits = Object.entries(process.env).some(([name, value]) => name.endsWith('_KEY') && value.endsWith('-b'));
const methodOf = line => JSON.parse(line).method;
const write = line => process.stdout.write(line + '\\n');
require('readline').createInterface({ input: process.stdin }).on('line', line => {
  fs.appendFileSync(process.env.HOME + '/mcp.log', process.pid + ' ' + line + '\\n');
  if (line.includes('"die"')) process.kill(process.pid, 'SIGKILL');
  let found = exchanges.find(({ sent }) => sent === line);
  if (hasCredits && found?.received.some(answer => answer.includes('"isError":true'))) found = undefined;
  if (found) return found.received.forEach(write);
  const { id, method } = JSON.parse(line);
  const first = exchanges.find(({ sent }) => methodOf(sent) === method);
  for (const answer of first?.received ?? []) {
    const message = JSON.parse(answer);
    write(JSON.stringify(message.id === undefined ? message : { ...message, id }));
  }
}).on('close', () => process.exit());
`;

/** Puts the server on PATH. @returns the lines that each of its processes has read, in the order of their starts */
export function putRecorded(box: Sandbox, name: string, exchanges: readonly Exchange[]): () => string[][] {
  box.script(
    name,
    SERVER.replace('EXCHANGES', () => JSON.stringify(exchanges)),
  );
  return () => {
    const processes = new Map<string, string[]>();
    for (const line of fs.readFileSync(path.join(box.home, 'mcp.log'), 'utf8').trimEnd().split('\n')) {
      const [pid] = line.split(' ', 1);
      processes.set(pid!, [...(processes.get(pid!) ?? []), line.slice(pid!.length + 1)]);
    }
    return [...processes.values()];
  };
}
