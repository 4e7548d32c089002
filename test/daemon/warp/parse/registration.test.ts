// Holds the account parser to the recorded answers, and the license key to its mask.
import assert from 'node:assert/strict';
import test from 'node:test';
import { parseDevices, parseRegistration, UNREGISTERED } from '../../../../daemon/warp/parse/registration.ts';
import { recorded } from '../../../support/daemon/recordings.ts';

test('recorded registrations of consumers and teams, in text and JSON', () => {
  const readings = recorded('registration show')
    .map(row => parseRegistration(row.stdout))
    .filter(reading => reading !== null);
  assert.deepEqual(
    readings.map(({ registered, type, organization, managed }) => [registered, type, organization, managed]),
    [
      [true, 'Free', null, false],
      [true, 'Free', null, false],
      [true, 'Team', 'acme-team', true],
    ],
  );
  assert.equal(readings[2]?.deviceId, '66666666-7777-8888-9999-000000000000');
  assert.equal(readings[0]?.accountId, '0'.repeat(32));
});

test('only the last four characters of a license are shown, also when it was masked before', () => {
  for (const license of ['abcdefgh-ijklmnop-qrstuvwx', '****uvwx']) {
    assert.equal(parseRegistration(`Account type: Free\nLicense: ${license}\n`)?.license, '****uvwx');
    assert.equal(parseRegistration(JSON.stringify({ device_id: 'd', account: { license } }))?.license, '****uvwx');
  }
});

test('a missing registration, failures and other text are not a registration', () => {
  for (const row of recorded('registration show').filter(row => /Missing/.test(row.stdout + row.stderr))) {
    assert.equal(parseRegistration(row.stdout), null);
  }
  for (const text of ['', 'Success', '[]', '{}', 'License: x']) assert.equal(parseRegistration(text), null, text);
});

test('devices in JSON and in blocks of text', () => {
  const json = '[{"device_id":"a","name":"laptop","model":"T14","active":true},{"device_id":"b"},{"name":"no id"},7]';
  assert.deepEqual(parseDevices(json), [
    { deviceId: 'a', name: 'laptop', model: 'T14', os: null, active: true },
    { deviceId: 'b', name: null, model: null, os: null, active: null },
  ]);
  const text = 'Device ID: a\n  Name: laptop\n  Model: T14\n  Active: true\n\nDevice ID: b\n  Name: phone\n';
  assert.deepEqual(
    parseDevices(text).map(({ deviceId, name, active }) => [deviceId, name, active]),
    [
      ['a', 'laptop', true],
      ['b', 'phone', null],
    ],
  );
  for (const none of ['', '{}', 'Error: nothing']) assert.deepEqual(parseDevices(none), []);
});

test('JSON with either an account or a device is a registration', () => {
  assert.equal(parseRegistration('{"device_id":"d"}')?.deviceId, 'd');
  assert.equal(parseRegistration('{"account":{"id":"a"}}')?.accountId, 'a');
  assert.equal(UNREGISTERED.registered, false);
});

test('devices inside an object are found', () => {
  assert.deepEqual(parseDevices('{"devices":[{"id":"a","type":"linux"}]}'), [
    { deviceId: 'a', name: null, model: null, os: 'linux', active: null },
  ]);
});
