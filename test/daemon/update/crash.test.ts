// Killed, or out of disk, at each file operation of an update: the old version or the new one is there, whole, and the next
// update goes through as if nothing had been.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { after, describe, type TestContext, test } from 'node:test';
import { install, repair, uninstall, withInstallLock } from '../../../daemon/update/installation.ts';
import { userLayout } from '../../../daemon/update/user-layout.ts';
import { FILE_CALLS, fileOperations } from '../../support/file-operations.ts';
import { key, pem } from '../../support/manifest/release.ts';
import { moments } from '../../support/moments.ts';
import { bundleScript } from '../../support/script.ts';
import { sample } from '../../support/thoroughness.ts';
import { pack, smallTree } from '../../support/update/small-tree.ts';
import { createSource, type Ends, publish, type Source, script, temporary } from '../../support/update/source.ts';

const programs = temporary({ after });
const program = (name: string) => bundleScript(path.join(import.meta.dirname, '../../support/update', name), programs);
const APPLY = program('apply.ts');
const INSTALL = program('install.ts');

interface Kind {
  format: 'appimage' | 'user';
  /** Puts version 1.0.0 into an empty home. */
  prepare(home: string): Promise<void>;
  artifact(directory: string): Record<string, Buffer>;
  /** The version that is there now; fails when it is not whole. */
  version(home: string): string;
  /** Completes the interrupted update, as the next start of the daemon does. */
  settle(home: string): Promise<void>;
  /** Names below the home when 2.0.0 is installed and nothing was ever interrupted. */
  left: RegExp;
}

const image = (home: string) => path.join(home, 'Culvert.AppImage');
const NEW = { 'bin/culvert-new': '#!/bin/sh\n' };

const kinds: Kind[] = [
  {
    format: 'appimage',
    async prepare(home) {
      fs.writeFileSync(image(home), script('1.0.0'), { mode: 0o755 });
    },
    artifact: () => ({ [`culvert-2.0.0-${os.machine()}.AppImage`]: script('2.0.0') }),
    version(home) {
      const found = ['1.0.0', '2.0.0'].find(version => fs.readFileSync(image(home)).equals(script(version)));
      assert.ok(found, 'it is neither the old file nor the new one');
      assert.equal(fs.statSync(image(home)).mode & 0o777, 0o755);
      return found;
    },
    async settle() {},
    left: /^(Culvert\.AppImage|\.Culvert\.AppImage\.previous|\.local.*\/update\.json)$/,
  },
  {
    format: 'user',
    prepare: home =>
      withInstallLock(userLayout({ HOME: home }), () => {
        const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'culvert-update-'));
        install(userLayout({ HOME: home }), smallTree(directory, '1.0.0'), '1.0.0');
        fs.rmSync(directory, { recursive: true });
      }),
    artifact: directory => ({ 'culvert-2.0.0-user.tar.gz': pack(smallTree(directory, '2.0.0', NEW)) }),
    version(home) {
      const { bin, current } = userLayout({ HOME: home });
      const { stdout } = spawnSync(path.join(bin, 'culvert'), ['--version'], { encoding: 'utf8' });
      const version = /^culvert ([12]\.0\.0)\n$/.exec(stdout)?.[1];
      assert.ok(version, `it does not run: ${stdout}`);
      assert.equal(fs.readFileSync(path.join(current, 'share/culvert/daemon/main.cjs'), 'utf8'), `// ${version}\n`);
      return version;
    },
    async settle(home) {
      const layout = userLayout({ HOME: home });
      await withInstallLock(layout, () => repair(layout));
    },
    left: /^\.local\/(bin\/culvert(-new)?|state\/culvert\/update\.json|share\/(culvert\/(install\.json|current|previous|versions\/[12]\.0\.0\/.*)|(applications|icons|systemd)\/.*))$/,
  },
];

