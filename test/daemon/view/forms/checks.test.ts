// The page of checks, the cause that is shown with the state, and the report, as words.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { CheckResult, Diagnosis, Fix, Verdict } from '../../../../daemon/api/doctor.ts';
import { fixText } from '../../../../daemon/view/fix.ts';
import type { Row } from '../../../../daemon/view/form.ts';
import { checksForm } from '../../../../daemon/view/forms/checks.ts';
import { inEnglish, message } from '../../../../daemon/view/message.ts';
import { reportView } from '../../../../daemon/view/report.ts';
import {
  type ChecksState,
  NO_CHECKS,
  parseReport,
  receiveProgress,
  receiveReport,
} from '../../../../daemon/view/states/findings.ts';
import { describeTunnel } from '../../../../daemon/view/states/tunnel.ts';
import { clientState, tr } from '../../../support/gnome/view/translator.ts';

const FIXES = {
  action: {
    kind: 'action',
    label: 'Use another mode',
    actions: [{ action: 'setMode', value: 'warp+doh' }],
    undo: [{ action: 'setMode', value: 'doh' }],
  },
  file: {
    kind: 'file',
    label: 'Correct the file',
    path: '/etc/a b',
    content: 'new\n',
    privileged: true,
    diff: '--- /etc/a b\n+++ /etc/a b\n@@ -1,1 +1,1 @@\n-old\n+new\n',
  },
  commands: {
    kind: 'commands',
    label: 'Restart it',
    commands: [['systemctl', 'restart', "it's"]],
    undo: [],
    privileged: false,
  },
  open: { kind: 'open', label: 'Open the page', url: 'https://example.com/' },
} as const satisfies Record<string, Fix>;

function result(id: string, verdict: Verdict, fix: Fix | null = null): CheckResult {
  return {
    id,
    title: `Title of ${id}`,
    group: 'dns',
    verdict,
    evidence: ['seen', 'seen too'],
    explanation: 'Because.',
    fix,
    fixId: fix && `fix of ${id}`,
    source: null,
    appliesTo: null,
    durationMs: 1,
  };
}
const state = (...results: CheckResult[]): ChecksState => ({ ...NO_CHECKS, results });
const rowsOf = (checks: ChecksState, offline = false): Row[] =>
  checksForm(checks, { offline }, tr).groups.flatMap(({ rows }) => rows);
const rowOf = (checks: ChecksState, id: string, offline = false): Row =>
  rowsOf(checks, offline).find(row => row.id === id) ?? assert.fail(`no row ${id}`);

