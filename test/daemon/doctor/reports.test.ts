// Public reports of people: what the doctor finds for each, and its fix. A cause of a missing registration, and a service that no
// systemd can start, have the same words in the doctor, the panel and a terminal.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Fix } from '../../../daemon/api/doctor.ts';
import type { RegistrationCause, Snapshot } from '../../../daemon/api/schema.ts';
import { CHECKS } from '../../../daemon/doctor/checks/all.ts';
import { service } from '../../../daemon/doctor/checks/registration.ts';
import { routeOwners } from '../../../daemon/doctor/checks/routes.ts';
import { registrationIn, seenIn } from '../../../daemon/doctor/world/journal.ts';
import type { World } from '../../../daemon/doctor/world/world.ts';
import { absent, SERVICE_PATHS } from '../../../daemon/killswitch/client/published-state.ts';
import { serviceCommand } from '../../../daemon/view/client/service-words.ts';
import { accountForm } from '../../../daemon/view/forms/account.ts';
import { setupView } from '../../../daemon/view/forms/setup.ts';
import { blockedWords, lostRegistration } from '../../../daemon/view/states/causes.ts';
import { registrationStep } from '../../../daemon/view/states/registration.ts';
import { registrationProblem } from '../../../daemon/warp/cli/failures.ts';
import { POLICY_FILE } from '../../../daemon/warp/parse/policy-file.ts';
import { createRegistrationWatch } from '../../../daemon/warp/registration.ts';
import {
  ENV,
  examine,
  type Fixture,
  KNOWLEDGE,
  NEWEST,
  NOW,
  type Parts,
  snapshot,
  tree,
  withPrograms,
  world,
} from '../../support/doctor/world.ts';
import { clientState, tr } from '../../support/gnome/view/translator.ts';
import { missing, temporary } from '../../support/temporary.ts';
import { worldOf } from './checks/cases.ts';
import { SERVER_CASES } from './checks/cases-server.ts';

interface Report {
  id: string;
  source: string;
  date: string;
  about: string;
  /** Text of the policy file, or the target of a link in its place. */
  mdm?: string;
  link?: string;
  /** Type of the account of a registered device. */
  account?: string;
  /** Reason of the status of a device without a registration. */
  reason?: string;
  /** Another state that blocks. */
  blocked?: 'service-hangs' | 'service-stopped';
  /** WARP accepted to connect, and did not. */
  ignored?: true;
  version?: string;
  /** Output of the failed attempt to register. */
  attempt?: string;
  journal?: string[];
  check: 'registration' | 'service-journal';
  code: string | null;
  says: string;
  fix: string | null;
}

const FILE = new URL('../../fixtures/reports/registration-and-journal.jsonl', import.meta.url);
const REPORTS: Report[] = readFileSync(FILE, 'utf8')
  .trim()
  .split('\n')
  .map(line => JSON.parse(line));

/** The state that the report tells of. */
function partsOf({ account, reason, blocked, ignored, version = NEWEST }: Report): Parts {
  const tunnelCli = { version };
  if (blocked) return { tunnelCli, status: { state: 'unknown', blocked, raw: '' } };
  if (ignored)
    return { tunnelCli, status: { state: 'disconnected', reason: { code: 'ConnectIgnored', text: 'It did not' } } };
  if (account)
    return {
      tunnelCli,
      status: { state: 'disconnected', reason: { code: 'Manual', text: 'Manual Disconnection' } },
      account: { registered: true, type: account, organization: null, managed: false },
    };
  return {
    tunnelCli,
    status: { state: 'unable', blocked: 'not-registered', reason: { code: 'RegistrationMissing', text: reason! } },
    account: { registered: false, type: null, organization: null, managed: null },
  };
}

/** The machine of a report: its policy file, its journal, and what the daemon finds in them. */
async function machineOf(t: TestContext, report: Report) {
  const { mdm, link, journal = [], attempt } = report;
  const files: Fixture = {
    ...(mdm !== undefined && { [POLICY_FILE]: mdm }),
    ...(link !== undefined && { [POLICY_FILE]: { link } }),
  };
  const root = tree(t, files);
  const printed = join(temporary(t, 'journal'), 'printed');
  writeFileSync(printed, journal.join('\n'));
  const env = { ...ENV, ...withPrograms(t, { journalctl: `cat ${printed}` }) };
  const tunnel = snapshot(partsOf(report));
  const lines = journal.map(text => ({ at: null, text }));
  const watch = createRegistrationWatch({
    policyFile: `${root}${POLICY_FILE}`,
    version: () => tunnel.tunnelCli.version,
    readJournal: async () => registrationIn(lines, KNOWLEDGE.patterns, { now: NOW }),
  });
  if (attempt !== undefined) watch.attempted(attempt);
  await watch.readJournal();
  const cause = watch.cause(tunnel);
  if (cause) tunnel.status.registration = cause;
  const within = world(t, { root, env, tunnel });
  const { tools } = within;
  // other tests have the machine too
  const patient: World['tools'] = {
    ...tools,
    run: (program, words, limits) => tools.run(program, words, { ...limits, limitMs: 80_000 }),
  };
  return { tunnel, cause, within: { ...within, tools: patient }, lines };
}