for (const kind of kinds) {
  describe(`an update of the format ${kind.format}`, { concurrency: 2 }, () => {
    test('killed before any of its file operations, it leaves the old version or the new one', async t => {
      if (spawnSync('strace', ['-V']).status !== 0) return t.skip('strace is not installed');
      const source = await published(t, kind);
      const home = await homeWith(t, kind);
      const all = await moments(t, home, updating(kind, source), { env: environment(home) });
      assert.ok(all.length >= 20, `${all.length} moments`);
      const seen = new Set<string>();
      const tried = sample(all, 6);
      const updatedAgain = sample(tried, 2);
      for (const moment of tried) {
        const { after } = moment;
        moment.restore();
        const version = kind.version(home);
        seen.add(version);
        await kind.settle(home);
        assert.equal(kind.version(home), version, after);
        const again = updatedAgain.includes(moment);
        if (again) await goesOn(home, kind, source, after);
        // leftovers of the killed run are gone, or go with the next
        const odd = names(home).filter(name => !kind.left.test(name) && !/\/lock(\.\d+)?$|\.culvert-new$/.test(name));
        if (again) assert.deepEqual(odd, [], after);
        if (kind.format === 'user') await gone(home, after);
      }
      assert.deepEqual([...seen].sort(), ['1.0.0', '2.0.0'], 'it was killed before and after the switch');
    });

    test('with the disk full at any of its file operations, it says so and leaves the old version or the new one', async t => {
      if (spawnSync('strace', ['-V']).status !== 0) return t.skip('strace is not installed');
      const { source, calls } = await trace(t, kind);
      let refused = 0;
      const seen = new Set<string>();
      const writing = calls.filter(call => /^(openat|write|fsync|rename|symlink|link|mkdir)/.test(call));
      await each(writing, async (call, again) => {
        const home = await homeWith(t, kind);
        const inject = `inject=${call.replace(':', ':error=ENOSPC:')}`;
        const { code, killed, stderr } = await run(home, kind, source, ['strace', '-o', '/dev/null', '-e', inject]);
        const version = kind.version(home);
        // the writes of a run are not always the same ones: now and then it is one by which Node's threads wake each other
        if (killed && call.startsWith('write')) return fs.rmSync(home, { recursive: true });
        if (version === '1.0.0') {
          assert.notEqual(code, 0, `${call}: it claims to have updated`);
          // or the message's own; a starved machine may give up on the source before this operation
          if (!call.startsWith('write')) assert.match(stderr, /No space left on disk|ENOSPC|disk-full|^stalled /, call);
          refused++;
        } else if (!call.startsWith('write')) {
          assert.equal(code, 0, `${call}: it updated, and says that it did not: ${stderr}`);
          seen.add(call);
        }
        await kind.settle(home);
        assert.equal(kind.version(home), version, call);
        if (again) await goesOn(home, kind, source, call);
        fs.rmSync(home, { recursive: true });
      });
      assert.ok(refused > 0 && seen.size > 0, `${refused} and ${seen.size} of ${writing.length}`);
    });
  });
}

describe('an installation by hand', { concurrency: 2 }, () => {
  const version = (home: string) =>
    spawnSync(path.join(userLayout({ HOME: home }).bin, 'culvert'), ['--version'], {
      encoding: 'utf8',
    }).stdout?.trim() ?? null;
  const installInto = (home: string, tree: string) =>
    withInstallLock(userLayout({ HOME: home }), () => install(userLayout({ HOME: home }), tree, '1.0.0'));

  test('killed before any of its file operations, a first one is whole or nothing, and goes through or away after', async t => {
    if (spawnSync('strace', ['-V']).status !== 0) return t.skip('strace is not installed');
    const tree = smallTree(temporary(t), '1.0.0');
    const home = temporary(t);
    const argv = [process.execPath, INSTALL, 'install', tree, '1.0.0'];
    const all = await moments(t, home, argv, { env: environment(home) });
    const seen = new Set<string | null>();
    const tried = sample(all, 6);
    const installedAgain = sample(tried, 2);
    for (const moment of tried) {
      const { after } = moment;
      moment.restore();
      const now = version(home);
      assert.ok(now === null || now === 'culvert 1.0.0', `${after}: ${now}`);
      seen.add(now);
      if (installedAgain.includes(moment)) {
        await installInto(home, tree);
        assert.equal(version(home), 'culvert 1.0.0', after);
      }
      await gone(home, after);
    }
    assert.deepEqual([...seen].sort(), ['culvert 1.0.0', null]);
  });

  test('a removal that is killed before any of its file operations is completed by the next', async t => {
    if (spawnSync('strace', ['-V']).status !== 0) return t.skip('strace is not installed');
    const tree = smallTree(temporary(t), '1.0.0');
    const home = temporary(t);
    await installInto(home, tree);
    const all = await moments(t, home, [process.execPath, INSTALL, 'uninstall'], { env: environment(home) });
    for (const { after, restore } of sample(all, 6)) {
      restore();
      const now = version(home);
      assert.ok(now === null || now === 'culvert 1.0.0', `${after}: ${now}`);
      await gone(home, after);
    }
  });
});

