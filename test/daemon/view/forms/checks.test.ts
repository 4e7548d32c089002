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
type Client = Parameters<typeof checksForm>[1];
const CLIENT: Client = { offline: false, demo: false };
const unfolded = (row: Row): Row[] => (row.kind === 'expander' ? [row, ...row.rows.flatMap(unfolded)] : [row]);
const rowsOf = (checks: ChecksState, client: Partial<Client> = {}): Row[] =>
  checksForm(checks, { ...CLIENT, ...client }, tr).groups.flatMap(({ rows }) => rows.flatMap(unfolded));
const rowOf = (checks: ChecksState, id: string, client: Partial<Client> = {}): Row =>
  rowsOf(checks, client).find(row => row.id === id) ?? assert.fail(`no row ${id}`);
const statusOf = (checks: ChecksState) => checksForm(checks, CLIENT, tr).status!;
/** The button of a finding. */
const buttonOf = (checks: ChecksState, client: Partial<Client> = {}) => {
  const row = rowOf(checks, 'check-a', client);
  return row.kind === 'expander' ? row.button : undefined;
};
/** The fix of the check `a`, with the rows that its line unfolds. */
const fixOf = (fix: Fix, client: Partial<Client> = {}) => {
  const checks = state(result('a', 'problem', fix));
  const button = buttonOf(checks, client) ?? assert.fail('no button');
  const rows = rowsOf(checks, client).filter(({ id }) => /^(change|hand|back)-/.test(id));
  return { button, rows };
};

