// Killed or failing at each file operation of a write: the old file or the new one is there, whole, and nothing else for long.
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { describe, test } from 'node:test';
import { REFUSALS } from '../../manifest/errors.ts';
import { buildManifest } from '../support/manifest/bundle.ts';
import { key, makeRelease, type Release, run, runHere, temporary } from '../support/manifest/release.ts';
import { moments } from '../support/moments.ts';

/** Calls before the temporary file is opened, of which some may fail without harm. */
const BEFORE = 4;
const CALLS = ['openat', 'getdents64', 'write', 'fsync', 'close', 'rename', 'link', 'unlink'];

interface Writer {
  what: string;
  args: (release: Release) => string[];
  output: (release: Release) => string;
}

const writers: Writer[] = [
  {
    what: 'create',
    args: r => ['create', '--out', r.manifest, '--tag', 'v1.2.4', ...artifacts(r)],
    output: r => r.manifest,
  },
  {
    what: 'sign',
    args: r => ['sign', r.manifest, '--key', secret(r), '--serial', '13', '--expires', '30d'],
    output: r => r.sidecar,
  },
];

for (const { what, args, output } of writers) {
  describe(`${what}, over a file that exists`, { concurrency: 2 }, () => {
    // strace counts a system call's occurrences on the main thread, where all files are written
    test('killed before any of its file operations, it leaves the old file or the new one', async t => {
      const { calls, fresh } = await operations(t, args, output);
      const synced = calls.filter(call => call.startsWith('fsync')).length;
      assert.equal(synced, 2, 'the file before it is renamed, and its directory after');
      const release = makeRelease(t);
      const old = fs.readFileSync(output(release));
      const argv = args(release);
      const all = await moments(t, release.directory, [process.execPath, buildManifest(), ...argv], { env: EPOCH });
      assert.ok(all.length >= 4, `${all.length} moments`);
      const seen = new Set<string>();
      for (const { after, restore } of all) {
        restore();
        const now = fs.readFileSync(output(release));
        assert.ok(now.equals(old) || now.equals(fresh), `${after}: ${now}`);
        seen.add(now.equals(old) ? 'old' : 'new');
        // the next run removes the leftovers
        assert.equal((await runHere(argv, EPOCH)).exit, 0, after);
        assert.deepEqual(temporaries(release), [], after);
      }
      assert.deepEqual([...seen].sort(), ['new', 'old'], 'it was killed before and after the new file took its place');
    });

    test('with any of its file operations failing, it says so and leaves the old file or the new one', async t => {
      const { calls, fresh } = await operations(t, args, output);
      let refused = 0;
      for (const call of calls.slice(BEFORE).filter(name => /^(openat|write|fsync|rename)/.test(name))) {
        const release = makeRelease(t);
        const old = fs.readFileSync(output(release));
        const log = path.join(temporary(t), 'trace');
        const trace = ['strace', '-y', '-o', log, '-e', `inject=${call.replace(':', ':error=ENOSPC:')}`];
        const { exit, stderr } = await run(args(release), { prefix: trace, env: EPOCH });
        const now = fs.readFileSync(output(release));
        assert.ok(now.equals(old) || now.equals(fresh), `${call}: ${now}`);
        assert.deepEqual(temporaries(release), [], call);
        // Node sometimes opens its own files under such a number, and can do without them
        if (!injected(log)?.includes(release.directory)) continue;
        assert.equal(exit, REFUSALS['output-failed'][0], `${call}: ${stderr}`);
        assert.match(stderr, /can't be written: No space left on disk\. Free some space there\./);
        refused++;
      }
      assert.ok(refused >= 5, `${refused}`);
    });
  });
}

test('keygen, killed before any of its file operations, leaves no half of a key', async t => {
  const args = (directory: string) => ['keygen', path.join(directory, 'release')];
  const directory = temporary(t);
  const all = await moments(t, directory, [process.execPath, buildManifest(), ...args(directory)], { env: {} });
  assert.ok(all.length >= 7, `${all.length} moments`);
  const seen = new Set<number>();
  for (const { after, restore } of all) {
    restore();
    const whole = fs.readdirSync(directory).filter(name => !name.endsWith('.tmp'));
    seen.add(whole.length);
    for (const name of whole) {
      const file = path.join(directory, name);
      assert.match(
        fs.readFileSync(file, 'utf8'),
        /^-----BEGIN \w+ KEY-----\n[\w+/=]+\n-----END \w+ KEY-----\n$/,
        after,
      );
    }
    for (const name of fs.readdirSync(directory).filter(name => name.includes('.key'))) {
      assert.equal(fs.statSync(path.join(directory, name)).mode & 0o777, 0o600, `${after}: ${name}`);
    }
  }
  assert.deepEqual([...seen].sort(), [0, 1, 2]);
});

const EPOCH = { SOURCE_DATE_EPOCH: String(Math.floor(Date.now() / 1000)) };

/** The system calls of one undisturbed run from just before the temporary file, as `name:when=N`, and what it writes. */
async function operations(t: Parameters<typeof makeRelease>[0], args: Writer['args'], output: Writer['output']) {
  const release = makeRelease(t);
  const trace = path.join(temporary(t), 'trace');
  const old = fs.readFileSync(output(release), 'utf8');
  const reader = fs.openSync(output(release), 'r');
  const prefix = ['strace', '-o', trace, '-e', `trace=${CALLS}`];
  const { exit } = await run(args(release), { prefix, env: EPOCH });
  assert.equal(exit, 0);
  // a reader of the old file still sees its bytes, which never change
  assert.equal(fs.readFileSync(reader, 'utf8'), old);
  fs.closeSync(reader);
  return { calls: window(fs.readFileSync(trace, 'utf8')), fresh: fs.readFileSync(output(release)) };
}

function window(trace: string): string[] {
  const counts = new Map<string, number>();
  const lines = trace.split('\n').flatMap(line => {
    const name = /^(\w+)\(/.exec(line)?.[1];
    if (!name) return [];
    counts.set(name, (counts.get(name) ?? 0) + 1);
    return [{ line, call: `${name}:when=${counts.get(name)}` }];
  });
  const begin = lines.findIndex(({ line }) => line.includes('.tmp"')) - BEFORE;
  const end = lines.findLastIndex(({ line }) => line.startsWith('fsync')) + 2;
  return lines.slice(begin, end).map(({ call }) => call);
}

/** The call that strace let fail, with the files that it is about. */
function injected(log: string): string | undefined {
  const calls = fs.readFileSync(log, 'utf8').split('\n');
  return calls.find(line => line.endsWith('(INJECTED)'));
}

function artifacts({ directory, object }: Release): string[] {
  return object.artifacts.map(({ name }) => path.join(directory, String(name)));
}

function secret({ directory }: Release): string {
  const file = path.join(directory, 'secret.key');
  fs.writeFileSync(file, key.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
  return file;
}

function temporaries({ directory }: Release): string[] {
  return fs.readdirSync(directory).filter(name => name.endsWith('.tmp'));
}
