// The ways out of a missing registration and of a service that fails, on every surface: with a service token in the policy file
// no one registers by hand, and a demo has no service.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Snapshot } from '../../../../daemon/api/schema.ts';
import { RegistrationCause } from '../../../../daemon/api/tunnel.ts';
import { blockedFailure, toExitReport } from '../../../../daemon/cli/errors.ts';
import { service } from '../../../../daemon/doctor/checks/registration.ts';
import { registration as check } from '../../../../daemon/doctor/checks/registration-cause.ts';
import { statusLine } from '../../../../daemon/state/status-line.ts';
import { accountForm } from '../../../../daemon/view/forms/account.ts';
import { setupView } from '../../../../daemon/view/forms/setup.ts';
import { causeOf } from '../../../../daemon/view/states/causes.ts';
import { presentNotification } from '../../../../daemon/view/states/notification.ts';
import { generalWords, registrationStep } from '../../../../daemon/view/states/registration.ts';
import { describeTunnel } from '../../../../daemon/view/states/tunnel.ts';
import { blockedProblem, failureIn, problemOf } from '../../../../daemon/warp/cli/failures.ts';
import type { Finished } from '../../../../daemon/warp/cli/run.ts';
import { world } from '../../../support/doctor/world.ts';
import { clientState, tr } from '../../../support/gnome/view/translator.ts';

type Status = Partial<Snapshot['status']>;

/** Everything that a person is shown, and offered, in a state that is blocked. */
async function surfaces(t: TestContext, status: Status, emulated: boolean): Promise<Record<string, string>> {
  const client = clientState({ status, tunnelCli: { available: true, emulated } });
  const snapshot = client.snapshot!;
  const blocked = snapshot.status.blocked!;
  const tunnel = describeTunnel(client, tr);
  const problem = blockedProblem(blocked, snapshot);
  const stderr = blocked === 'not-registered' ? 'Missing registration' : 'Error communicating with daemon: IPC';
  const output = { ok: false, argv: [], exitCode: 1, stdout: '', stderr, durationMs: 1, at: '' };
  const finished: Finished = { output, timedOut: false, notStarted: false };
  const after = problemOf('the action connect', failureIn(finished)!, finished, snapshot);
  const texts = ({ message, extras }: typeof problem) => [message, extras.hint];
  const found = await (blocked === 'not-registered' ? check : service).probe(
    world(t, { tunnel: snapshot }),
    {} as never,
  );
  return Object.fromEntries(
    Object.entries({
      terminal: statusLine(snapshot),
      wait: toExitReport(blockedFailure('It did not connect', snapshot)).report,
      API: texts(problem),
      'API after a command': texts(after),
      'setup page': setupView(blocked, tr, tunnel.lost, snapshot.tunnelCli),
      'account page': accountForm(client, null, tr).status,
      connection: [tunnel.sentence, tunnel.remedy, causeOf(snapshot, tr)],
      notification: presentNotification('state', client, tr),
      doctor: found,
    }).map(([name, value]) => [name, JSON.stringify(value)]),
  );
}

const REASONS = ['', ': Daemon Startup', ': Does not exist in API', ': Revoked', ': Invalidated (Manual Deletion)'];
const OFFERS = /account register|action register|"register"|Set Up|Set up WARP|register again/i;

for (const end of REASONS)
  test(`with a service token, nothing offers to register by hand after "Registration Missing${end}"`, async t => {
    const reason = { code: 'RegistrationMissing', text: `Registration Missing${end && ` due to${end}`}` };
    const registration = {
      code: 'token-refused' as const,
      managed: true,
      organization: 'acme',
      host: null,
      evidence: [],
    };
    const status: Status = { state: 'unable', blocked: 'not-registered', reason, registration };
    const said = await surfaces(t, status, false);
    for (const [name, text] of Object.entries(said)) assert.doesNotMatch(text, OFFERS, name);
    for (const name of ['terminal', 'wait', 'API', 'API after a command', 'setup page', 'account page', 'doctor'])
      assert.match(said[name]!, /mdm\.xml.*administrator/, name);
    const without = await surfaces(t, { ...status, registration: undefined as never }, false);
    if (end === ': Revoked') assert.doesNotMatch(without['setup page']!, /"register"/, 'its organization removed it');
    else assert.match(without['setup page']!, /"register"/, 'a person can register it');
  });

for (const blocked of ['service-stopped', 'service-hangs'] as const)
  test(`a demo that simulates ${blocked} names no command of a real service`, async t => {
    const said = await surfaces(t, { state: 'unknown', raw: '', blocked }, true);
    for (const [name, text] of Object.entries(said)) assert.doesNotMatch(text, /systemctl|warp-svc|-service"/, name);
    for (const name of ['terminal', 'wait', 'API', 'API after a command', 'setup page', 'doctor'])
      assert.match(said[name]!, /culvert-emulator --emulate reset|"doctor"/, name);
    const real = await surfaces(t, { state: 'unknown', raw: '', blocked }, false);
    for (const name of ['terminal', 'wait', 'API', 'API after a command', 'setup page'])
      assert.match(real[name]!, /warp-svc/, name);
  });

test('a cause whose page offers to register has the same way out in answers to commands and in the doctor', async t => {
  for (const code of RegistrationCause.shape.code.options) {
    const registration = { code, managed: false, organization: null, host: null, evidence: [] };
    if (generalWords(code, tr).offer !== 'register') continue;
    const said = await surfaces(t, { state: 'unable', blocked: 'not-registered', registration }, false);
    assert.ok(registrationStep(registration).actions.includes('register'), `a command after ${code}`);
    for (const name of ['terminal', 'setup page', 'connection', 'doctor'])
      assert.match(said[name]!, OFFERS, `${name}: ${code}`);
    const managed = { ...registration, managed: true };
    const there = await surfaces(t, { state: 'unable', blocked: 'not-registered', registration: managed }, false);
    for (const [name, text] of Object.entries(there)) assert.doesNotMatch(text, OFFERS, `${name}: ${code}, managed`);
  }
});
