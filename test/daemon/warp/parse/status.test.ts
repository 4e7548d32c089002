// Holds the status parser to every recorded status, in both forms, and to the rule that it never guesses.
import assert from 'node:assert/strict';
import test from 'node:test';
import { parseStatus, parseStatusText, reasonOfJson, reasonOfText } from '../../../../daemon/warp/parse/status.ts';
import { printed, recorded } from '../../../support/daemon/recordings.ts';

type Row = [output: string, state: string, code: string | null, text: string | null, rest?: object];

const TEXT: Row[] = [
  ['Success\nStatus update: Connected\n', 'connected', null, null],
  ['Status update: Connected\nSuccess\n', 'connected', null, null],
  ['Status update: Connected\n', 'connected', null, null],
  ['Status update: Connected\nNetwork: healthy\n', 'connected', null, null, { network: 'healthy' }],
  ['Status update: Connected\nNetwork: unstable\n', 'connected', null, null, { network: 'unstable' }],
  ['Status update: Connected\nNetwork: Unstable (12% loss)\n', 'connected', null, null, { network: 'unstable' }],
  ['Status update: Connected\nNetwork: degraded (12% loss)\n', 'connected', null, null, { network: 'unstable' }],
  ['Status update: Connected\nNetwork: healthy (0% loss)\n', 'connected', null, null, { network: 'healthy' }],
  ['Status update: Connected\nNetwork: of your employer\n', 'connected', null, null, { network: null }],
  ['Status update: Connecting\n', 'connecting', null, null],
  ['Status update: Disconnecting\n', 'disconnecting', null, null],
  ['Status update: Disconnected. Reason: Manual Disconnection\n', 'disconnected', 'Manual', 'Manual Disconnection'],
  ['Status update: Disconnected\nReason: Manual Disconnection\n', 'disconnected', 'Manual', 'Manual Disconnection'],
  ['Status update: Disconnected\nReason: Settings Changed\n', 'disconnected', 'SettingsChanged', 'Settings Changed'],
  [
    'Status update: Unable to connect. Reason: Registration Missing\n',
    'unable',
    'RegistrationMissing',
    'Registration Missing',
    { blocked: 'not-registered' },
  ],
  [
    'Status update: Unable to connect. Reason: Insufficient system resource: file descriptor\n',
    'unable',
    'InsufficientSystemResource',
    'Insufficient system resource: file descriptor',
  ],
  [
    'Status update: Unable\nReason: Registration Missing due to: Daemon Startup\n',
    'unable',
    'RegistrationMissing',
    'Registration Missing due to: Daemon Startup',
    { blocked: 'not-registered' },
  ],
  [
    'Status update: Unable\nReason: Registration Missing due to: Does not exist in API\n',
    'unable',
    'RegistrationMissing',
    'Registration Missing due to: Does not exist in API',
    { blocked: 'not-registered' },
  ],
  [
    'Status update: Unable\nReason: Connectivity check failed due to DNS Lookup Failed\n',
    'unable',
    'ConnectivityCheckFailed',
    'Connectivity check failed due to DNS Lookup Failed',
  ],
  ['Status update: Unable\nReason: No Network\n', 'unable', 'NoNetwork', 'No Network'],
  ['Status update: Unable\nReason: Happy Eyeballs Failed\n', 'unable', 'HappyEyeballsFailed', 'Happy Eyeballs Failed'],
  [
    'Status update: Connecting\nReason: Establishing connection to 162.159.198.2:443\n',
    'connecting',
    'EstablishingConnection',
    'Establishing connection to 162.159.198.2:443',
  ],
  [
    'Status update: Connecting\nReason: Performing happy eyeballs to 162.159.198.2:443\n',
    'connecting',
    'PerformingHappyEyeballs',
    'Performing happy eyeballs to 162.159.198.2:443',
  ],
  [
    'Status update: Connecting\nReason: Checking for a route to the DNS endpoint\n',
    'connecting',
    'CheckingForRouteToDnsEndpoint',
    'Checking for a route to the DNS endpoint',
  ],
  // Not what the CLI prints: the service's own debug form, seen in a diagnostics bundle.
  ['Ok(Connected)\n', 'unknown', null, null],
];

