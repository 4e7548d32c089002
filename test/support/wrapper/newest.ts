/**
 * Holds the catalog against the newest versions of its tools: `node --import tsx test/support/wrapper/newest.ts DIRECTORY [TOOL…]` installs
 * them there and prints a line for each thing that changed. It ends with 1 where a probe has another result than the catalog says.
 */
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { loadCatalog } from '../../../wrapper/catalog/catalog.ts';
import type { Provider } from '../../../wrapper/catalog/provider.ts';
import { runProbes } from '../../../wrapper/manage/probe.ts';
import { isTested } from '../../../wrapper/mcp/entry.ts';
import { npmEnvironment } from '../npm-environment.ts';

const run = promisify(execFile);
const shipped = fileURLToPath(new URL('../../../wrapper/catalog/providers', import.meta.url));
const INSTALL_MS = 600_000;
/** Larger files are programs of other languages, in which a name is found as well, at a cost. */
const READ_BYTES = 64 * 1024 * 1024;
/** Tools of another registry. */
const OF_PYPI: Record<string, string> = { tvly: 'tavily-cli', hf: 'huggingface_hub' };

const [directory, ...wanted] = process.argv.slice(2);
if (directory === undefined) throw new Error('name a directory');
mkdirSync(directory, { recursive: true });
if (!existsSync(path.join(directory, 'package.json')))
  writeFileSync(path.join(directory, 'package.json'), '{ "private": true }\n');

let drift = 0;
const say = (cli: string, what: string) => console.log(`${cli}: ${what}`);
const npm = async (...words: string[]) =>
  (await run('npm', words, { cwd: directory, env: npmEnvironment, timeout: INSTALL_MS, maxBuffer: READ_BYTES })).stdout;

/** A number that fits this Node.js is taken by npm where none is named; so the newest is named. */
async function newestOf(name: string): Promise<string> {
  return (await npm('view', name, 'dist-tags.latest')).trim();
}

/** @returns why it could not be installed */
async function install(name: string, version: string): Promise<string | undefined> {
  try {
    await npm('install', '--no-audit', '--no-fund', '--loglevel=error', `${name}@${version}`);
    return undefined;
  } catch (error) {
    return String(error).replace(/\s+/g, ' ').slice(0, 200);
  }
}

/** Names that a package has to know for its entry to be right. */
function namesOf(provider: Provider): string[] {
  const options = [
    ...provider.own_credential,
    ...provider.value_options,
    ...provider.hosts.options,
    ...provider.choice.options,
  ];
  const long = options.map(option => option.split(' ')[0]!).filter(option => option.startsWith('--'));
  const variables = [...provider.inject, ...provider.credentials].filter(name => /^[A-Z_]+$/.test(name));
  return [...new Set([...long.map(option => option.slice(2)), ...variables])];
}

/** The folders of a package, and of those with the program itself for this machine, where it has such. */
function foldersOf(name: string): string[] {
  const modules = path.join(directory!, 'node_modules');
  const folder = path.join(modules, name);
  const { optionalDependencies = {} } = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'));
  return [folder, ...Object.keys(optionalDependencies).map(each => path.join(modules, each))].filter(existsSync);
}

/** The names that no file of these folders has. */
function missingIn(folders: readonly string[], names: readonly string[]): string[] {
  const open = new Set(names);
  for (const entry of folders.flatMap(each => readdirSync(each, { recursive: true, withFileTypes: true }))) {
    if (open.size === 0) break;
    const file = path.join(entry.parentPath, entry.name);
    if (!entry.isFile() || statSync(file).size > READ_BYTES) continue;
    const text = readFileSync(file, 'latin1');
    for (const name of open) if (text.includes(name)) open.delete(name);
  }
  return [...open];
}

async function checkTool(cli: string, provider: Provider, node: string): Promise<void> {
  const { package: name, tested } = provider;
  if (name === undefined)
    return say(
      cli,
      OF_PYPI[cli] ? await checkPypi(OF_PYPI[cli], tested) : 'not checked: it is in no registry that is asked',
    );
  const version = await newestOf(name);
  if (!tested.includes(version)) say(cli, `${name} ${version} is newest, tested with ${tested.join(', ') || 'none'}`);
  const problem = await install(name, version);
  if (problem !== undefined) return say(cli, `not checked: ${problem}`);
  const missing = missingIn(foldersOf(name), namesOf(provider));
  // names that a tested version lacks are of an earlier one; a package that has not even the variable of the key only starts another one's program
  if (!tested.includes(version) && missing.length > 0 && !provider.inject.every(variable => missing.includes(variable)))
    say(cli, `not found in its package: ${missing.join(', ')}`);
  const bin = path.join(directory!, 'node_modules/.bin');
  const results = await runProbes(provider, path.join(bin, provider.bin), `${node}:${bin}:/usr/bin:/bin`);
  for (const { args, status, expect, got, exit, stderr } of results) {
    if (got === expect) continue;
    drift++;
    say(cli, `${args.join(' ')} after ${status}: ${got} instead of ${expect}, exit ${exit}: ${stderr.slice(0, 200)}`);
  }
  say(
    cli,
    `${version}: ${results.filter(({ got, expect }) => got === expect).length} of ${results.length} probes as expected`,
  );
}

async function checkServers(cli: string, provider: Provider): Promise<void> {
  for (const server of provider.mcp) {
    const version = await newestOf(server.package);
    const problem = await install(server.package, version);
    const range = server.versions ? `${server.versions.from} to below ${server.versions.below}` : 'of all versions';
    if (!isTested(server, version)) drift++;
    say(
      cli,
      `${server.package} ${version} is ${isTested(server, version) ? 'in' : 'NOT in'} the range ${range}${problem ? `; not installed: ${problem}` : ''}`,
    );
  }
}

async function checkPypi(name: string, tested: readonly string[]): Promise<string> {
  try {
    const { stdout } = await run('pip', ['index', 'versions', '--retries=0', name], { timeout: 60_000 });
    const version = /\(([^)]+)\)/.exec(stdout)?.[1] ?? 'unknown';
    return tested.includes(version)
      ? `${name} ${version}, as tested`
      : `${name} ${version} is newest, tested with ${tested.join(', ')}`;
  } catch {
    return `not checked: pip can't ask for ${name} here`;
  }
}

const { providers } = loadCatalog(shipped, path.join(directory, 'none'));
const runtime = await install(`node-linux-${process.arch}`, '22');
if (runtime !== undefined) {
  console.log(`nothing is checked: npm installs nothing here: ${runtime}`);
  process.exit(0);
}
const node = path.join(directory, `node_modules/node-linux-${process.arch}/bin`);
for (const [cli, provider] of Object.entries(providers)) {
  if (wanted.length > 0 && !wanted.includes(cli)) continue;
  try {
    if (!provider.programs_only) await checkTool(cli, provider, node);
    await checkServers(cli, provider);
  } catch (error) {
    say(cli, `not checked: ${String(error).replace(/\s+/g, ' ').slice(0, 200)}`);
  }
}
process.exit(drift > 0 ? 1 : 0);
