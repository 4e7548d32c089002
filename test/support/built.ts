// Builds once in a run what several test files start and none changes.
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundleProgram, type programs } from '../../data/build/bundle.mjs';

let own: string | undefined;

/** The runner's directory of builds; a file that is started without the runner has its own. */
function shared(): string {
  if (process.env.CULVERT_TEST_BUILDS) return process.env.CULVERT_TEST_BUILDS;
  if (!own) {
    const directory = mkdtempSync(join(tmpdir(), 'culvert-builds-'));
    process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
    own = directory;
  }
  return own;
}

/**
 * A directory that is made at the first call in a run of the tests. Copy what a test changes.
 * @param name names what is made and all that it is made with
 * @param make fills the directory that it is given, or makes it
 */
export function builtOnce(name: string, make: (directory: string) => void): string {
  const directory = join(shared(), name);
  if (existsSync(directory)) return directory;
  const part = `${directory}.${process.pid}.part`;
  make(part);
  try {
    renameSync(part, directory);
  } catch (error) {
    // another file made it at the same time, and its directory stays
    rmSync(part, { recursive: true, force: true });
    if (!existsSync(directory)) throw error;
  }
  return directory;
}

/** One of the project's programs, bundled. @param define constants of the build, such as `__VERSION__` */
export function bundledOnce(program: keyof typeof programs, define: Record<string, string> = {}): string {
  const digest = createHash('sha256').update(JSON.stringify(define)).digest('hex').slice(0, 16);
  return builtOnce(`${program}-${digest}`, directory => bundleProgram(program, directory, define));
}
