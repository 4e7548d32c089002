// Both forms of a reason must say the same sentence, whatever details the JSON form carries.
import assert from 'node:assert/strict';
import test from 'node:test';
import { reasonOfJson, reasonOfText } from '../../../../daemon/warp/parse/reasons.ts';

test('text that is no name stays as it is, in each place of a reason', () => {
  for (const text of [
    '2026-12-01T00:00:00Z',
    '192.0.2.7:2408',
    '[2001:DB8::Aa]:443',
    'iPhone von Anna',
    'a/bC',
    'x:Y',
  ]) {
    assert.equal(reasonOfJson(text)?.text, text);
    assert.equal(reasonOfJson({ NoNetwork: text })?.text, `No Network: ${text}`);
    assert.equal(reasonOfJson({ NoNetwork: [text, 'BadLuck'] })?.text, `No Network: ${text}, Bad Luck`);
    assert.equal(reasonOfJson({ NoNetwork: { PausedUntil: text } })?.text, `No Network: Paused Until (${text})`);
  }
});

test('a captured sentence has the same code and text in both forms', () => {
  const pairs: [json: unknown, text: string][] = [
    ['Manual', 'Manual Disconnection'],
    [{ SettingsChanged: { current: {}, previous: {} } }, 'Settings Changed'],
    [{ RegistrationMissing: 'DaemonStartup' }, 'Registration Missing due to: Daemon Startup'],
    [{ RegistrationMissing: 'DoesNotExistInApi' }, 'Registration Missing due to: Does not exist in API'],
    [
      { PerformingHappyEyeballs: ['192.0.2.1:2408', '[2001:db8::1]:2408'] },
      'Performing happy eyeballs to 192.0.2.1:2408 and [2001:db8::1]:2408',
    ],
    [{ EstablishingConnection: '192.0.2.1:443' }, 'Establishing connection to 192.0.2.1:443'],
    ['CheckingForRouteToDnsEndpoint', 'Checking for a route to the DNS endpoint'],
    [{ ConnectivityCheckFailed: 'DNSLookupFailed' }, 'Connectivity check failed due to DNS Lookup Failed'],
    ['HappyEyeballsFailed', 'Happy Eyeballs Failed'],
    ['NoNetwork', 'No Network'],
    [{ InsufficientSystemResource: 'FileDescriptor' }, 'Insufficient system resource: file descriptor'],
  ];
  for (const [json, text] of pairs) assert.deepEqual(reasonOfJson(json), reasonOfText(text), text);
});

test('a name without captured English becomes words', () => {
  assert.deepEqual(reasonOfJson('SettingRoutes'), { code: 'SettingRoutes', text: 'Setting routes' });
  assert.deepEqual(reasonOfJson({ FutureThing: { someNumber: 3, kind: 'BadLuck' } }), {
    code: 'FutureThing',
    text: 'Future thing: some Number (3), kind (Bad Luck)',
  });
});

test('offending programs are named', () => {
  const reason = reasonOfJson({ Port53Bound: { offending_processes: ['dnsmasq', 'named'] } });
  assert.equal(reason?.text, 'Port 53 is in use by dnsmasq, named');
});

test('English that is not captured has no code, and no reason is null', () => {
  assert.deepEqual(reasonOfText('The moon is full'), { code: null, text: 'The moon is full' });
  for (const none of [null, undefined, '']) assert.equal(reasonOfJson(none), null);
  assert.equal(reasonOfText('  '), null);
});

test('an object of several keys is shown as it is', () => {
  assert.deepEqual(reasonOfJson({ a: 1, b: 2 }), { code: null, text: '{"a":1,"b":2}' });
});

test('figures of a degraded network are given as far as they are known', () => {
  const text = (details: unknown) => reasonOfJson({ NetworkDegraded: details })?.text;
  assert.equal(text({ loss_percent: 3, rtt_ms: 240 }), 'Network degraded: 3 % loss, 240 ms round trip');
  assert.equal(text({ loss_percent: 3, rtt_ms: '240' }), 'Network degraded: 3 % loss');
  assert.equal(text({ loss_percent: null, rtt_ms: 240 }), 'Network degraded: 240 ms round trip');
  for (const none of [{}, 'a lot', null, 3]) assert.equal(text(none), 'Network degraded', String(none));
});

test('details that are missing leave the plain sentence', () => {
  for (const name of ['NoNetwork', 'Port53Bound', 'RegistrationMissing', 'EstablishingConnection'])
    assert.equal(reasonOfJson({ [name]: null })?.text, reasonOfJson(name)?.text, name);
});
