// Reads the text files of an archive that a stranger may have made, within limits and in memory, without unpacking it.
import { closeSync, constants, fstatSync, openSync } from 'node:fs';
import { type Entry, fromFd, validateFileName, type ZipFile } from 'yauzl';
import { Failure, reason } from '../../core/errors.ts';

export interface ArchiveFile {
  /** The whole path in the archive. */
  name: string;
  text: string;
  /** True if only the first part was read. */
  cut: boolean;
}

export interface Archive {
  files: ArchiveFile[];
  /** The first entries that were not read, with the reason. */
  skipped: string[];
}

export const LIMITS = { entries: 5_000, fileBytes: 12 * 1024 * 1024, totalBytes: 64 * 1024 * 1024, skippedShown: 20 };
const TEXT = /\.(?:txt|log|xml|json|conf|plist|md|out)(?:\.\d+)?$|(?:^|\/)[\w-]+$/i;

/** @throws Failure for anything but a readable archive */
export async function readArchive(path: string): Promise<Archive> {
  const zip = await open(path);
  const archive: Archive = { files: [], skipped: [] };
  let left = LIMITS.totalBytes;
  try {
    if (zip.entryCount > LIMITS.entries)
      throw new Failure(`The archive has ${zip.entryCount} entries; more than ${LIMITS.entries} are not read.`);
    for await (const entry of entriesOf(zip)) {
      const name = nameOf(entry);
      const why = refusal(entry, name, left);
      if (why) {
        if (archive.skipped.length < LIMITS.skippedShown) archive.skipped.push(`${name}: ${why}`);
        continue;
      }
      const file = await readEntry(zip, entry, Math.min(LIMITS.fileBytes, left)).catch(error => reason(error));
      if (typeof file === 'string') {
        if (archive.skipped.length < LIMITS.skippedShown) archive.skipped.push(`${name}: ${file}`);
        continue;
      }
      left -= file.bytes.length;
      archive.files.push({ name, text: decode(file.bytes), cut: file.cut });
    }
  } finally {
    zip.close();
  }
  return archive;
}

function open(path: string): Promise<ZipFile> {
  return new Promise((resolve, reject) => {
    try {
      // a pipe or a device must not block the reader
      const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
      if (!fstatSync(fd).isFile()) {
        closeSync(fd);
        throw new Error('it is not a regular file');
      }
      const options = { lazyEntries: true, decodeStrings: false, validateEntrySizes: true, autoClose: true } as const;
      fromFd(fd, options, (error, zip) => {
        if (!error) return resolve(zip);
        closeSync(fd);
        reject(new Failure(`${path} is not a ZIP archive: ${reason(error)}`, { cause: error }));
      });
    } catch (error) {
      reject(new Failure(`${path} can't be read: ${reason(error)}`, { cause: error }));
    }
  });
}

async function* entriesOf(zip: ZipFile): AsyncGenerator<Entry> {
  for (;;) {
    const next = await new Promise<Entry | null>((resolve, reject) => {
      const settle = (act: () => void) => {
        zip.removeAllListeners();
        act();
      };
      zip.once('entry', (entry: Entry) => settle(() => resolve(entry)));
      zip.once('end', () => settle(() => resolve(null)));
      zip.once('error', error =>
        settle(() => reject(new Failure(`The archive is damaged: ${reason(error)}`, { cause: error }))),
      );
      zip.readEntry();
    });
    if (!next) return;
    yield next;
  }
}

function nameOf(entry: Entry): string {
  // without decodeStrings, the name is bytes, although the type is string
  return Buffer.from(entry.fileName as unknown as Buffer)
    .toString('utf8')
    .slice(0, 300);
}

const S_IFMT = 0o170000;
const S_IFREG = 0o100000;

function refusal(entry: Entry, name: string, left: number): string | null {
  if (name.endsWith('/')) return 'a directory';
  const wrong = validateFileName(name);
  if (wrong) return wrong;
  const mode = (entry.externalFileAttributes >>> 16) & S_IFMT;
  if (mode !== 0 && mode !== S_IFREG) return 'not a regular file';
  if (entry.generalPurposeBitFlag & 1) return 'encrypted';
  if (!TEXT.test(name)) return 'no text';
  return left <= 0 ? `more than ${LIMITS.totalBytes / 2 ** 20} MiB of text` : null;
}

function readEntry(zip: ZipFile, entry: Entry, limit: number): Promise<{ bytes: Buffer; cut: boolean }> {
  return new Promise((resolve, reject) => {
    zip.openReadStream(entry, (error, stream) => {
      if (error) return reject(error);
      const chunks: Buffer[] = [];
      let size = 0;
      stream.on('data', (chunk: Buffer) => {
        chunks.push(chunk.subarray(0, limit - size));
        size += chunk.length;
        if (size < limit) return;
        stream.destroy();
        resolve({ bytes: Buffer.concat(chunks), cut: true });
      });
      stream.once('end', () => resolve({ bytes: Buffer.concat(chunks), cut: false }));
      stream.once('error', reject);
    });
  });
}

/** Decodes UTF-8, or UTF-16 as in logs of Windows tools. */
function decode(bytes: Buffer): string {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return bytes.subarray(2).toString('utf16le');
  return bytes.toString('utf8').replace(/^\ufeff/, '');
}
