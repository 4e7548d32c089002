// Every set of names that a parser compares with: an unknown value of each is kept, and named for a report.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { CommandOutput, Snapshot } from '../../../../daemon/api/schema.ts';
import { createState } from '../../../../daemon/state/store.ts';
import type { Extra } from '../../../../daemon/warp/cli/version.ts';
import { parseStatus } from '../../../../daemon/warp/parse/status.ts';
import { type Answer, unknownIn } from '../../../../daemon/warp/parse/unknown.ts';
import { createTunnelStore } from '../../../../daemon/warp/tunnel-store.ts';
import { recordings } from '../../../support/daemon/recordings.ts';

/** A word that no version of the client has. */
const NEW = 'Zyxomatic';

interface Row {
  /** Sets of names of the parsers, and enumerations of the contract, that the value is not in. */
  sets: readonly string[];
  answer: Answer;
  text: string;
  /** The name under which it is reported. */
  name: string;
}

const settings = (line: string) => `Merged configuration:\n(default)\tMode: Warp\n${line}\n`;
const json = (more: object) => JSON.stringify({ settings: { always_on: true, operation_mode: 'warp', ...more } });

const ROWS: Row[] = [
  { sets: ['STATES', 'ConnectionState'], answer: 'status', text: `{"status":"${NEW}"}`, name: 'status' },
  { sets: ['STATES'], answer: 'status', text: `Status update: ${NEW}\n`, name: 'status' },
  { sets: ['STATES'], answer: 'status', text: `Status update: ${NEW}. Reason: No Network\n`, name: 'status' },
  {
    sets: ['PLAIN_NAMES', 'ENGLISH', 'SENTENCES'],
    answer: 'status',
    text: `{"status":"Unable","reason":"${NEW}"}`,
    name: 'reason',
  },
  {
    sets: ['ENGLISH'],
    answer: 'status',
    text: `{"status":"Unable","reason":{"${NEW}":{"x":1}}}`,
    name: 'reason',
  },
  { sets: ['DETAILS'], answer: 'status', text: `{"status":"Unable","reason":{"${NEW}":1,"y":2}}`, name: 'reason' },
  { sets: ['ENGLISH'], answer: 'status', text: `Status update: Unable\nReason: ${NEW} failed\n`, name: 'reason' },
  {
    sets: ['NETWORKS', 'network'],
    answer: 'status',
    text: `Status update: Connected\nNetwork: ${NEW}\n`,
    name: 'network',
  },
  { sets: ['STATUS_KEYS'], answer: 'status', text: `{"status":"Connected","tier":"${NEW}"}`, name: 'tier' },
  { sets: ['STATUS_KEYS'], answer: 'status', text: `Status update: Connected\nTier: ${NEW}\n`, name: 'Tier' },
  { sets: ['MODES'], answer: 'settings', text: json({ operation_mode: NEW }), name: 'Mode' },
  { sets: ['MODES'], answer: 'settings', text: `Merged configuration:\nMode: ${NEW}\n`, name: 'Mode' },
  {
    sets: ['PROTOCOLS'],
    answer: 'settings',
    text: json({ warp_tunnel_protocol: NEW }),
    name: 'WARP tunnel protocol',
  },
  {
    sets: ['VALUES'],
    answer: 'settings',
    text: json({ post_quantum_config: NEW }),
    name: 'Post-quantum support for MASQUE',
  },
  { sets: ['KEYS', 'SETTINGS', 'SETTING_NAMES'], answer: 'settings', text: json({ new_key: NEW }), name: 'new_key' },
  {
    sets: ['SETTINGS', 'TEXT_KEYS'],
    answer: 'settingsText',
    text: settings(`(user set)\tNew Key: ${NEW}`),
    name: 'New Key',
  },
  { sets: ['SETTINGS'], answer: 'settings', text: json({ switch_locked: NEW }), name: 'Switch Locked' },
  { sets: ['mode'], answer: 'settings', text: json({ split_tunnel_mode: NEW }), name: 'split_tunnel_mode' },
  {
    sets: ['mode'],
    answer: 'settingsText',
    text: settings(`${NEW} mode, with hosts/ips:\n  10.0.0.0/8\n`),
    name: `${NEW} mode, with hosts/ips`,
  },
  { sets: ['SETTINGS'], answer: 'settings', text: json({ split_tunnel_ips: [{ prefix: NEW }] }), name: 'route' },
  {
    sets: ['families'],
    answer: 'settingsText',
    text: settings(`(user set)\tCloudflare for Families: ${NEW}`),
    name: 'Cloudflare for Families',
  },
  {
    sets: ['SETTINGS'],
    answer: 'settingsText',
    text: settings(`(user set)\tCompliance Environment: ${NEW}`),
    name: 'Compliance Environment',
  },
  {
    sets: ['SETTINGS'],
    answer: 'settingsText',
    text: settings(`(user set)\tMASQUE Protocol Settings:\n  HTTP Version: ${NEW}`),
    name: 'MASQUE Protocol Settings',
  },
  {
    sets: ['ACCOUNT_TYPES'],
    answer: 'registration',
    text: `{"device_id":"1","account":{"type":"${NEW}"}}`,
    name: 'account type',
  },
  { sets: ['REGISTRATION_KEYS'], answer: 'registration', text: `{"device_id":"1","tier":"${NEW}"}`, name: 'tier' },
  {
    sets: ['ACCOUNT_KEYS'],
    answer: 'registration',
    text: `{"device_id":"1","account":{"type":"free","tier":"${NEW}"}}`,
    name: 'tier',
  },
  { sets: ['STATISTICS'], answer: 'tunnelStats', text: `{"bytes_sent":1,"protocol":"${NEW}"}`, name: 'protocol' },
  { sets: ['STATISTICS'], answer: 'tunnelStats', text: `{"bytes_sent":1,"path":"${NEW}"}`, name: 'path' },
  ...(
    [
      'status',
      'settings',
      'settingsText',
      'registration',
      'devices',
      'tunnelStats',
      'splitTunnelIps',
      'splitTunnelHosts',
      'trustedSsids',
      'virtualNetworks',
      'localNetworkAccess',
    ] as const
  ).map((answer): Row => ({ sets: ['FINDERS'], answer, text: `${NEW}!\n`, name: 'answer' })),
];

