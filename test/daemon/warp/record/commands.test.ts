// The reading commands of a recording change nothing, and lack nothing that Culvert reads.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { ACTION_NAMES, ACTIONS, ARGUMENTS, actionRequest } from '../../../../daemon/api/actions.ts';
import { COMMANDS } from '../../../../daemon/emulator/commands.ts';
import { planAction } from '../../../../daemon/warp/actions/commands.ts';
import { NEWEST, READ_NAMES, readArgv } from '../../../../daemon/warp/cli/version.ts';
import { readings } from '../../../../daemon/warp/record/commands.ts';
import { shapeOf } from '../../../../daemon/warp/record/record.ts';
import { emulator } from '../../../support/daemon/emulator.ts';

const all = readings();
const wordsOf = (argv: readonly string[]) => argv.filter(word => !word.startsWith('-')).join(' ');

test('records every command that Culvert reads, in the form in which it reads it', () => {
  const recorded = new Set(all.map(({ argv }) => argv.join(' ')));
  for (const read of READ_NAMES) assert.ok(recorded.has(readArgv(read, NEWEST, false)!.join(' ')), read);
  assert.equal(recorded.size, all.length, 'a command is listed twice');
  assert.equal(all[0]?.argv.join(' '), '--version');
});

test('records no command of an action, and none that the emulator knows as a change', () => {
  const changes = new Set(
    ACTION_NAMES.map(action => {
      const { argument } = ACTIONS[action];
      const sample: Partial<Record<keyof typeof ARGUMENTS, string>> = {
        address: '192.0.2.1',
        range: '192.0.2.0/24',
        host: 'a.example',
        domain: 'a.example',
        endpoint: '192.0.2.1:443',
        port: '4000',
        ssid: 'x',
        team: 'x',
        gatewayId: 'x',
        virtualNetwork: 'x',
        license: 'aaaaaaaa-aaaaaaaa-aaaaaaaa',
        tokenUrl: 'com.cloudflare.warp://x.cloudflareaccess.com/auth?token=x',
        overrideCode: '12345678',
      };
      const values = argument && 'values' in ARGUMENTS[argument] ? ARGUMENTS[argument].values : [];
      const value = argument === null ? undefined : (sample[argument] ?? (values as readonly unknown[])[0]);
      return planAction(actionRequest(action, value as never), NEWEST).argv.join(' ');
    }),
  );
  for (const { argv } of all) {
    if (argv.includes('--help') || argv.includes('--version')) continue;
    assert.ok(!changes.has(wordsOf(argv)), argv.join(' '));
    const known = COMMANDS[wordsOf(argv)];
    assert.ok(!known || known.reads || known.argument?.optional, `${argv.join(' ')} changes something`);
  }
});

test('changes nothing of an emulator in any state', async t => {
  for (const words of [['reset'], ['registration=null'], ['organization=example'], ['settings.mode=doh']]) {
    const it = await emulator();
    t.after(() => it.remove());
    await it.control('reset', ...words);
    await it.run('connect');
    const before = readFileSync(it.stateFile, 'utf8');
    for (const { argv, form } of all) if (form !== 'listen') await it.run(...argv);
    assert.equal(readFileSync(it.stateFile, 'utf8'), before);
  }
});

test('keeps only the shape of an answer that is private throughout', () => {
  assert.equal(
    shapeOf('{"configs":[{"auth_client_secret":"s3cret","switch":true,"port":4711}]}'),
    '{"configs":[{"auth_client_secret":"<value>","switch":true,"port":0}]}\n',
  );
  assert.equal(shapeOf('Override code: 1234\n\nalice   host-0\n'), 'Override code: <value>\n\n<value>\n');
  assert.equal(shapeOf('Name: x\n  db-prod-canary: up\n'), 'Name: <value>\n<name>: <value>\n');
  assert.equal(
    shapeOf('{"organization_configs":{"canarycorp":{"port":1},"canary":"x"}}'),
    '{"organization_configs":{"<name-1>":{"port":0},"<name-2>":"<value>"}}\n',
  );
  const refused = '{"code":"MissingRegistration","error":"Missing registration."}\n';
  assert.equal(shapeOf(refused), refused);
  for (const { argv, isPrivate } of all)
    if (
      /^(?:certs|mdm|target|override show|debug|dns|settings support-url)/.test(wordsOf(argv)) &&
      !argv.includes('--help')
    )
      assert.equal(isPrivate, true, argv.join(' '));
});
