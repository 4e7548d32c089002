// A fake MCP server of both eras, and a client that speaks lines to it through `culvert-wrap mcp`.
import type { ChildProcess } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { until } from '../until.ts';
import type { Sandbox } from './sandbox.ts';

/** Its tools say what they do; every line that it reads is logged behind its key. */
const SERVER = `#!${process.execPath}
const fs = require('fs');
const key = process.env.FAKE_KEY ?? 'none';
fs.appendFileSync(process.env.HOME + '/mcp.log', key + ' started ' + process.pid + '\\n');
const send = (message, era) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
const text = (id, value, isError) => send({ id, result: { content: [{ type: 'text', text: value }], ...(isError && { isError }) } });
const info = { name: 'fake-mcp', version: process.env.FAKE_VERSION ?? '1.2.0' };
function handle({ id, method, params }) {
  if (method === 'initialize') return send({ id, result: { protocolVersion: '2025-11-25', serverInfo: info, capabilities: {} } });
  if (method === 'server/discover') return send({ id, result: { _meta: { 'io.modelcontextprotocol/serverInfo': info } } });
  if (method === 'tools/list') return send({ id, result: { tools: [{ name: key.startsWith('other') ? 'b' : 'a' }] } });
  if (method === 'subscriptions/listen') return;
  if (method !== 'tools/call') return id === undefined ? undefined : send({ id, result: {} });
  const { name, arguments: args = {}, _meta } = params;
  if (_meta?.progressToken !== undefined) send({ method: 'notifications/progress', params: { progressToken: _meta.progressToken, progress: 1 } });
  if (name === 'die') process.kill(process.pid, 'SIGKILL');
  if (name === 'hang') return;
  if (name === 'quote') return text(id, 'Fake API error: quota exceeded');
  if (name === 'quote-late') return text(id, 'could not read a page:\\nFake API error: quota exceeded', true);
  if (name === 'big') return text(id, 'x'.repeat(args.size));
  if (name === 'late') return setTimeout(() => handle({ id, method, params: { name: 'search' } }), 300);
  if (key.startsWith('quota')) return text(id, 'Fake API error: quota exceeded for this key', true);
  if (key.startsWith('auth')) return send({ id, error: { code: -32603, message: 'Fake API error: bad key' } });
  text(id, 'result of ' + name + ' by ' + (key.split('-')[1] ?? key));
}
let rest = '';
process.stdin.on('data', chunk => {
  const lines = (rest + chunk).split('\\n');
  rest = lines.pop();
  for (const line of lines) {
    if (line.length < 1000) fs.appendFileSync(process.env.HOME + '/mcp.log', key + ' ' + line + '\\n');
    handle(JSON.parse(line));
  }
});
process.stdin.on('end', () => process.exit(0));
`;

const ENTRY = `inject = ["FAKE_KEY"]
[[providers.fake.mcp]]
package = "fake-mcp"
versions = { from = "1.0.0", below = "2.0.0" }
once = ["create"]
rules = [
  { class = "quota", text = "^Fake API error: quota exceeded" },
  { class = "auth", text = "^Fake API error: bad key" },
]
`;

interface Answer {
  result: { content: { text: string }[]; isError?: boolean };
  error: { message: string };
}

export interface Client {
  child: ChildProcess;
  send(message: object): void;
  /** The answer to this request, once it has arrived. */
  answer(id: number | string): Promise<Answer>;
  /** All that arrived. */
  lines(): string[];
  stderr(): string;
}

/** Puts the server on PATH and its entry into the catalog. */
export function putServer(box: Sandbox): { log(): string[] } {
  box.script('fake-mcp', SERVER);
  putEntry(box);
  return { log: () => fs.readFileSync(path.join(box.home, 'mcp.log'), 'utf8').trim().split('\n') };
}

/** Puts its entry alone into the catalog. */
export function putEntry(box: Sandbox): void {
  box.script('fake', '#!/bin/sh\n');
  box.provider('fake', ENTRY);
}

/** A client of a program that speaks MCP on stdio. */
export function clientOf(child: ChildProcess): Client {
  let text = '';
  let errors = '';
  child.stdout!.setEncoding('utf8').on('data', chunk => {
    text += chunk;
  });
  child.stderr!.setEncoding('utf8').on('data', chunk => {
    errors += chunk;
  });
  const lines = () => text.split('\n').slice(0, -1);
  const answer = async (id: number | string) => {
    const find = () => lines().find(line => line.length > 0 && JSON.parse(line).id === id);
    return JSON.parse(await until(find, () => `answer ${id} in ${text}\n${errors}`));
  };
  const send = (message: object) => child.stdin!.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  return { child, send, answer, lines, stderr: () => errors };
}
