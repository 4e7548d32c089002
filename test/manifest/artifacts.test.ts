// Hashing goes on when the second thread can't start or dies: it costs time, never a digest.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { describe, test } from 'node:test';
import { hashFiles } from '../../manifest/artifacts.ts';
import { buildManifest } from '../support/manifest/bundle.ts';
import { temporary } from '../support/manifest/release.ts';

const MIB = 1024 * 1024;
const BROKEN = "const { workerData } = require('node:worker_threads'); Atomics.add(workerData.next, 0, 1);";

describe('every file gets its own digest, in the order asked for', () => {
  const threads: [what: string, file: (directory: string) => string][] = [
    ['with a second thread', () => buildManifest()],
    ['when there is no program to run as a thread', directory => path.join(directory, 'none.cjs')],
    ['when the thread takes a file and dies', directory => script(directory, `${BROKEN} throw new Error('died');`)],
    ['when the thread takes a file and ends', directory => script(directory, BROKEN)],
  ];
  for (const [what, file] of threads) {
    test(what, async t => {
      const directory = temporary(t);
      const contents = [1, 25, 9, 2].map((mib, i) => Buffer.alloc(mib * MIB + i, `${i}`));
      const jobs = contents.map((content, i) => ({ path: path.join(directory, `${i}`), size: content.length }));
      for (const [i, content] of contents.entries()) fs.writeFileSync(jobs[i]!.path, content);
      const progress: number[] = [];
      const outcomes = await hashFiles(jobs, file(directory), bytes => progress.push(bytes));
      const expected = contents.map(content => ({ sha256: createHash('sha256').update(content).digest('hex') }));
      assert.deepEqual(outcomes, expected);
      assert.equal(
        progress.at(-1),
        jobs.reduce((sum, { size }) => sum + size, 0),
      );
      assert.deepEqual(
        progress,
        progress.toSorted((a, b) => a - b),
      );
    });
  }
});

function script(directory: string, text: string): string {
  const file = path.join(directory, 'thread.cjs');
  fs.writeFileSync(file, text);
  return file;
}