describe('the page of checks', () => {
  test('shows problems first, then what is unknown and hints, and folds what is fine; nothing that does not apply', () => {
    const verdicts: Verdict[] = ['ok', 'notice', 'not-applicable', 'unknown', 'problem'];
    const { groups } = checksForm(state(...verdicts.map(verdict => result(verdict, verdict))), CLIENT, tr);
    assert.deepEqual(
      groups.map(({ id, rows }) => [id, ...rows.map(row => `${row.id} ${row.mark} ${row.tone}`)]),
      [
        ['found', 'check-problem problem error', 'check-unknown hint warning', 'check-notice hint warning'],
        ['fine', 'fine fine success'],
      ],
    );
    assert.equal(rowOf(state(result('a', 'ok')), 'fine').title, '1 check is fine');
    assert.equal(rowOf(state(result('a', 'ok')), 'seen-a').subtitle, 'seen\nSeen too');
  });

  test('says what is wrong in one sentence, and keeps the rest and the evidence folded and gray', () => {
    const explanation = 'WARP 2026.4.1 does not connect. Update it. Or wait.';
    const line = (found: Partial<CheckResult>) => {
      const checks = state({ ...result('a', 'problem'), ...found });
      const { title, subtitle, kind } = rowOf(checks, 'check-a');
      const seen = rowsOf(checks).find(({ id }) => id === 'seen-a');
      return [kind, title, subtitle, seen?.subtitle, seen?.tone];
    };
    assert.deepEqual(line({ explanation }), [
      'expander',
      'WARP 2026.4.1 does not connect.',
      'Title of a',
      'seen\nSeen too\nUpdate it. Or wait.',
      undefined,
    ]);
    assert.deepEqual(line({ explanation: null }), ['note', 'Title of a', 'seen\nSeen too', undefined, undefined]);
  });

  test('begins evidence with a capital, unless it begins with a value or the name of a program', () => {
    for (const [text, shown] of [
      ['not running', 'Not running'],
      ['journal: x', 'Journal: x'],
      ['warp-cli refuses this user', 'warp-cli refuses this user'],
      ['systemd knows no unit x', 'systemd knows no unit x'],
      ['gjs is missing', 'gjs is missing'],
      ['busctl is missing', 'busctl is missing'],
      ['/etc/x is missing', '/etc/x is missing'],
    ])
      assert.equal(rowOf(state({ ...result('a', 'ok'), evidence: [text!] }), 'seen-a').subtitle, shown);
    const wording = { evidence: [message('%s is free', 'x')], explanation: [] };
    const valued = { ...result('a', 'ok'), evidence: ['x is free'], wording };
    assert.equal(rowOf(state(valued), 'seen-a').subtitle, 'x is free');
  });

  test('says which lines are English in every language', () => {
    const evidence = [message('seen'), inEnglish('A bug. Update.')];
    const found = {
      ...result('a', 'notice'),
      evidence: ['seen', 'A bug. Update.'],
      wording: { evidence, explanation: [message('Because.')] },
    };
    const row = rowOf(state(found), 'seen-a');
    assert.deepEqual([row.subtitle?.split('\n')[1], row.englishLines], ['A bug. Update.', [1]]);
    assert.equal(rowOf(state(result('a', 'notice')), 'seen-a').englishLines, undefined);
  });

  test('begins with a verdict, which counts what ended while the checks run', () => {
    const shown = (checks: ChecksState) => {
      const { title, sentence, line, tone, buttons } = statusOf(checks);
      return [
        title,
        sentence,
        line,
        tone,
        ...buttons.map(({ label, sensitive }) => (sensitive ? label : `(${label})`)),
      ];
    };
    const of = (...verdicts: Verdict[]) => state(...verdicts.map((verdict, i) => result(String(i), verdict)));
    const about = 'Checks service, DNS, network and desktop. Nothing leaves this computer.';
    for (const [checks, ...wanted] of [
      [NO_CHECKS, 'Not checked yet', about, null, 'neutral', 'Run Checks'],
      [
        { ...NO_CHECKS, running: { completed: 3, total: 34 } },
        'Checking…',
        null,
        '3 of 34 checks done',
        'accent',
        '(Run Checks)',
      ],
      [of('problem', 'problem', 'notice', 'unknown', 'ok'), '4 things to look at', null, null, 'error', 'Run Again'],
      [of('notice', 'ok'), '1 thing to look at', null, null, 'warning', 'Run Again'],
      [of('ok', 'not-applicable'), 'Everything is fine', about, null, 'success', 'Run Again'],
      [{ ...NO_CHECKS, failed: 'No answer.' }, 'The checks could not run', 'No answer.', null, 'error', 'Run Checks'],
    ] as const)
      assert.deepEqual(shown(checks), wanted);
    assert.deepEqual(
      statusOf(NO_CHECKS).menu?.map(({ command }) => command.ask),
      [{ kind: 'client', task: 'report' }],
    );
  });

  test('says in the demo that nothing is tunneled, with the way out, in place of the finding about the tunnel CLI', () => {
    const checks = state(result('tunnel-cli', 'notice'), result('a', 'ok'));
    const [demo, ...rest] = rowsOf(state(...checks.results, result('b', 'notice')), { demo: true });
    assert.ok(demo?.kind === 'button');
    assert.deepEqual([demo.title, demo.command.ask], ['Demo · Nothing is tunneled.', { kind: 'restart', demo: false }]);
    assert.ok(!rest.some(({ id }) => id.includes('tunnel-cli')));
    const quiet = checksForm(state(result('a', 'ok')), { ...CLIENT, demo: true }, tr);
    assert.deepEqual([quiet.status!.title, quiet.status!.tone], [demo.title, 'neutral']);
    assert.deepEqual(quiet.status!.buttons.at(-1)!.command.ask, demo.command.ask);
    assert.equal(
      quiet.groups.some(({ id }) => id === 'demo'),
      false,
      'the demo is named once',
    );
    const none = statusOf(state(result('a', 'not-applicable')));
    assert.deepEqual([none.title, none.tone], ['No check applies here', 'neutral']);
    assert.equal(statusOf(state(result('a', 'ok'))).title, 'Everything is fine');
    assert.ok(rowsOf(checks).some(({ id }) => id === 'check-tunnel-cli'));
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
    assert.ok(
      !rowsOf(now, { offline: true }).some(({ id }) => id === 'undo'),
      'without a daemon nothing is taken back',
    );
    now = receiveProgress(now, { ...progress, running: false, undo: [] });
    assert.equal(now.undo, null);
    assert.equal(receiveReport({ results: [result('b', 'ok')], undo: [] }).results[0]?.id, 'b');
  });

  const repairs: [name: keyof typeof FIXES, kinds: string[], text: string | undefined][] = [
    ['action', ['hand shell'], 'culvert action setMode warp+doh'],
    ['commands', ['hand shell'], "systemctl restart 'it'\\''s'"],
    ['file', ['change text', 'hand shell', 'back shell'], fixText(FIXES.file)],
    ['open', [], undefined],
  ];
  for (const [name, kinds, text] of repairs)
    test(`shows what a fix of the kind ${name} would do before it is applied, and the way by hand`, () => {
      const { button, rows } = fixOf(FIXES[name]);
      assert.deepEqual(
        rows.map(({ id, kind }) => `${id.split('-')[0]} ${kind}`),
        kinds,
      );
      const asked = button.command.confirm?.text;
      assert.equal(name === 'file' ? asked?.slice(0, text!.length) : asked, text);
    });

  test('asks for the fix as it was shown, and not while something runs; without a daemon, the commands are copied', () => {
    const checks = state(result('a', 'problem', FIXES.action));
    const { command, name } = buttonOf(checks)!;
    assert.equal(name, 'Fix: Because.');
    assert.deepEqual(command.ask, { kind: 'fix', request: { id: 'a', fixId: 'fix of a' } });
    assert.deepEqual(command.undo, { kind: 'undo-fix' });
    assert.equal(buttonOf({ ...checks, running: { completed: 0, total: 1 } })?.sensitive, false);
    const offline = buttonOf(checks, { offline: true })!.command;
    assert.deepEqual(offline.ask, { kind: 'copy', text: 'culvert doctor fix a' });
    assert.match(offline.confirm!.text!, /^culvert action setMode/, 'the change is shown');
    const file: Fix = { ...FIXES.file, privileged: false };
    for (const fix of [file, FIXES.action, FIXES.commands])
      assert.deepEqual(fixOf(fix, { offline: true }).button.command.ask, {
        kind: 'copy',
        text: 'culvert doctor fix a',
      });
  });

  test('gives an administrator commands that a shell reads as they are meant', () => {
    const row = rowOf(state(result('a', 'problem', FIXES.file)), 'hand-a');
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
    assert.throws(() => parseReport('{"ok":false,"detail":"There is no home."}'), /^Error: There is no home\.$/);
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
const START = ['systemctl', 'enable', '--now', 'warp-svc'];

test('without root’s side, only a verb for the unit of WARP is a repair by one click', async () => {
  const asked: string[] = [];
  const service = async (task: string) => asked.push(task);
  const client = { repair: { service, root: null } };
  const { button, rows } = fixOf(shellFix([START], ['start-warp']), client);
  assert.ok(button.command.ask.kind === 'work' && rows[0]?.kind === 'shell');
  assert.match(button.command.confirm!.body, /administrator’s password/);
  await button.command.ask.work();
  assert.deepEqual([asked, rows[0].shell], [['start-service'], 'sudo systemctl enable --now warp-svc']);
  const asks = (commands: string[][]) => fixOf(shellFix(commands), client).button.command.ask.kind;
  assert.equal(asks([['systemctl', 'restart', 'warp-svc']]), 'work');
  for (const other of [
    [['systemctl', 'restart', 'sshd']],
    [['sh', '-c', 'systemctl restart warp-svc']],
    [['systemctl', 'restart', 'warp-svc'], ['true']],
  ])
    assert.equal(asks(other), 'copy');
});

test('root’s side makes a change of its list; every other change is commands to copy', async () => {
  const asked: (readonly string[])[] = [];
  const root = async (argv: readonly string[]) => asked.push(argv);
  const client = { repair: { service: assert.fail, root } };
  const fix = shellFix([['sysctl', '-w', 'x=1']], ['ipv6-off', 'eth0']);
  const { button, rows } = fixOf(fix, client);
  assert.ok(button.command.ask.kind === 'work');
  await button.command.ask.work();
  assert.deepEqual(asked, [['fix', 'ipv6-off', 'eth0']]);
  assert.deepEqual(
    rows.map(row => row.kind === 'shell' && row.shell),
    ['sudo sysctl -w x=1', 'sudo undo it'],
  );
  // those of no list, in a browser, and without anything that asks
  for (const [other, place, shell] of [
    [shellFix([['sh', '-c', 'true']]), client, 'sudo sh -c true'],
    [fix, {}, 'sudo sysctl -w x=1'],
    [fix, { repair: { service: assert.fail, root: null } }, 'sudo sysctl -w x=1'],
  ] as const)
    assert.deepEqual(fixOf(other, place).button.command.ask, { kind: 'copy', text: shell });
});

test('the last fix of root’s side is undone by it, or by a command where it can’t be asked', async () => {
  const undo = { id: 'service', label: 'Do it', at: '2026-01-01T00:00:00.000Z', administrator: true as const };
  const asked: (readonly string[])[] = [];
  const row = (client: Partial<Client>) => rowOf({ ...state(), undo }, 'undo', client);
  const root = async (argv: readonly string[]) => asked.push(argv);
  const button = row({ repair: { service: assert.fail, root } });
  assert.ok(button.kind === 'button' && button.command.ask.kind === 'work');
  await button.command.ask.work();
  assert.deepEqual(asked, [['undo']]);
  const inBrowser = row({});
  assert.equal(inBrowser.kind === 'shell' && inBrowser.shell, 'culvert doctor undo');
});
