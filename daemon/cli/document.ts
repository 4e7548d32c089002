// Reads, edits and writes the documents that a command takes or exports.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { text as readAll } from 'node:stream/consumers';
import { ApiError, Unreachable } from '../api/client.ts';
import { DOCUMENT_BODY, MAX_DOCUMENT } from '../api/requests.ts';
import { FileError, reason } from '../core/errors.ts';
import { assertOwn, foreignOwner, makeDirectory, replaceFile } from '../core/files.ts';
import type { Context } from './context.ts';
import { confirm } from './dialog.ts';
import { EXIT, Failure } from './errors.ts';

/** Bytes reserved for the rest of the request. */
const ENVELOPE = 1_024;

/**
 * Reads a document, up to the size that the daemon accepts.
 * @param file path; `-` or undefined for stdin
 * @throws Failure if the file can't be read, or the text is too long
 */
export async function readDocument({ stdin }: Context, file: string | undefined): Promise<string> {
  const text =
    file === undefined || file === '-'
      ? await readAll(stdin)
      : await readFile(file, 'utf8').catch(error => {
          throw new Failure(`${file} can't be read: ${reason(error)}`, { cause: error });
        });
  if (text.length > MAX_DOCUMENT)
    throw new Failure(`The document has ${text.length} characters, and at most ${MAX_DOCUMENT} are read.`);
  // control and undecodable characters take several bytes each, so the daemon would refuse the request
  if (Buffer.byteLength(JSON.stringify(text)) > DOCUMENT_BODY - ENVELOPE)
    throw new Failure('The document takes too many bytes, or is not text.', {
      hint: 'Split it, or check which file it is.',
    });
  return text;
}

interface Editing {
  document: string;
  /** Name and extension of the file that the editor opens. */
  file: readonly [name: string, extension: string];
  /** Command line that applies the file. */
  command: string;
  /** Applies the text and returns the exit code; if the text has mistakes, prints them and returns null. */
  apply(text: string): Promise<number | null>;
}

/** @throws Failure if the editor fails, or the user gives up */
export async function editDocument(context: Context, { document, file, command, apply }: Editing): Promise<number> {
  const { runtime } = context.paths;
  assertOwn(runtime);
  makeDirectory(runtime);
  const path = join(runtime, `${file[0]}-${process.pid}.${file[1]}`);
  let text = document;
  let isKept = false;
  try {
    for (;;) {
      text = await edited(context, path, text);
      if (text === document) {
        context.say('Nothing was changed.');
        return EXIT.ok;
      }
      const code = await apply(text);
      if (code !== null) return code;
      if (!(await confirm(context, 'Edit it again?'))) throw new Failure('Nothing was changed.');
    }
  } catch (error) {
    // keep a text that the daemon refused or did not receive
    isKept = text !== document && (error instanceof ApiError || error instanceof Unreachable);
    if (isKept) context.say(`Your text is kept for now. Set it with: ${command} ${path}`);
    throw error;
  } finally {
    if (!isKept) rmSync(path, { force: true });
  }
}

async function edited({ env }: Context, path: string, text: string): Promise<string> {
  writeFileSync(path, text, { mode: 0o600 });
  const editor = env.VISUAL || env.EDITOR;
  // the variable may contain arguments, as for git and crontab
  const command = editor ? `${editor} "$1"` : 'sensible-editor "$1" 2>/dev/null || vi "$1"';
  const child = spawn('sh', ['-c', command, 'sh', path], { stdio: 'inherit' });
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  if (code === 0) return readFileSync(path, 'utf8');
  throw new Failure(`The editor ended with ${signal ?? `exit status ${code}`}. Nothing was changed.`, {
    hint: 'Choose another one with the variable EDITOR.',
  });
}

/**
 * Writes the whole document or leaves the file unchanged. Keeps a symbolic link to an existing file. As root, keeps the owner of
 * the file, or gives a new file the owner of its directory.
 * @param mode permission bits of a new file, less the umask
 * @throws Failure that names the file, including when the file exists and `--force` was not given
 */
export function writeDocument(file: string, text: string, { mode, force }: { mode: number; force: boolean }): void {
  try {
    const existing = statSync(file, { throwIfNoEntry: false });
    if (existing?.isFile() && !force)
      throw new Failure(`${file} already exists, and was left as it is.`, { hint: 'Replace it with --force.' });
    // a device or a pipe
    if (existing && !existing.isFile()) writeFileSync(file, text);
    else {
      const path = existing ? realpathSync(file) : resolve(file);
      replaceFile(path, text, {
        mode: existing ? existing.mode & 0o777 : mode,
        owner: existing && process.geteuid?.() === 0 ? existing : foreignOwner(dirname(path)),
      });
    }
  } catch (error) {
    if (error instanceof Failure) throw error;
    throw new Failure((error instanceof FileError ? error : new FileError(file, error)).message, { cause: error });
  }
}
