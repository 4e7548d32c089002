// The applet of Plasma, as text: what it uses of org.culvert.Client1 exists there with that type, and its words have translations.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { po } from 'gettext-parser';

const UI = 'data/plasma/contents/ui';
const xml = readFileSync('data/org.culvert.Client1.xml', 'utf8');
const read = (name: string) => readFileSync(`${UI}/${name}`, 'utf8');
const client = read('Client.qml');
const files = readdirSync(UI);

/** Type in QML of a type on the bus. */
const QML: Record<string, string> = { s: 'string', b: 'bool', t: 'double', d: 'double', u: 'double' };

const properties = new Map(
  [...xml.matchAll(/<property name="(\w+)" type="(\S+)" access="read"\/>/g)].map(([, name, type]) => [name!, type!]),
);
/** Signatures of the arguments of each method. */
const methods = new Map(
  [...xml.matchAll(/<method name="(\w+)"(?:\/>|>(.*?)<\/method>)/gs)].map(([, name, args = '']) => [
    name!,
    [...args.matchAll(/type="(\S+)" direction="in"/g)].map(([, type]) => type).join(''),
  ]),
);
/** The properties that Client.qml keeps, with their types in QML. */
const kept = [...client.slice(0, client.indexOf('Whether somebody')).matchAll(/^ {4}property (\w+) (\w+)/gm)].map(
  ([, type, name]) => ({ type: type!, name: name! }),
);

test('each property that the applet keeps exists on the bus with its type', () => {
  assert.ok(kept.length >= 14, `only ${kept.length}`);
  for (const { type, name } of kept) {
    const signature = properties.get(name[0]!.toUpperCase() + name.slice(1));
    assert.ok(signature, `${name} is no property of the interface`);
    assert.equal(type, QML[signature] ?? 'var', name);
  }
});

test('each method that the applet calls exists with these arguments', () => {
  const calls = [...client.matchAll(/(?:change\(|send\(name, )"(\w+)", "([^"]*)"/g)];
  const called = calls.map(([, name]) => name!);
  assert.deepEqual(
    called.filter(name => !methods.has(name)),
    [],
  );
  for (const [, name, signature] of calls)
    assert.equal(signature, methods.get(name!) ? `(${methods.get(name!)})` : '', name);
  const wanted = ['Connect', 'Disconnect', 'Pause', 'SetMode', 'SetKillSwitch', 'Keep', 'Revert', 'Remedy', 'Open'];
  assert.deepEqual([...new Set(called)].sort(), [...wanted, 'Refresh'].sort());
});

test('the client has all that the views read of it', () => {
  const own = new Set(
    [...client.matchAll(/^ {4}(?:readonly )?(?:property \S+ (\w+)|function (\w+))/gm)].map(m => m[1] ?? m[2]),
  );
  for (const file of files.filter(name => name !== 'Client.qml'))
    for (const [, name] of read(file).matchAll(/\bclient\.(\w+)/g)) assert.ok(own.has(name), `${file}: ${name}`);
});

test('a name that has no owner leaves nothing of the last state', () => {
  const forget = client.slice(client.indexOf('function forget'), client.indexOf('function show'));
  for (const { name } of kept) assert.match(forget, new RegExp(`\\b${name}\\b`));
});

test('only the file that is loaded on its own needs the D-Bus part, and none a private part of Plasma', () => {
  for (const file of files) {
    const imports = [...read(file).matchAll(/^import (\S+)/gm)].map(([, name]) => name);
    assert.equal(imports.includes('org.kde.plasma.workspace.dbus'), file === 'Client.qml', file);
    assert.ok(!imports.some(name => name!.includes('private')), file);
  }
});

test('the only timer is that of a countdown on the screen', () => {
  const timers = files.flatMap(file => [...read(file).matchAll(/^ *Timer \{.*?^ *\}/gms)].map(([text]) => text));
  assert.equal(timers.length, 1);
  assert.match(timers[0]!, /running: root\.isLookedAt && root\.pauseEnds > 0$/m);
});

test('translators get the words of the applet, and its description is as they have it', () => {
  const listed = readFileSync('po/POTFILES', 'utf8').split('\n');
  const worded = files.filter(file => /\bi18nd/.test(read(file))).map(file => `${UI}/${file}`);
  assert.ok(worded.length > 0);
  for (const file of worded) assert.ok(listed.includes(file), file);
  // a text without a domain would be looked for in a catalog that does not exist
  for (const file of files) assert.doesNotMatch(read(file), /\bi18nc?p?\(|\bi18ndp?\((?!"culvert")/, file);
  const { KPlugin } = JSON.parse(readFileSync('data/plasma/metadata.json.in', 'utf8'));
  for (const language of readFileSync('po/LINGUAS', 'utf8').trim().split('\n')) {
    const { msgstr } = po.parse(readFileSync(`po/${language}.po`)).translations['']![KPlugin.Description]!;
    assert.equal(KPlugin[`Description[${language}]`], msgstr[0], language);
  }
});