describe('the page of checks', () => {
  test('shows problems first, then what is unknown, hints, and what is in order; nothing that does not apply', () => {
    const verdicts: Verdict[] = ['ok', 'notice', 'not-applicable', 'unknown', 'problem'];
    const { groups } = checksForm(state(...verdicts.map(verdict => result(verdict, verdict))), { offline: false }, tr);
    assert.deepEqual(
      groups.map(({ id, title }) => [id, title]),
      [
        ['run', undefined],
        ['check-problem', 'Needs attention'],
        ['check-unknown', undefined],
        ['check-notice', undefined],
        ['fine', 'In order'],
      ],
    );
    const { subtitle, tone } = rowOf(state(result('a', 'problem')), 'seen-a');
    assert.deepEqual([subtitle, tone], ['seen\nseen too\nBecause.', 'error']);
  });

  test('says which lines are English in every language', () => {
    const evidence = [message('seen'), inEnglish('A bug. Update.')];
    const found = {
      ...result('a', 'notice'),
      evidence: ['seen', 'A bug. Update.'],
      wording: { evidence, explanation: [] },
    };
    const row = rowOf(state(found), 'seen-a');
    assert.deepEqual([row.subtitle?.split('\n')[1], row.englishLines], ['A bug. Update.', [1]]);
    assert.equal(rowOf(state(result('a', 'notice')), 'seen-a').englishLines, undefined);
  });

  test('counts what ended while it runs, and what needs attention afterwards', () => {
    const running: ChecksState = { ...NO_CHECKS, running: { completed: 3, total: 34 } };
    const row = rowOf(running, 'run');
    assert.ok(row.kind === 'button');
    assert.deepEqual([row.subtitle, row.sensitive, row.busy], ['3 of 34 checks done', false, true]);
    const subtitle = (...verdicts: Verdict[]) =>
      rowOf(state(...verdicts.map((verdict, i) => result(String(i), verdict))), 'run').subtitle;
    assert.equal(
      subtitle('problem', 'problem', 'notice', 'unknown'),
      '2 problems, 1 hint, 1 check could not be completed',
    );
    assert.equal(subtitle('ok', 'not-applicable'), 'Everything is in order.');
    assert.equal(rowOf({ ...NO_CHECKS, failed: 'No answer.' }, 'run').subtitle, 'No answer.');
  });

  test('applies each event: a result replaces the earlier result of the check, and the end brings the fix that can be undone', () => {
    const at = '2026-11-21T10:00:00.000Z';
    const progress = { running: true, completed: 1, total: 2, result: result('a', 'problem'), undo: null };
    let now = receiveProgress(NO_CHECKS, progress);
    assert.deepEqual([now.running, now.results.length], [{ completed: 1, total: 2 }, 1]);
    now = receiveProgress(now, {
      ...progress,
      running: false,
      result: result('a', 'ok'),
      undo: [{ id: 'a', label: 'L', at }],
    });
    assert.deepEqual([now.running, now.results.map(({ verdict }) => verdict), now.undo?.id], [null, ['ok'], 'a']);
    assert.equal(rowOf(now, 'undo').subtitle, 'L');
    assert.ok(!rowsOf(now, true).some(({ id }) => id === 'undo'), 'without a daemon nothing is taken back');
    now = receiveProgress(now, { ...progress, running: false, undo: [] });
    assert.equal(now.undo, null);
    assert.equal(receiveReport({ results: [result('b', 'ok')], undo: [] }).results[0]?.id, 'b');
  });

  const repairs: [name: keyof typeof FIXES, kinds: string[]][] = [
    ['action', ['note', 'text', 'button']],
    ['commands', ['note', 'text', 'button']],
    ['file', ['note', 'text', 'shell', 'shell']],
    ['open', ['note', 'button']],
  ];
  for (const [name, kinds] of repairs)
    test(`shows what a fix of the kind ${name} would do before it can be applied`, () => {
      const { groups } = checksForm(state(result('a', 'problem', FIXES[name])), { offline: false }, tr);
      const { rows } = groups.find(({ id }) => id === 'check-a')!;
      assert.deepEqual(
        rows.map(({ kind }) => kind),
        kinds,
      );
    });

  test('asks for the fix as it was shown, and not while something runs or without a daemon', () => {
    const checks = state(result('a', 'problem', FIXES.action));
    const row = rowOf(checks, 'apply-a');
    assert.ok(row.kind === 'button');
    assert.deepEqual(row.command.ask, { kind: 'fix', request: { id: 'a', fixId: 'fix of a' } });
    assert.deepEqual(row.command.undo, { kind: 'undo-fix' });
    assert.equal(rowOf({ ...checks, running: { completed: 0, total: 1 } }, 'apply-a').sensitive, false);
    const offline = rowOf(checks, 'terminal-a', true);
    assert.ok(offline.kind === 'shell');
    assert.equal(offline.shell, 'culvert doctor fix a');
  });

  test('gives an administrator commands that a shell reads as they are meant', () => {
    const row = rowOf(state(result('a', 'problem', FIXES.file)), 'admin-a');
    assert.ok(row.kind === 'shell');
    assert.match(
      row.shell,
      /^sudo cp -a '\/etc\/a b' '\/etc\/a b.before-culvert'\nprintf %s 'new\n' \| sudo tee '\/etc\/a b'/,
    );
    assert.equal(fixText(FIXES.commands), "systemctl restart 'it'\\''s'");
    assert.equal(fixText(FIXES.action), 'culvert action setMode warp+doh');
    assert.equal(fixText(FIXES.open), 'https://example.com/');
    assert.ok(fixText(FIXES.file).endsWith('-old\n+new'));
  });

  test('reads what the command prints leniently', () => {
    const given = [
      {
        id: 'a',
        title: 'DNS',
        verdict: 'problem',
        evidence: ['x', 3],
        explanation: 'z',
        source: 'https://example.com/',
      },
      { id: 'b', title: 'Service', verdict: 'ok' },
      { id: 'c', verdict: 'ok' },
      { id: 'd', title: 'New', verdict: 'unheard-of' },
      null,
    ];
    const { results } = parseReport(JSON.stringify({ results: given }));
    assert.deepEqual(
      results.map(({ id, evidence }) => [id, evidence]),
      [
        ['a', ['x']],
        ['b', []],
      ],
    );
    const wording = {
      evidence: [{ text: '%s at %s', values: ['x', { time: '2026-01-01T00:00:00.000Z' }] }],
      explanation: [],
    };
    const wrong = [
      null,
      [],
      { evidence: [{}], explanation: [] },
      { evidence: [{ text: 'x', values: [null] }], explanation: [] },
      { evidence: [{ text: 'x', values: [{ time: 'soon' }] }], explanation: [] },
    ];
    const worded = [wording, ...wrong].map(each => ({
      id: 'a',
      title: 'A',
      verdict: 'ok',
      evidence: ['x'],
      wording: each,
    }));
    assert.deepEqual(
      parseReport(JSON.stringify({ results: worded })).results.map(({ wording }) => wording),
      [wording, ...wrong.map(() => undefined)],
    );
    assert.deepEqual(parseReport('[]').results, []);
    assert.throws(() => parseReport('no JSON'), SyntaxError);
  });
});