const JSON_FORM: Row[] = [
  ['{  "status": "Connected",  "reason": "NetworkHealthy"}', 'connected', null, null, { network: 'healthy' }],
  [
    '{"status":"Connecting","reason":{"PerformingHappyEyeballs":["162.159.198.2:443","[2606:4700:103::2]:443"]}}',
    'connecting',
    'PerformingHappyEyeballs',
    'Performing happy eyeballs to 162.159.198.2:443 and [2606:4700:103::2]:443',
  ],
  [
    '{"status":"Connecting","reason":{"EstablishingConnection":"162.159.198.2:443"}}',
    'connecting',
    'EstablishingConnection',
    'Establishing connection to 162.159.198.2:443',
  ],
  [
    '{"status":"Connecting","reason":"PerformingConnectivityChecks"}',
    'connecting',
    'PerformingConnectivityChecks',
    'Performing connectivity checks',
  ],
  ['{"status":"Disconnected","reason":"Manual"}', 'disconnected', 'Manual', 'Manual Disconnection'],
  [
    '{"status":"Disconnected","reason":{"SettingsChanged":{"current":{"always_on":false,"switch_locked":false,"auto_connect":null,"operation_mode":"Warp"},"previous":{"always_on":true,"switch_locked":false,"auto_connect":null,"operation_mode":"Warp"}}}}',
    'disconnected',
    'SettingsChanged',
    'Settings Changed',
  ],
  [
    '{"status":"Unable","reason":{"RegistrationMissing":"DaemonStartup"}}',
    'unable',
    'RegistrationMissing',
    'Registration Missing due to: Daemon Startup',
    { blocked: 'not-registered' },
  ],
  [
    '{"status":"Connected","reason":{"NetworkDegraded":{"rtt_ms":6}}}',
    'connected',
    'NetworkDegraded',
    'Network degraded: 6 ms round trip',
    { network: 'unstable' },
  ],
  [
    '{"status":"Connected","reason":{"NetworkDegraded":{"loss_percent":8,"rtt_ms":400}}}',
    'connected',
    'NetworkDegraded',
    'Network degraded: 8 % loss, 400 ms round trip',
    { network: 'unstable' },
  ],
  [
    '{"status":"Unable","reason":{"Port53Bound":{"offending_processes":[]}}}',
    'unable',
    'Port53Bound',
    'Port 53 is in use by another program',
  ],
  [
    '{"status":"Unable","reason":{"RegistrationMissing":{"Invalidated":"ManualDeletion"}}}',
    'unable',
    'RegistrationMissing',
    'Registration Missing due to: Invalidated (Manual Deletion)',
    { blocked: 'not-registered' },
  ],
];

function expected([, state, code, text, rest = {}]: Row) {
  return { state, reason: text === null ? null : { code, text }, network: null, blocked: null, ...rest };
}

for (const row of [...TEXT, ...JSON_FORM]) {
  test(`${JSON.stringify(row[0].slice(0, 100))} is ${row[1]}`, () => {
    assert.deepEqual(parseStatus({ stdout: row[0], stderr: '', exitCode: 0 }), expected(row));
  });
}

test('every recorded status is one of the cases above, or a failure with its own name', () => {
  const known = new Map([...TEXT, ...JSON_FORM].map(row => [row[0].trim(), expected(row)]));
  const statuses = recorded('status');
  assert.ok(statuses.length >= 40);
  for (const recording of statuses) {
    const reading = parseStatus(printed(recording));
    if (recording.stderr || recording.stdout.includes('"code"')) assert.notEqual(reading.blocked, null);
    else if (recording.stdout.includes('"update"')) assert.equal(reading.state, 'unknown');
    else if (!recording.argv.includes('--help'))
      assert.deepEqual(reading, known.get(recording.stdout.trim()), recording.stdout);
  }
});

