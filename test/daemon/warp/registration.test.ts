// Terms and registrations of the tunnel: what is asked of the user, and what is read after a change.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { actionRequest } from '../../../daemon/api/actions.ts';
import { registrationStep } from '../../../daemon/view/states/registration.ts';
import { problem, startTunnel } from '../../support/daemon/tunnel.ts';
import { temporary } from '../../support/temporary.ts';
import { until } from '../../support/until.ts';

test('the terms are accepted only when the user agrees, and that is remembered', async t => {
  const { tunnel, status, acceptedTerms, runs } = await startTunnel(t, { faults: 'terms' });
  await until(() => status().blocked === 'terms-not-accepted');
  await assert.rejects(tunnel.runAction({ action: 'register' }), problem('terms-not-accepted'));
  assert.equal(existsSync(acceptedTerms), false);
  assert.ok(!runs().some(run => run.includes('--accept-tos')));
  assert.equal(await tunnel.runAction({ action: 'acceptTerms' }), null);
  await until(() => status().state === 'disconnected');
  assert.equal(status().blocked, null);
  assert.match(readFileSync(acceptedTerms, 'utf8'), /^accepted 20/);
  assert.equal(statSync(acceptedTerms).mode & 0o777, 0o600);
  await tunnel.runAction({ action: 'connect' });
  assert.ok(runs().includes('--accept-tos connect'));
});

test('an agreement that cannot be stored is not acted on', async t => {
  const { tunnel, place, runs } = await startTunnel(t, { faults: 'terms' });
  writeFileSync(join(place.path, 'state'), 'in the way');
  await assert.rejects(tunnel.runAction({ action: 'acceptTerms' }), problem('config-not-writable'));
  assert.ok(!runs().some(run => run.includes('--accept-tos')));
});

test('an unregistered device: connecting is refused without a process, registering works', async t => {
  const { tunnel, status, spawned, state } = await startTunnel(t, { faults: 'not-registered' });
  await until(() => status().blocked === 'not-registered');
  assert.deepEqual([status().state, status().reason?.code], ['unable', 'RegistrationMissing']);
  assert.equal(state.snapshot().account.registered, false);
  assert.deepEqual(
    await spawned(() =>
      assert.rejects(
        tunnel.runAction({ action: 'connect' }),
        problem('not-registered', p => Boolean(p.extras.hint)),
      ),
    ),
    [],
  );
  const account = await tunnel.account();
  assert.deepEqual([account.ok, account.registered, account.devices], [true, false, []]);
});

test('"not registered" is not kept once the status contradicts it, even if the registration cannot be read', async t => {
  const { tunnel, cli, status, state } = await startTunnel(t, { faults: 'not-registered' });
  await until(() => status().blocked === 'not-registered');
  assert.equal((await tunnel.account()).registered, false);
  await cli.control('fault=not-authorized');
  await until(() => status().state === 'disconnected');
  assert.equal(state.snapshot().account.registered, null);
  await assert.rejects(tunnel.account(), problem('tunnel-cli-failed'));
  await cli.control('clear');
  await tunnel.refresh('all');
  assert.equal((await tunnel.account()).registered, true);
});

test('registering and deleting a registration change the account', async t => {
  const { tunnel, status, state } = await startTunnel(t);
  await tunnel.runAction({ action: 'deleteRegistration' });
  await until(() => status().blocked === 'not-registered');
  await until(() => state.snapshot().account.registered === false);
  await tunnel.runAction({ action: 'register' });
  await until(() => status().blocked === null && state.snapshot().account.registered === true);
  const account = await tunnel.account();
  assert.equal(account.registered, true);
  assert.match(account.license ?? '', /^\*{4}\w{4}$/);
  assert.equal(account.devices.length, 1);
});

test('a read that began before a registration does not overwrite it', async t => {
  const { tunnel, place, cli, status, state } = await startTunnel(t, { missing: true });
  const reach = (name: string) => writeFileSync(join(place.path, name), '');
  const reached = (name: string) => until(() => existsSync(join(place.path, name)));
  const wait = (name: string) => `until [ -e ${name} ]; do sleep 0.01; done`;
  place.script(
    'warp-cli',
    `case "$*" in
    *'registration show')
      cd ${place.path}
      if mv hold began 2>/dev/null; then
        ${wait('removed')}; ${cli.bin} "$@" 2>errors; echo $? >code; touch asked
        ${wait('registered')}; cat errors >&2; exit $(cat code)
      fi ;;
    esac
    exec ${cli.bin} "$@"`,
  );
  await until(() => status().state === 'disconnected');
  reach('hold');
  const reading = tunnel.refresh('all');
  await reached('began');
  await tunnel.runAction({ action: 'deleteRegistration' });
  await until(() => status().blocked === 'not-registered');
  reach('removed');
  await reached('asked');
  await tunnel.runAction({ action: 'register' });
  await until(() => status().blocked === null);
  reach('registered');
  await reading;
  await until(() => state.snapshot().account.registered === true);
  assert.deepEqual([status().state, status().blocked], ['disconnected', null]);
});

/** A policy file with a service token. */
const POLICY = `<dict>
  <key>organization</key><string>acme</string>
  <key>auth_client_id</key><string>a.access</string><key>auth_client_secret</key><string>s</string>
</dict>`;