describe('the cause that the daemon found', () => {
  const shown = (connection: 'unable' | 'connected' | 'connecting', fix: Fix | null) => {
    const client = clientState({ status: { state: connection, reason: { code: 'Frobnicated', text: '' } } });
    const { id, title, evidence, explanation, fixId, source } = result('a', 'problem', fix);
    const diagnosis: Diagnosis = {
      id,
      title,
      evidence,
      explanation,
      fix,
      fixId,
      source,
      at: '2026-11-21T10:00:00.000Z',
    };
    client.snapshot!.diagnosis = diagnosis;
    return describeTunnel(client, tr);
  };

  test('replaces the words for an unknown reason, with its one button', () => {
    const { label, sentence, remedy, details } = shown('unable', FIXES.action);
    assert.equal(label, 'Can’t connect');
    assert.equal(sentence, 'Because.');
    assert.equal(remedy?.label, 'Use another mode');
    assert.deepEqual(remedy?.command.ask, { kind: 'fix', request: { id: 'a', fixId: 'fix of a' } });
    assert.equal(remedy?.command.confirm?.text, 'culvert action setMode warp+doh');
    assert.equal(details, 'Frobnicated\nTitle of a: seen; seen too');
  });

  test('leads to the checks where a fix has to be read first, and where no fix exists', () => {
    const asked = (fix: Fix | null) => {
      const { remedy } = shown('unable', fix);
      return [remedy?.label, remedy?.command.ask];
    };
    assert.deepEqual(asked(FIXES.file), ['Show the Fix', { kind: 'page', page: 'checks' }]);
    assert.deepEqual(asked(null), ['Run Checks', { kind: 'page', page: 'checks' }]);
    assert.deepEqual(asked(FIXES.open), ['Open the page', { kind: 'open', uri: 'https://example.com/' }]);
  });

  test('is a warning while the tunnel says that it is connected, and nothing while it connects', () => {
    const connected = shown('connected', FIXES.commands);
    assert.deepEqual([connected.tone, connected.label], ['warning', 'Connected']);
    assert.match(connected.sentence, /^Nothing comes back through the tunnel\. Because\.$/);
    assert.notEqual(shown('connecting', FIXES.commands).sentence, 'Because.');
  });
});

test('a report names each file and its size, and counts the replaced texts', () => {
  const files = [
    { name: 'doctor.json', text: '[]\n' },
    { name: 'unheard-of.json', text: '' },
  ];
  const view = reportView({ files, redacted: { ip: 2, host: 1 } }, tr);
  assert.match(view.redacted, /^3 names, addresses and keys/);
  assert.deepEqual(
    view.files.map(({ about }) => about),
    ['Results of the checks · 3 B', '0 B'],
  );
  assert.match(reportView({ files, redacted: {} }, tr).redacted, /nothing to replace/);
});

const shellFix = (commands: string[][], words?: string[]): Fix => ({
  kind: 'commands',
  label: 'Do it',
  commands,
  undo: [['undo', 'it']],
  privileged: true,
  ...(words ? { repair: words } : {}),
});
const repairRows = (fix: Fix, client: Parameters<typeof checksForm>[1]) =>
  checksForm(state(result('service', 'problem', fix)), client, tr).groups.flatMap(({ rows }) =>
    rows.filter(({ id }) => /^(repair|admin|back|change|apply)-/.test(id)),
  );
