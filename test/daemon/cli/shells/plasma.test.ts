// The applet of Plasma on a user's machine: what is written, what a user of an older Plasma reads, and that a removal leaves nothing.
import assert from 'node:assert/strict';
import { lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { gnome } from '../../../../daemon/cli/commands/shells/gnome.ts';
import { plasma } from '../../../../daemon/cli/commands/shells/plasma.ts';
import { machine } from './machine.ts';

const APPLET = 'plasma/plasmoids/org.culvert.Culvert';
const CATALOG = 'locale/de/LC_MESSAGES/culvert.mo';

test('links lead to the tree and its catalogs, Plasma is notified, and a removal leaves nothing', async t => {
  const { place, files, called } = machine(t);
  assert.deepEqual(await plasma.status(place), { installed: false, on: false, note: null });
  assert.match((await plasma.install(place)).join('\n'), /applet is installed in .*\nAdd it to a panel: /);
  for (const path of [APPLET, CATALOG]) assert.equal(readlinkSync(join(place.data, path)), join(place.share, path));
  assert.match(
    called(),
    /Plasma\/Applet --signal org\.kde\.plasma\.kpackage\.packageInstalled org\.culvert\.Culvert\n/,
  );
  assert.match((await plasma.status(place)).note!, /^Add it to a panel/);
  await plasma.install(place);
  assert.deepEqual(await plasma.remove(place), ['The applet is removed.']);
  assert.match(called(), /kpackage\.packageUninstalled org\.culvert\.Culvert\n$/);
  assert.deepEqual(files(), []);
  assert.deepEqual(await plasma.remove(place), []);
});

test('an applet in a panel is on, and its removal says what stays there', async t => {
  const { place } = machine(t);
  await plasma.install(place);
  mkdirSync(place.config);
  const settings = join(place.config, 'plasma-org.kde.plasma.desktop-appletsrc');
  writeFileSync(settings, '[Containments][2][Applets][3]\nimmutability=1\nplugin=org.culvert.Culvert\n');
  assert.deepEqual(await plasma.status(place), { installed: true, on: true, note: null });
  assert.match((await plasma.remove(place)).join('\n'), /A panel still has a place for it/);
});

test('for an older Plasma or a missing one, prints what is needed, and writes nothing', async t => {
  const { place, files, setPlasma } = machine(t);
  for (const old of ['5.27.5', '6.3.6']) {
    setPlasma(old);
    await assert.rejects(plasma.install(place), {
      message: `The applet needs Plasma 6.4 or newer, and this is ${old.replace(/\.\d$/, '')}.`,
    });
  }
  setPlasma(null);
  await assert.rejects(plasma.install(place), /Plasma is not installed here/);
  assert.deepEqual(files(), []);
  for (const good of ['6.4.0', '6.10.1', '7.0']) {
    setPlasma(good);
    await plasma.install(place);
  }
  setPlasma('6.3.6');
  assert.match((await plasma.status(place)).note!, /needs Plasma 6\.4/);
});

test('a package brings the files, so that nothing is written', async t => {
  const { place, files } = machine(t, { isSystem: true });
  assert.match((await plasma.install(place))[0]!, /installed in .*\/share\/plasma\/plasmoids\/org\.culvert\.Culvert/);
  assert.deepEqual(files(), []);
  assert.deepEqual(await plasma.remove(place), []);
});

test('both shells of an AppImage share the services of its programs, which go with the last of them', async t => {
  for (const [first, second] of [
    [gnome, plasma],
    [plasma, gnome],
  ] as const) {
    const { place, files } = machine(t, { image: '/opt/Culvert.AppImage' });
    await first.install(place);
    await second.install(place);
    assert.equal(lstatSync(join(place.data, APPLET)).isDirectory(), true);
    for (const path of [`${APPLET}/contents/ui/main.qml`, CATALOG, 'icons/hicolor/scalable/status/a-symbolic.svg'])
      assert.equal(lstatSync(join(place.data, path)).isFile(), true, path);
    const services = join(place.data, 'dbus-1/services');
    await first.remove(place);
    assert.deepEqual(readdirSync(services).sort(), ['org.culvert.Client1.service', 'org.culvert.Culvert.service']);
    assert.match(readFileSync(join(services, 'org.culvert.Client1.service'), 'utf8'), /--bus-service bridge$/m);
    await second.remove(place);
    assert.deepEqual(files(), []);
  }
});