for (const report of REPORTS)
  test(`${report.id} (${report.date}): ${report.about}`, async t => {
    const { tunnel, cause, within, lines } = await machineOf(t, report);
    const check = CHECKS.find(({ id }) => id === report.check)!;
    const { verdict, evidence, explanation, fix } = await examine(check, within, { limitMs: 100_000 });
    const said = [...evidence, explanation].join('\n');
    assert.equal(verdict, 'problem', said);
    assert.match(said, new RegExp(report.says, 's'));
    if (report.fix === null) assert.equal(fix, null);
    else assert.match(JSON.stringify(fix), new RegExp(report.fix, 's'));
    if (report.check === 'registration') assertSame({ report, tunnel, cause, explanation: explanation!, fix });
    else {
      const seen = seenIn(lines, KNOWLEDGE.patterns, { now: NOW, blocked: tunnel.status.blocked });
      assert.equal(seen?.pattern.id, report.code);
      assert.match(evidence.join('\n'), /known since 20\d\d-/);
    }
  });

interface Said {
  report: Report;
  tunnel: Snapshot;
  cause: RegistrationCause | null;
  explanation: string;
  fix: Fix | null;
}

/** The doctor, the account page, the setup page, a terminal and the API use the words of the cause, and offer no more. */
function assertSame({ report, tunnel, cause, explanation, fix }: Said): void {
  assert.equal(cause?.code ?? null, report.code);
  const { status, account, tunnelCli } = tunnel;
  const client = clientState({ status, account, tunnelCli });
  const page = accountForm(client, null, tr).status!;
  const isMissing = tunnel.status.blocked === 'not-registered';
  const lost = lostRegistration(tunnel.status, tr);
  const setup = isMissing ? setupView('not-registered', tr, lost, tunnel.tunnelCli) : null;
  const offered = JSON.stringify([page.buttons, setup?.buttons]);
  if (!cause || !lost) {
    assert.match(offered, /"action":"register"/);
    return;
  }
  assert.equal(explanation, `${lost.title}. ${lost.sentence}`);
  assert.deepEqual([page.title, page.sentence?.startsWith(lost.sentence)], [lost.title, true]);
  const problem = registrationProblem(cause);
  assert.equal(problem.message, lost.sentence);
  const { command, actions } = registrationStep(cause);
  if (cause.code !== 'client-too-old') assert.ok(problem.extras.hint?.endsWith(`: ${command}`), problem.extras.hint);
  assert.equal(lost.step.command, command);
  assert.deepEqual(fix?.kind === 'action' ? fix.actions.map(({ action }) => action) : [], actions);
  if (setup) assert.deepEqual([setup.title, setup.description], [lost.title, lost.sentence]);
  if (isMissing) {
    const { what, next } = blockedWords(tunnel, undefined, tr);
    assert.equal(`${what} ${next}`, `${lost.title}. ${lost.sentence} ${lost.step.does}: ${lost.step.command}`);
  }
  if (cause.managed) assert.doesNotMatch(offered, /"action":"register"/, 'never a private registration');
}

for (const kind of ['podman', 'gvisor', 'none'] as const)
  test(`w15 (2026-09): no systemd, but ${kind}, so nothing that needs it is advised`, async t => {
    const serviceManager = { kind, startsWarp: false };
    const tunnel = snapshot({
      tunnelCli: { version: NEWEST, serviceManager },
      status: { state: 'unknown', blocked: 'service-stopped', raw: '' },
    });
    const { evidence, explanation, fix } = await examine(service, world(t, { tunnel, serviceManager }));
    const { what, next } = blockedWords(tunnel, serviceManager, tr);
    const page = setupView('service-stopped', tr, null, tunnel.tunnelCli);
    const command = serviceCommand('start', serviceManager);
    assert.match(command, /^(sudo )?warp-svc$/);
    const surfaces = { doctor: [...evidence, explanation, fix], terminal: [what, next], panel: page };
    for (const [surface, words] of Object.entries(surfaces)) {
      const said = JSON.stringify(words);
      assert.ok(said.includes(command), `${surface}: ${said}`);
      assert.doesNotMatch(said, /systemctl|journalctl|password/, surface);
    }
    assert.deepEqual(absent({ ...SERVICE_PATHS, systemd: missing(t) }), {
      command: null,
      detail: 'The kill switch needs systemd, which does not run here.',
      wording: [{ text: 'The kill switch needs systemd, which does not run here.', values: [] }],
    });
  });

test('w10 (2025): clients of an exit node of Tailscale have no network, and the doctor says why', async t => {
  const recorded = SERVER_CASES.find(({ check, title }) => check === routeOwners && title.includes('tailscale#15288'))!;
  const { verdict, evidence, explanation } = await examine(routeOwners, await worldOf(recorded, t), {
    limitMs: 100_000,
  });
  assert.equal(verdict, 'notice');
  assert.match(evidence.join('\n'), /tailscale0[\s\S]*rule 5207 of WARP comes before rule 5210 of Tailscale/);
  assert.match(explanation!, /clients of an exit node had no network[\s\S]*culvert mode proxy/);
});

test('the reports cover every cause that a policy file, the way to the server or its answer can be', () => {
  const covered = new Set(REPORTS.map(({ code }) => code));
  for (const code of ['policy-link', 'policy-variables', 'policy-configs', 'token-refused', 'api-unreachable'])
    assert.ok(covered.has(code), code);
  for (const { id } of KNOWLEDGE.patterns.filter(({ cause }) => !cause))
    if (!['firewall-refused', 'policy-not-read'].includes(id)) assert.ok(covered.has(id), id);
});