const START = ['systemctl', 'enable', '--now', 'warp-svc'];

test('without root’s side, only a verb for the unit of WARP is a repair by one click', async () => {
  const asked: string[] = [];
  const service = async (task: string) => asked.push(task);
  const client = { offline: false, repair: { service, root: null } };
  const [button, shell] = repairRows(shellFix([START], ['start-warp']), client);
  assert.ok(button?.kind === 'button' && button.command.ask.kind === 'work' && shell?.kind === 'shell');
  await button.command.ask.work();
  assert.deepEqual([asked, shell.shell], [['start-service'], 'sudo systemctl enable --now warp-svc']);
  const kinds = (commands: string[][]) => repairRows(shellFix(commands), client).map(({ kind }) => kind);
  assert.deepEqual(kinds([['systemctl', 'restart', 'warp-svc']]), ['button', 'shell', 'shell']);
  for (const other of [
    [['systemctl', 'restart', 'sshd']],
    [['sh', '-c', 'systemctl restart warp-svc']],
    [['systemctl', 'restart', 'warp-svc'], ['true']],
  ])
    assert.deepEqual(kinds(other), ['shell', 'shell']);
});

test('root’s side makes a change of its list, and the commands fold behind one label', async () => {
  const asked: (readonly string[])[] = [];
  const root = async (argv: readonly string[]) => asked.push(argv);
  const client = { offline: false, repair: { service: assert.fail, root } };
  const fix = shellFix([['sysctl', '-w', 'x=1']], ['ipv6-off', 'eth0']);
  const [button, ...shells] = repairRows(fix, client);
  assert.ok(button?.kind === 'button' && button.command.ask.kind === 'work');
  await button.command.ask.work();
  assert.deepEqual(asked, [['fix', 'ipv6-off', 'eth0']]);
  const folds = shells.map(row => row.kind === 'shell' && [row.shell, row.folded]);
  assert.deepEqual(folds, [
    ['sudo sysctl -w x=1', 'Show commands'],
    ['sudo undo it', 'Show commands to undo it'],
  ]);
  // others stay commands to copy, in the open: those of no list, in a browser, and without anything that asks
  for (const [other, place] of [
    [shellFix([['sh', '-c', 'true']]), client],
    [fix, { offline: false }],
    [fix, { offline: false, repair: { service: assert.fail, root: null } }],
  ] as const)
    assert.deepEqual(
      repairRows(other, place).map(row => row.kind === 'shell' && row.folded),
      [undefined, undefined],
    );
});

test('a change of the user’s own folds its commands; a change of a file stays in sight', () => {
  const actions: Fix = { kind: 'action', label: 'Reconnect', actions: [{ action: 'connect' }], undo: [] };
  const folded = (fix: Fix) => {
    const [change] = repairRows(fix, { offline: false });
    assert.ok(change?.kind === 'text');
    return change.folded;
  };
  const file: Fix = { kind: 'file', label: 'x', path: '/x', diff: '+x', content: 'x', privileged: false };
  assert.deepEqual([folded(actions), folded(file)], ['Show commands', undefined]);
});

test('the last fix of root’s side is undone by it, or by a command where it can’t be asked', async () => {
  const undo = { id: 'service', label: 'Do it', at: '2026-01-01T00:00:00.000Z', administrator: true as const };
  const asked: (readonly string[])[] = [];
  const row = (client: Parameters<typeof checksForm>[1]) =>
    checksForm({ ...state(), undo }, client, tr).groups.flatMap(({ rows }) =>
      rows.filter(({ id }) => id === 'undo'),
    )[0];
  const root = async (argv: readonly string[]) => asked.push(argv);
  const button = row({ offline: false, repair: { service: assert.fail, root } });
  assert.ok(button?.kind === 'button' && button.command.ask.kind === 'work');
  await button.command.ask.work();
  assert.deepEqual(asked, [['undo']]);
  const inBrowser = row({ offline: false });
  assert.equal(inBrowser?.kind === 'shell' && inBrowser.shell, 'culvert doctor undo');
});
