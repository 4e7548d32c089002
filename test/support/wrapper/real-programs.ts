// Installs programs of the npm registry into a separate directory, and a Node.js that is new enough for them.
import { execFile, spawn } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { after } from 'node:test';
import { promisify } from 'node:util';
import { npmEnvironment } from '../npm-environment.ts';
import { removeTree } from '../temporary.ts';
import { FULL } from '../thoroughness.ts';
import { finished } from './sandbox.ts';

const NODE = `node-linux-${process.arch}`;
/** Less than a file may take without progress (test/runner/file.ts). */
const INSTALL_MS = 240_000;
const RUN_MS = 300_000;

/** The environment of the program is a part of its output, for tests that look for keys. */
const EPILOGUE = `
const { readFileSync } = await import('node:fs');
process.stderr.write(readFileSync('/proc/self/environ', 'utf8'));
process.exit();
`;

/** Programs that a test file may start. */
export interface RealPrograms {
  /** Why they are not here. */
  skip: string | false;
  node: string;
  /** A file of an installed package. */
  file(name: string): string;
  /** Runs a module that imports them. @returns the value that it prints, and all that it printed */
  run(script: string, env: Record<string, string>): Promise<{ value: unknown; text: string }>;
}

/**
 * Installs packages, in a full run only. With `CULVERT_REAL_PROGRAMS` those of an earlier installation in this directory are used.
 * @param packages names with versions
 */
export async function realPrograms(packages: readonly string[]): Promise<RealPrograms> {
  const earlier = process.env.CULVERT_REAL_PROGRAMS;
  const directory = earlier ?? fs.mkdtempSync(path.join(os.tmpdir(), 'culvert-real-programs-'));
  if (earlier === undefined) after(() => removeTree(directory));
  const skip = earlier === undefined ? await install(directory, packages) : false;
  const file = (name: string) => path.join(directory, 'node_modules', name);
  const node = file(`${NODE}/bin/node`);
  let scripts = 0;
  const run: RealPrograms['run'] = async (script, env) => {
    const module = path.join(directory, `script-${process.pid}-${scripts++}.mjs`);
    fs.writeFileSync(module, `${script}${EPILOGUE}`);
    const child = spawn(node, [module], {
      env: { HOME: directory, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: RUN_MS,
    });
    const { stdout, stderr } = await finished(child);
    const text = `${stdout}\n${stderr}`;
    const value: unknown = JSON.parse(stdout.trim().split('\n').at(-1) || 'null');
    if (value === null) throw new Error(text);
    return { value, text };
  };
  return { skip, node, file, run };
}

/** @returns why they could not be installed */
async function install(directory: string, packages: readonly string[]): Promise<string | false> {
  if (!FULL) return 'only in a full run';
  if (fs.existsSync('/etc/culvert-test-clock')) return 'at another time, the certificate of the registry is not valid';
  fs.writeFileSync(path.join(directory, 'package.json'), '{ "private": true }\n');
  const words = ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--fetch-retries=1', '--loglevel=error'];
  try {
    await promisify(execFile)('npm', [...words, `${NODE}@22`, ...packages], {
      cwd: directory,
      timeout: INSTALL_MS,
      env: npmEnvironment,
    });
    return false;
  } catch (error) {
    return `npm installs nothing here: ${String(error).slice(0, 200)}`;
  }
}
