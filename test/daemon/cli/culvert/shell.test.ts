// Installs the GNOME Shell tile for a user: checks the files and settings that this changes, and that removal leaves nothing.
import assert from 'node:assert/strict';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { gnome, type Place } from '../../../../daemon/cli/commands/culvert/shell.ts';
import { temporary } from '../../../support/temporary.ts';

const UUID = 'culvert@culvert.org';

/** Stands in for gsettings, with a file for each key. */
const GSETTINGS = `#!/bin/sh
cd "$(dirname "$0")/../settings" || exit 1
case $1 in
  get) cat "$3" ;;
  set) printf '%s\\n' "$4" > "$3" ;;
esac`;
/** Stands in for gdbus: records its calls, and prints the file `shell` as the answer of the running Shell. */
const GDBUS = `#!/bin/sh
echo "$*" >> "$(dirname "$0")/../called"
exec cat "$(dirname "$0")/../shell"`;

test('installs a link to the shared extension, and removal leaves nothing', async t => {
  const { place, enabled, files, root } = machine(t);
  const lines = await gnome.install(place);
  assert.match(lines.join('\n'), /turned on\.\nLog out and in again/);
  const link = join(place.data, 'gnome-shell/extensions', UUID);
  assert.equal(readlinkSync(link), join(place.share, 'gnome-shell/extensions', UUID));
  assert.equal(enabled(), `['other@example.org', '${UUID}']`);
  assert.equal(readFileSync(join(root, 'settings', 'disabled-extensions'), 'utf8').trim(), '[]');
  assert.deepEqual((await gnome.status(place)).on, true);
  await gnome.install(place);
  assert.equal(enabled(), `['other@example.org', '${UUID}']`);

  assert.deepEqual(await gnome.remove(place), ['The tile is removed.']);
  assert.equal(enabled(), "['other@example.org']");
  assert.deepEqual(files(), []);
  assert.equal((await gnome.status(place)).installed, false);
  assert.ok(existsSync(join(place.share, 'gnome-shell/extensions', UUID, 'metadata.json')));
});

