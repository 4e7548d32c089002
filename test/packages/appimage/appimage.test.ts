// The AppImage of this tree: built with a quick compression, started by its own head, unpacked and run.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { after, describe, test } from 'node:test';
import { build, downloads, testPrograms, Unavailable, version } from '../../support/packages/packages.ts';

const missing = ['/usr/include/squashfuse/ll.h', '/usr/include/fuse3/fuse.h', '/usr/bin/mksquashfs', '/usr/bin/strip']
  .concat(['/usr/bin/gcc', '/usr/lib/apt/apt-helper', '/usr/share/keyrings/debian-archive-keyring.gpg'])
  .find(file => !existsSync(file));
const impossible = ['x64', 'arm64'].includes(process.arch)
  ? missing && `${missing} is not installed`
  : 'the AppImage is for x86_64 and aarch64';

// hundreds of megabytes, which a temporary directory in memory has no place for
mkdirSync(resolve('build'), { recursive: true });
const at = mkdtempSync(resolve('build/appimage-test-'));
after(() => rmSync(at, { recursive: true, force: true }));
const image = join(at, 'culvert.AppImage');

/** Builds and unpacks the image. @returns why it can't be built here, as `skip` takes it */
async function make(): Promise<string | false> {
  const env = {
    CULVERT_IMAGE_LEVEL: '1',
    CULVERT_DOWNLOADS: downloads('appimage'),
    CULVERT_SYSROOTS: downloads('sysroots'),
  };
  try {
    await build('data/appimage/build.sh', [image, join(at, 'work')], env);
  } catch (error) {
    if (error instanceof Unavailable) return error.message;
    throw error;
  }
  execFileSync(image, ['--appimage-extract'], { cwd: at, stdio: 'ignore' });
  return false;
}

describe('the AppImage', { skip: impossible ?? (await make()) }, () => {
  test('it runs from its file', () => {
    const env = { PATH: process.env.PATH, HOME: at, APPIMAGE_EXTRACT_AND_RUN: '1', TMPDIR: at };
    const text = execFileSync(image, ['--version'], { env, encoding: 'utf8' });
    assert.equal(text, `culvert ${version}\n`);
  });

  testPrograms(program =>
    program === 'culvert' ? [join(at, 'squashfs-root/AppRun')] : [join(at, 'squashfs-root/AppRun'), `--${program}`],
  );

  test('its own gjs loads its own libadwaita', () => {
    const gtk = join(at, 'squashfs-root/usr/lib/culvert/gtk');
    const script = "imports.gi.versions.Adw = '1'; print(imports.gi.Adw.MAJOR_VERSION)";
    const words = ['--library-path', join(gtk, 'lib'), join(gtk, 'gjs-console'), '-c', script];
    const env = { PATH: process.env.PATH, HOME: at, GI_TYPELIB_PATH: join(gtk, 'typelib') };
    const loader = readdirSync(join(gtk, 'lib')).find(name => name.startsWith('ld-linux-'))!;
    const { stdout, stderr } = spawnSync(join(gtk, 'lib', loader), words, { encoding: 'utf8', env });
    assert.equal(stdout.trim(), '1', stderr);
  });
});
