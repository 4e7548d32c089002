// The launcher before the daemon proper: its flags, and the addresses to listen on.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { DEFAULTS } from '../../daemon/config/keys.ts';
import { addressesOf, FRUGAL, parseFlags } from '../../daemon/launcher.ts';

test('listens on another loopback address in addition to the two by which clients reach the daemon', () => {
  const bound = (bind: string) => addressesOf({ ...DEFAULTS, server: { port: 4173, bind } });
  assert.deepEqual(bound('127.0.0.2'), { addresses: ['127.0.0.2', '127.0.0.1', '::1'], remote: false });
  assert.deepEqual(bound('::1'), { addresses: ['127.0.0.1', '::1'], remote: false });
});

test('remote access listens everywhere, and behind a reverse proxy on loopback alone unless it is given more', () => {
  const bound = (webui: object, bind = '127.0.0.1') =>
    addressesOf({
      ...DEFAULTS,
      server: { port: 4173, bind },
      webui: { ...DEFAULTS.webui, enabled: true, allowRemote: true, ...webui },
    });
  const everywhere = { addresses: ['0.0.0.0', '::'], remote: true };
  const address = 'https://culvert.example.org';
  assert.deepEqual(bound({}), everywhere);
  assert.deepEqual(bound({ address }), { addresses: ['127.0.0.1', '::1'], remote: true });
  assert.deepEqual(bound({ address }, '0.0.0.0'), everywhere);
});

test('a port on the command line is a decimal number from 1 to 65535', () => {
  assert.equal(parseFlags(['--port', '4173']).port, 4173);
  for (const port of ['0', '65536', '0x1051', '1e3', '', '-1'])
    assert.throws(() => parseFlags([`--port=${port}`]), TypeError, port);
});

test('an option that only prints is named where it has company', () => {
  for (const lone of ['--status', '--version', '--help'])
    assert.throws(
      () => parseFlags(['--no-open', lone]),
      new TypeError(`${lone} is used without other options: culvert ${lone}`),
    );
});

test('a panel that the session bus starts is as frugal as a panel that the launcher starts', () => {
  const service = readFileSync('data/org.culvert.Culvert.service.in', 'utf8');
  const [, settings] = /^Exec=\/usr\/bin\/env (.*) @GJS@ /m.exec(service)!;
  assert.deepEqual(Object.fromEntries(settings!.split(' ').map(setting => setting.split('='))), FRUGAL);
});