test('an AppImage installs copies, and D-Bus services for its programs', async t => {
  const { place, files } = machine(t, { image: "/home/it's me/Culvert.AppImage" });
  await gnome.install(place);
  const at = join(place.data, 'gnome-shell/extensions', UUID);
  assert.equal(lstatSync(at).isDirectory(), true);
  assert.deepEqual(
    readdirSync(at, { recursive: true, encoding: 'utf8' })
      .filter(name => /\.\w+$/.test(name))
      .sort(),
    ['extension/__init__.js', 'icons/a-symbolic.svg', 'locale/de/LC_MESSAGES/culvert.mo', 'metadata.json'],
  );
  assert.deepEqual([...readFileSync(join(at, 'locale/de/LC_MESSAGES/culvert.mo'))], [0xde, 0x12, 0x04, 0x95]);
  const service = readFileSync(join(place.data, 'dbus-1/services/org.culvert.Client1.service'), 'utf8');
  assert.match(service, /^Exec='\/home\/it'\\''s me\/Culvert\.AppImage' --bus-service bridge$/m);
  await gnome.remove(place);
  assert.deepEqual(files(), []);
});

test('removal leaves nothing even if the user deleted the extension by hand', async t => {
  for (const image of [null, '/opt/Culvert.AppImage']) {
    const { place, files, enabled } = machine(t, { image });
    assert.deepEqual(await gnome.remove(place), []);
    await gnome.install(place);
    rmSync(join(place.data, 'gnome-shell/extensions', UUID), { recursive: true });
    assert.deepEqual(await gnome.remove(place), ['The tile is removed.']);
    assert.equal(enabled(), "['other@example.org']");
    assert.deepEqual(files(), []);
  }
});

test('writes nothing if a package installed the files', async t => {
  const { place, files, enabled } = machine(t, { isSystem: true });
  await gnome.install(place);
  assert.deepEqual(files(), []);
  assert.match(enabled(), new RegExp(UUID));
  assert.deepEqual(await gnome.remove(place), ['The tile is turned off; its files belong to the package.']);
  assert.doesNotMatch(enabled(), new RegExp(UUID));
});

test('the status reflects what the running Shell reports', async t => {
  const { place, shell } = machine(t);
  await gnome.install(place);
  const note = async (state: string) => {
    shell(`({'uuid': <'${UUID}'>, 'state': <${state}>},)`);
    return (await gnome.status(place)).note;
  };
  assert.equal(await note('1.0'), null);
  assert.match((await note('3.0'))!, /could not load it/);
  assert.match((await note('4.0'))!, /not supported/);
  shell('(@a{sv} {},)');
  assert.match((await gnome.status(place)).note!, /Log out/);
});

test('reports a setting that turns all extensions off', async t => {
  const { place, root } = machine(t);
  writeFileSync(join(root, 'settings', 'disable-user-extensions'), 'true\n');
  assert.match((await gnome.install(place)).join('\n'), /turned off altogether/);
});

test('without GNOME Shell, and where files of others are in the way, nothing is written', async t => {
  const { place, files, root, enabled } = machine(t);
  const foreign = join(place.data, 'gnome-shell/extensions', UUID);
  mkdirSync(foreign, { recursive: true });
  writeFileSync(join(foreign, 'mine.js'), '');
  const before = files();
  await assert.rejects(gnome.install(place), /in the way: .*culvert@culvert\.org/);
  assert.equal(enabled(), "['other@example.org']");
  writeFileSync(join(root, 'bin', 'gsettings'), '#!/bin/sh\nexit 1\n', { mode: 0o755 });
  await assert.rejects(gnome.install(place), /GNOME Shell is not installed here/);
  assert.deepEqual(files(), before);
});

test('a copy that was changed stays, and is named', async t => {
  const { place } = machine(t, { image: '/opt/Culvert.AppImage' });
  await gnome.install(place);
  const file = join(place.data, 'gnome-shell/extensions', UUID, 'metadata.json');
  writeFileSync(file, '{"mine": true}');
  assert.match((await gnome.remove(place)).join('\n'), /changed since: .*metadata\.json/);
  assert.equal(readFileSync(file, 'utf8'), '{"mine": true}');
});

interface Machine {
  place: Place;
  root: string;
  /** Sets the answer of the running Shell; null for none. */
  shell(answer: string | null): void;
  /** Calls of gdbus, one per line. */
  called(): string;
  enabled(): string;
  /** Every path in the user's home directory, relative to it. */
  files(): string[];
}

function machine(t: TestContext, more: Partial<Place> = {}): Machine {
  const root = temporary(t, 'shell');
  for (const name of ['bin', 'settings', 'home']) mkdirSync(join(root, name));
  writeFileSync(join(root, 'bin', 'gsettings'), GSETTINGS, { mode: 0o755 });
  writeFileSync(join(root, 'bin', 'gdbus'), GDBUS, { mode: 0o755 });
  writeFileSync(join(root, 'settings', 'enabled-extensions'), "['other@example.org']\n");
  writeFileSync(join(root, 'settings', 'disabled-extensions'), `['${UUID}']\n`);
  writeFileSync(join(root, 'settings', 'disable-user-extensions'), 'false\n');
  const share = join(root, 'share');
  const extension = join(share, 'gnome-shell/extensions', UUID);
  mkdirSync(join(extension, 'extension'), { recursive: true });
  mkdirSync(join(share, 'icons/hicolor/scalable/status'), { recursive: true });
  mkdirSync(join(share, 'locale/de/LC_MESSAGES'), { recursive: true });
  writeFileSync(join(extension, 'metadata.json'), '{}');
  writeFileSync(join(extension, 'extension/__init__.js'), '');
  writeFileSync(join(share, 'icons/hicolor/scalable/status/a-symbolic.svg'), '<svg/>');
  writeFileSync(join(share, 'locale/de/LC_MESSAGES/culvert.mo'), Buffer.from([0xde, 0x12, 0x04, 0x95]));
  writeFileSync(join(share, 'locale/de/LC_MESSAGES/gtk40.mo'), '');
  symlinkSync('../../../icons/hicolor/scalable/status', join(extension, 'icons'));
  symlinkSync('../../../locale', join(extension, 'locale'));
  const home = join(root, 'home');
  const called = join(root, 'called');
  return {
    root,
    place: {
      env: { PATH: `${join(root, 'bin')}:${process.env.PATH}`, XDG_DATA_DIRS: join(root, 'system') },
      share,
      image: null,
      isSystem: false,
      data: join(home, '.local/share'),
      records: join(home, '.local/state/culvert/shells'),
      ...more,
    },
    shell: answer => writeFileSync(join(root, 'shell'), answer ?? ''),
    called: () => (existsSync(called) ? readFileSync(called, 'utf8') : ''),
    enabled: () => readFileSync(join(root, 'settings', 'enabled-extensions'), 'utf8').trim(),
    files: () => readdirSync(home, { recursive: true, encoding: 'utf8' }).sort(),
  };
}
