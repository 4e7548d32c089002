// Reads what a command takes as a file or from a pipe.
import { readFile } from 'node:fs/promises';
import { text as readAll } from 'node:stream/consumers';
import { DOCUMENT_BODY, MAX_DOCUMENT } from '../api/limits.ts';
import type { Context } from './context.ts';
import { Failure } from './errors.ts';

/** Room for the rest of the request. */
const ENVELOPE = 1_024;

/**
 * @param file its path; `-` or none for stdin
 * @throws Failure for a file that can't be read, or a longer text than the daemon takes
 */
export async function readDocument({ stdin }: Context, file: string | undefined): Promise<string> {
  const text =
    file === undefined || file === '-'
      ? await readAll(stdin)
      : await readFile(file, 'utf8').catch(error => {
          throw new Failure(`${file} can't be read: ${error.message}`, { cause: error });
        });
  if (text.length > MAX_DOCUMENT)
    throw new Failure(`The document has ${text.length} characters, and at most ${MAX_DOCUMENT} are read.`);
  // control characters and undecodable ones take several bytes each, so the daemon would refuse the request
  if (Buffer.byteLength(JSON.stringify(text)) > DOCUMENT_BODY - ENVELOPE)
    throw new Failure('The document takes too many bytes, or is not text.', {
      hint: 'Split it, or check which file it is.',
    });
  return text;
}
