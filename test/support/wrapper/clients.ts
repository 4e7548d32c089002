// Files of MCP clients, and a home in which `culvert-wrap mcp` changes them.
import * as fs from 'node:fs';
import * as path from 'node:path';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { sandbox } from './sandbox.ts';

/** The directory of files of clients, as their documentation writes them. */
export const fixtures = fileURLToPath(new URL('../../fixtures/mcp-clients/', import.meta.url));
/** The place of each of these files below the home directory, and its documentation. */
export const sources: Record<string, { at: string; source: string }> = JSON.parse(
  fs.readFileSync(path.join(fixtures, 'sources.json'), 'utf8'),
);

/** A home with files of clients, and the commands that change them. */
export function clientHome(t: TestContext, files: Record<string, string | Buffer>) {
  const box = sandbox(t);
  const program = box.script('culvert-wrap', '#!/bin/sh\n');
  const cwd = path.join(box.home, 'app');
  fs.mkdirSync(cwd);
  const put = (at: string, text: string | Buffer) => {
    const file = path.join(box.home, at);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, text);
  };
  for (const [at, text] of Object.entries(files)) put(at, text);
  const read = (at: string) => fs.readFileSync(path.join(box.home, at), 'utf8');
  const mcp = (...words: string[]) => box.wrap(['mcp', ...words], { cwd });
  const install = (...words: string[]) => mcp('install', '--yes', '--file', ...words);
  /** The text of a file without what differs in each run. */
  const plain = (at: string) =>
    read(at)
      .replaceAll(program, '@PROGRAM@')
      .replace(/127\.0\.0\.1:\d+/g, '127.0.0.1:@PORT@')
      .replace(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '@PLACEHOLDER@');
  return { box, put, read, mcp, install, plain, cwd };
}