test('the cause of a missing registration is published as long as it is missing, from the present policy file', async t => {
  const policyFile = join(temporary(t), 'mdm.xml');
  const { tunnel, status, cli } = await startTunnel(t, { faults: 'not-in-api', policyFile });
  await until(() => status().blocked === 'not-registered');
  const asked: Record<string, () => unknown> = {
    'a snapshot': () => tunnel.isFresh(),
    'the account': () => tunnel.account(),
    'a connection': () => assert.rejects(tunnel.runAction({ action: 'connect' })),
  };
  for (const [what, ask] of Object.entries(asked)) {
    writeFileSync(policyFile, POLICY);
    await ask();
    const { code, managed, organization } = status().registration!;
    assert.deepEqual([code, managed, organization], ['token-refused', true, 'acme'], what);
    rmSync(policyFile);
    await ask();
    assert.equal(status().registration?.code, 'unknown-to-api', what);
    const { since } = status();
    await ask();
    assert.equal(status().since, since, 'the same state goes on');
  }
  writeFileSync(policyFile, POLICY);
  const refused = problem('not-registered', ({ extras }) => /service token.*administrator/.test(extras.hint ?? ''));
  await assert.rejects(tunnel.runAction({ action: 'connect' }), refused);
  await cli.control('reset');
  await until(() => status().state === 'disconnected');
  await until(() => status().registration?.code === 'consumer');
  rmSync(policyFile);
  await tunnel.account();
  assert.equal(status().registration, undefined);
});

for (const [what, prepare] of [
  ['with a policy file', (file: string) => writeFileSync(file, POLICY)],
  ['with a link in its place', (file: string) => symlinkSync('/nowhere/mdm.xml', file)],
  ['with a damaged one', (file: string) => writeFileSync(file, '<dict><key>organization</key>')],
] as const)
  test(`a machine ${what} is never registered as a private device`, async t => {
    const policyFile = join(temporary(t), 'mdm.xml');
    prepare(policyFile);
    const { tunnel, status, spawned } = await startTunnel(t, { faults: 'not-registered', policyFile });
    await until(() => status().blocked === 'not-registered');
    const runs = await spawned(() =>
      assert.rejects(tunnel.runAction({ action: 'register' }), problem('not-registered')),
    );
    assert.ok(!runs.some(run => run.includes('registration new')), runs.join());
    assert.equal(status().registration?.managed, true);
  });

/** The tunnel CLI of a device whose registration fails with these words, after the emulator's answer to all else. */
const failing = (place: string, cli: string, words: string) =>
  `case "$*" in *'registration new'*) echo '${words}' >&2; exit 1 ;; esac\nexec ${cli} "$@" # ${place}`;

for (const [words, code, message] of [
  ['Error: Failed to communicate with the WARP API', 'api-unreachable', /api\.cloudflareclient\.com on TCP port 443/],
  [
    'Error: Old registration is still around. Try running: "warp-cli registration delete"',
    'old-registration',
    /Remove it/,
  ],
] as const)
  test(`after "${words}" the action, the state and the next attempt tell the cause ${code}`, async t => {
    const { tunnel, status, place, cli } = await startTunnel(t, { faults: 'not-registered', missing: true });
    place.script('warp-cli', failing(place.path, cli.bin, words));
    await until(() => status().blocked === 'not-registered');
    await assert.rejects(
      tunnel.runAction({ action: 'register' }),
      problem('tunnel-cli-failed', problem => message.test(problem.message) && problem.wording !== null),
    );
    assert.equal(status().registration?.code, code);
    place.script('warp-cli', `exec ${cli.bin} "$@"`);
    await cli.control('clear');
    await until(() => status().blocked === null);
    assert.equal(status().registration, undefined);
  });

test('an old registration is removed and a new one made, although the device counts as not registered', async t => {
  const { tunnel, status, place, cli } = await startTunnel(t, { faults: 'not-registered', missing: true });
  place.script(
    'warp-cli',
    `case "$*" in
      *'registration delete'*) touch "$0-deleted"; echo Success; exit;;
      *'registration new'*) [ -e "$0-deleted" ] && { echo Success; exit; }; echo 'Error: Old registration is still around.' >&2; exit 1;;
    esac
    exec ${cli.bin} "$@"`,
  );
  await until(() => status().blocked === 'not-registered');
  await assert.rejects(tunnel.runAction({ action: 'register' }), problem('tunnel-cli-failed'));
  const { actions } = registrationStep(status().registration!);
  assert.deepEqual(actions, ['deleteRegistration', 'register']);
  for (const action of actions) await tunnel.runAction(actionRequest(action));
  assert.equal(status().registration, undefined);
});

test('takes the cause from the journal of the service, which it reads once', async t => {
  let reads = 0;
  const { status } = await startTunnel(t, {
    faults: 'not-registered',
    readJournal: async () => {
      reads += 1;
      return { code: 'client-too-old', line: 'no variant of enum X found in flattened data' };
    },
  });
  await until(() => status().registration?.code === 'client-too-old');
  assert.equal(reads, 1);
  assert.match(JSON.stringify(status().registration?.evidence), /flattened data/);
});