/** Sets that hold no names of the client: failures of commands keep their message, and the rest is Culvert's own. */
const OTHER = new Set([
  'KINDS_BY_CODE',
  'PRIVATE',
  'VALUES_OF_PLIST',
  // enumerations of the contract that Culvert makes itself
  'part',
]);

describe('an unknown value', () => {
  for (const { answer, text, name } of ROWS)
    test(`is named: ${answer}, ${text.trim().split('\n').at(-1)}`, () => {
      const found = unknownIn(answer, text);
      assert.deepEqual(
        found.map(each => each.name),
        [name],
        JSON.stringify(found),
      );
      assert.ok(`${found[0]!.name}${found[0]!.value}`.includes(NEW), JSON.stringify(found));
    });

  // the list of devices is only in the command log
  for (const { answer, text, name } of ROWS.filter(row => row.answer !== 'devices'))
    test(`is kept in the state: ${answer}, ${name}, ${text.trim().split('\n').at(-1)}`, () => {
      const { commands, status, ...parts } = stateAfter(answer, text);
      const isShaped = name !== 'answer' && ['status', 'settings', 'settingsText'].includes(answer);
      // a part in which clients show it, not only the output
      const shown = JSON.stringify(isShaped ? { ...parts, status: { ...status, raw: null } } : [commands, status.raw]);
      assert.ok(shown.includes(NEW), shown);
    });
});

/** The state after an answer; `commands` has the output. */
function stateAfter(answer: Answer, text: string): Snapshot {
  const state = createState({ available: true, path: null, version: null, emulated: false });
  const store = createTunnelStore(state);
  const output: CommandOutput = {
    ok: true,
    argv: [answer],
    exitCode: 0,
    stdout: text,
    stderr: '',
    durationMs: 1,
    at: '2026-01-01T00:00:00.000Z',
  };
  if (answer === 'status') store.status(parseStatus(output), text);
  else if (answer === 'settings') store.settings(output);
  else if (answer === 'registration') store.registration(output);
  else if (answer === 'tunnelStats') store.stats(output);
  else if (answer === 'splitTunnelIps') store.splitIps(output);
  else if (answer === 'splitTunnelHosts') store.splitHosts(output);
  else store.extra(answer as Extra, output);
  return state.snapshot();
}

test('every set of names in the parsers has a row', () => {
  const directory = 'daemon/warp/parse';
  const sources = readdirSync(directory)
    .filter(name => name !== 'policy-file.ts')
    .map(name => readFileSync(join(directory, name), 'utf8'));
  const sets = sources.flatMap(text =>
    [...text.matchAll(/^(?:export )?const (\w+)(?::[^=]+)? = new (?:Map|Set)\b/gm)].map(([, name]) => name!),
  );
  assert.ok(sets.length > 10, sets.join());
  const covered = new Set(ROWS.flatMap(row => row.sets));
  assert.deepEqual(
    sets.filter(name => !covered.has(name) && !OTHER.has(name)),
    [],
  );
});

test('every enumeration of the tunnel in the contract has a row', () => {
  const text = readFileSync('daemon/api/tunnel.ts', 'utf8');
  const lists = [...text.matchAll(/(?:const (\w+)|(\w+):)[^\n]*z\.enum\(\[/g)].map(([, one, other]) => one ?? other!);
  assert.ok(lists.length >= 4, lists.join());
  const covered = new Set(ROWS.flatMap(row => row.sets));
  assert.deepEqual(
    lists.filter(name => !covered.has(name) && !OTHER.has(name)),
    [],
  );
});

test('nothing in the recorded answers of real clients is unknown', () => {
  const answers: Record<string, Answer> = {
    status: 'status',
    settings: 'settings',
    'settings list': 'settings',
    'registration show': 'registration',
    'tunnel stats': 'tunnelStats',
    'tunnel ip list': 'splitTunnelIps',
    'tunnel host list': 'splitTunnelHosts',
    vnet: 'virtualNetworks',
    'override local-network show': 'localNetworkAccess',
  };
  /** Forms that Culvert never asks for, and a fragment of a line. */
  const ONLY_JSON = new Set<Answer>(['registration', 'tunnelStats', 'localNetworkAccess']);
  let count = 0;
  for (const { argv, stdout, fidelity } of recordings) {
    const answer = answers[argv.filter(word => !word.startsWith('-')).join(' ')];
    const isJson = argv.some(word => word === '-j' || word === '--json');
    if (!answer || argv.includes('--help') || fidelity === 'verbatim-fragment') continue;
    if (ONLY_JSON.has(answer) && !isJson) continue;
    count += 1;
    assert.deepEqual(unknownIn(answer, stdout), [], stdout);
  }
  assert.ok(count > 30, String(count));
});

test('a value is cut, and an answer with thousands of unknown values names only some', () => {
  const many = json(Object.fromEntries(Array.from({ length: 200 }, (_, at) => [`new_${at}`, 'x'.repeat(300)])));
  const found = unknownIn('settings', many);
  assert.equal(found.length, 50);
  assert.ok(found.every(({ value }) => value.length <= 200));
});