/** The next update goes through as if nothing had been. */
async function goesOn(home: string, kind: Kind, source: Source, call: string): Promise<void> {
  if (kind.version(home) === '1.0.0') assert.equal((await run(home, kind, source)).code, 0, call);
  assert.equal(kind.version(home), '2.0.0', call);
}

async function gone(home: string, call: string): Promise<void> {
  const layout = userLayout({ HOME: home });
  await withInstallLock(layout, () => uninstall(layout));
  const rest = names(home).filter(name => !name.startsWith('.local/state'));
  assert.deepEqual(rest, [], `${call}: removal leaves nothing`);
}

async function homeWith(t: Ends, kind: Kind): Promise<string> {
  const home = temporary(t);
  await kind.prepare(home);
  return home;
}

/** A server that has version 2.0.0. */
async function published(t: TestContext, kind: Kind): Promise<Source> {
  const source = await createSource(t);
  publish(source, '2.0.0', kind.artifact(temporary(t)));
  return source;
}

/** The file operations of an undisturbed update within its home, as `strace -e inject` takes them: `name:when=N`. */
async function trace(t: TestContext, kind: Kind): Promise<{ source: Source; calls: string[] }> {
  const source = await published(t, kind);
  const home = await homeWith(t, kind);
  const log = path.join(temporary(t), 'trace');
  const { code, stderr } = await run(home, kind, source, ['strace', '-y', '-o', log, '-e', `trace=${FILE_CALLS}`]);
  assert.equal(code, 0, stderr);
  assert.equal(kind.version(home), '2.0.0');
  assert.deepEqual(
    names(home).filter(name => !kind.left.test(name)),
    [],
  );
  const calls = fileOperations(log, home, 'all').map(({ call, ordinal }) => `${call}:when=${ordinal}`);
  return { source, calls };
}

const updating = ({ format }: Kind, source: Source) => [process.execPath, APPLY, format, '1.0.0', source.url];

const environment = (home: string) => ({
  PATH: process.env.PATH!,
  HOME: home,
  TEST_KEY: pem(key),
  APPIMAGE: image(home),
});

const LIMIT_MS = 120_000;

function run(home: string, kind: Kind, source: Source, prefix: string[] = []) {
  const [program, ...words] = [...prefix, ...updating(kind, source)];
  const child = spawn(program!, words, {
    env: environment(home),
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true,
  });
  const limit = setTimeout(() => process.kill(-child.pid!, 'SIGKILL'), LIMIT_MS);
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (piece: string) => (stderr += piece));
  return new Promise<{ code: number | null; killed: boolean; stderr: string }>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => {
      clearTimeout(limit);
      resolve({ code, killed: signal === 'SIGKILL' || code === 137, stderr });
    });
  });
}

/** Two at a time. After every third, whether the next update goes through is tried as well. */
async function each(calls: string[], work: (call: string, again: boolean) => Promise<void>): Promise<void> {
  const left = [...sample(calls, 4).entries()];
  const worker = async () => {
    for (let next = left.shift(); next; next = left.shift()) await work(next[1], next[0] % 3 === 0);
  };
  await Promise.all([worker(), worker()]);
}

function names(home: string): string[] {
  return fs
    .readdirSync(home, { recursive: true, withFileTypes: true })
    .filter(entry => !entry.isDirectory())
    .map(entry => path.relative(home, path.join(entry.parentPath, entry.name)))
    .sort();
}