test('line ends, colors and stray white space do not matter', () => {
  for (const output of [
    '\u001b[1mStatus update: \u001b[32mDisconnected\u001b[0m\r\nReason: Manual Disconnection\r\n',
    '\ufeffStatus update: Disconnected   \r\nReason:  Manual Disconnection  \r\n\r\n',
  ]) {
    assert.deepEqual(parseStatusText(output), {
      state: 'disconnected',
      reason: { code: 'Manual', text: 'Manual Disconnection' },
      network: null,
      blocked: null,
    });
  }
});

test('failures are reported by name, and never shown as a state', () => {
  const cases: [object, string | null, string][] = [
    [
      {
        stderr:
          'Unable to connect to the CloudflareWARP daemon: No such file or directory (os error 2)\n\nMaybe the daemon is not running?\n',
        exitCode: 1,
      },
      'service-stopped',
      'unknown',
    ],
    [
      { stderr: 'Unable to connect to the CloudflareWARP daemon: Connection refused (os error 111)\n', exitCode: 1 },
      'service-stopped',
      'unknown',
    ],
    [{ stdout: '{"code":"FailedToConnectToDaemon","error":"x"}', exitCode: 0 }, 'service-stopped', 'unknown'],
    [{ stderr: 'Error communicating with daemon: broken pipe', exitCode: 1 }, 'service-stopped', 'unknown'],
    [
      {
        stderr:
          'Please accept the WARP Terms of Service by running this command in a TTY or by passing the --accept-tos flag.',
        exitCode: 1,
      },
      'terms-not-accepted',
      'unknown',
    ],
    [
      {
        stdout:
          '{"code":"MissingRegistration","error":"Missing registration. Try running: \\"warp-cli registration new\\""}',
        exitCode: 0,
      },
      'not-registered',
      'unable',
    ],
    [
      { stderr: 'Error: Missing registration. Try running: "warp-cli registration new"', exitCode: 1 },
      'not-registered',
      'unable',
    ],
    [{ stderr: 'Error: Operation not authorized in this context.', exitCode: 1 }, 'not-authorized', 'unknown'],
    [{ stderr: 'Segmentation fault', exitCode: null }, null, 'unknown'],
    [{}, null, 'unknown'],
  ];
  for (const [output, blocked, state] of cases) {
    const reading = parseStatus({ stdout: '', stderr: '', exitCode: 0, ...output });
    assert.deepEqual([reading.blocked, reading.state], [blocked, state], JSON.stringify(output));
  }
});

test('a warning on stderr does not hide a status', () => {
  const reading = parseStatus({ stdout: 'Status update: Connected\n', stderr: 'Warning: deprecated', exitCode: 0 });
  assert.equal(reading.state, 'connected');
});

test('unknown words and shapes have the state "unknown"', () => {
  for (const output of [
    'Status update: Connecte',
    'Status update: Disconnected. Reas',
    'Status update: Hibernating',
    'Status update: Not Connected',
    'Disconnected',
    '{"status":"Paused","reason":"Manual"}',
    '{"status":"Disconn',
    '{"status":["Disconnected"]}',
    '{"state":"Disconnected"}',
    '[{"status":"Disconnected"}]',
    'WARP is Disconnected',
  ]) {
    assert.equal(parseStatus({ stdout: output, stderr: '', exitCode: 0 }).state, 'unknown', output);
  }
});

test('the last one of several updates counts', () => {
  const output =
    'Status update: Disconnected\nReason: Manual Disconnection\nStatus update: Connected\nNetwork: healthy\n';
  assert.deepEqual(parseStatusText(output), { state: 'connected', reason: null, network: 'healthy', blocked: null });
});

test('JSON with an unknown status has its reason, and JSON that only reports success is not a status', () => {
  assert.equal(parseStatusText('{"status":"Hibernating","reason":"Manual"}')?.reason?.code, 'Manual');
  assert.equal(parseStatusText('{"status":"Success","reason":"Manual"}'), null);
});

test('a field needs no space behind its colon', () => {
  assert.equal(parseStatusText('Status update: Connected\nNetwork:healthy\n')?.network, 'healthy');
});

test('text that is not a name stays as it is, anywhere in a reason', () => {
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
