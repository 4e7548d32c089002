// A rule for a network is written by a form, tried before it is saved, and asks where it lowers the protection.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NetworkLink, NetworksState, NetworksWhatIf } from '../../../../../daemon/api/networks.ts';
import { decide, describe } from '../../../../../daemon/networks/rules/decide.ts';
import { parseRules } from '../../../../../daemon/networks/rules/rules.ts';
import { createRuleEditor } from '../../../../../daemon/view/client/rule-editor.ts';
import type { Command, Row } from '../../../../../daemon/view/form.ts';
import { networksForm } from '../../../../../daemon/view/forms/tunnel/networks.ts';
import { rowsOf } from '../../../../support/gnome/view/forms.ts';
import { clientState, tr } from '../../../../support/gnome/view/translator.ts';
import { link } from '../../../../support/networks/mocks.ts';

const home = link('wlan0', { name: 'Home', security: 'psk' });
const RULE = '# mine\n\n[[network]]\nname = "cafes"\nany = "unknown-wifi"\nwarp = "connect"\n';

/** The page with a daemon that holds a document. */
function setUp(given = RULE, links: NetworkLink[] = [home]) {
  let document = given;
  const sent: [line: string, body: unknown][] = [];
  const answers = new Map<string, boolean>();
  const situation = { managed: false, modeLocked: false, switchLocked: false, before: () => 'warp', answers };
  const tried = (text: string, network?: NetworksWhatIf['network']) => {
    const { rules, invalid } = parseRules(text);
    const at = network ? link('what-if', network as object) : home;
    const { beacon } = network ?? {};
    const proven = rules.filter(({ match }) => match.beacon && match.beacon.address === beacon).map(({ name }) => name);
    const decision = decide([{ link: at, proven: new Set(proven) }], rules, situation);
    return { ok: true, rules: rules.map(rule => describe(rule, answers)), decision, invalid };
  };
  const call = async (line: string, { body }: { body?: NetworksWhatIf } = {}) => {
    if (line === 'GET /api/networks') return { document, revision: 'r' };
    if (line === 'POST /api/networks/what-if') return tried(body?.document ?? document, body?.network);
    sent.push([line, body]);
    if (line === 'POST /api/networks') document = body!.document!;
    return {};
  };
  const editor = createRuleEditor({ call } as never, () => {});
  const state = (): NetworksState => ({
    service: 'NetworkManager',
    links,
    ...tried(document),
    acted: null,
    reverted: false,
    problem: null,
  });
  const form = () => {
    const client = clientState();
    const snapshot = { ...client.snapshot!, networks: state() };
    return networksForm({ ...client, snapshot }, { settable: true, network: null, now: 0, editor }, tr);
  };
  const rows = () => rowsOf(form());
  const row = <K extends Row['kind']>(kind: K, id: string) => {
    const match = rows().find(each => each.id === id);
    assert.equal(match?.kind, kind, id);
    return match as Extract<Row, { kind: K }>;
  };
  const run = async ({ ask }: Command) => {
    assert.equal(ask.kind, 'work');
    if (ask.kind === 'work') await ask.work();
  };
  const choose = (id: string, label: string) => {
    const { options, command } = row('select', id);
    const option = options.find(each => each.label === label);
    assert.ok(option, `${label} among ${options.map(each => each.label).join(', ')}`);
    return run(command(option.value));
  };
  /** Runs a command of a group, of a row's menu, or the button that edits a rule. */
  const press = (label: string) => {
    const ofGroups = form().groups.flatMap(({ actions = [], menu = [] }) => [...actions, ...menu]);
    const buttons = rows().flatMap(row => [
      ...(row.menu ?? []),
      ...(row.kind === 'item' && row.edit ? [row.edit] : []),
    ]);
    return run([...ofGroups, ...buttons].find(each => each.label === label)!.command);
  };
  /** Does some work while the form shows what else identifies the network. */
  const marking = async (work: () => Promise<unknown>) => {
    await press('Also Identified By…');
    await work();
    await run(row('button', 'draft-marked').command);
  };
  return { form, rows, row, run, choose, press, marking, sent, document: () => document };
}

test('a new rule begins with the present network, says what it does here, and asks before it may lower the protection', async () => {
  const { row, run, choose, press, sent, document } = setUp();
  await press('Add Rule…');
  assert.equal(row('note', 'draft-rule').title, 'Choose a network, a name, and at least one setting.');
  await choose('draft-warp', 'Pause');
  assert.deepEqual(
    [row('note', 'draft-rule').title, row('note', 'draft-rule').tone],
    ['Wi-Fi “Home”, with a shared password: WARP is paused', 'warning'],
  );
  assert.match(row('note', 'draft-here').subtitle!, /^Not yet: WARP is paused, by the rule “Home”/);
  const { command } = row('button', 'draft-save');
  assert.equal(command.confirm?.heading, 'Let the rule “Home” lower protection?');
  await run(command);
  const added = '\n[[network]]\nname = "Home"\nssid = "Home"\nsecurity = "psk"\nwarp = "pause"\n';
  assert.equal(document(), RULE + added);
  assert.deepEqual(sent, [
    ['POST /api/networks', { document: RULE + added, ifRevision: 'r' }],
    ['POST /api/networks/answer', { rule: 'Home', answer: 'always' }],
  ]);
});

test('a rule is edited, renamed, and saved without a question where it only strengthens', async () => {
  const { row, run, choose, press, sent, document, rows } = setUp();
  await press('Edit cafes');
  await choose('draft-network', 'A Wi-Fi network by its name');
  await run(row('entry', 'draft-ssid').command('Café'));
  await choose('draft-security', 'Without a password');
  await choose('draft-mode', 'All traffic');
  await choose('draft-warp', 'Leave as it is');
  await run(row('switch', 'draft-killswitch').command);
  await run(row('entry', 'draft-name').command('strict'));
  const { command } = row('button', 'draft-save');
  assert.equal(command.confirm, undefined);
  await run(command);
  assert.equal(
    document(),
    '# mine\n\n[[network]]\nname = "strict"\nssid = "Café"\nsecurity = "open"\nmode = "warp"\nkill_switch = true\n',
  );
  assert.equal(sent.length, 1);
  assert.equal(
    rows().some(({ id }) => id.startsWith('draft')),
    false,
  );
});

test('a saved rule can be undone, whether it is new or replaces another', async () => {
  const { row, run, choose, press, document } = setUp();
  const before = parseRules(document());
  await press('Add Rule…');
  await choose('draft-warp', 'Connect');
  const added = row('button', 'draft-save').command;
  await run(added);
  await press('Edit cafes');
  await run(row('entry', 'draft-name').command('strict'));
  const edited = row('button', 'draft-save').command;
  await run(edited);
  assert.match(document(), /"strict".*"Home"/s);
  for (const { undo } of [added, edited]) await run({ ask: undo! });
  assert.deepEqual(parseRules(document()), before);
});

test('a name that another rule has is refused before it is saved, and Cancel changes nothing', async () => {
  const { row, run, choose, press, rows, sent } = setUp();
  await press('Add Rule…');
  await choose('draft-warp', 'Connect');
  await run(row('entry', 'draft-name').command('cafes'));
  assert.equal(row('button', 'draft-save').sensitive, false);
  assert.match(row('note', 'draft-rule').subtitle!, /Another rule has the name cafes/);
  await run(row('button', 'draft-cancel').command);
  assert.deepEqual([sent, rows().filter(({ id }) => id.startsWith('draft'))], [[], []]);
});

/** Result of a command's work. */
const result = ({ ask }: Command) => (ask.kind === 'work' ? ask.work() : assert.fail(ask.kind));

const SHA256 = 'ab'.repeat(32);

test('everything that a document says of a network is set by the form, and removed again', async () => {
  const { row, run, choose, press, marking, document, rows } = setUp('', [
    { ...home, uuid: '1f0c', gatewayHardware: '02:00:00:00:00:01', bssid: '02:00:00:00:00:02' },
  ]);
  const offered = () => rows().filter(({ id }) => id.startsWith('draft-present'));
  await press('Add Rule…');
  assert.deepEqual(offered(), [], 'marks are behind the menu');
  await marking(async () => {
    assert.deepEqual(
      offered().map(each => [each.title, each.subtitle]),
      [
        ['Gateway 02:00:00:00:00:01', 'Wi-Fi “Home”'],
        ['Access point 02:00:00:00:00:02', 'Wi-Fi “Home”'],
        ['Connection 1f0c', 'Wi-Fi “Home”'],
      ],
    );
    for (const { id } of offered()) await run(row('button', id).command);
    await run(row('entry', 'draft-bssid').command('02:00:00:00:00:AB'));
    await run(row('entry', 'draft-beacon').command(`192.0.2.1:8443 ${'AB:'.repeat(31)}AB`));
    assert.deepEqual(offered(), []);
  });
  await choose('draft-security', 'With or without a password');
  await choose('draft-warp', 'Pause');
  // the beacon proves the network
  assert.equal(row('button', 'draft-save').command.confirm, undefined);
  await run(row('button', 'draft-save').command);
  const { rules, invalid } = parseRules(document());
  const beacon = { address: '192.0.2.1:8443', sha256: SHA256 };
  const bssid = ['02:00:00:00:00:02', '02:00:00:00:00:ab'];
  const match = { ssid: 'Home', uuid: '1f0c', gateway: '02:00:00:00:00:01', bssid, beacon };
  assert.deepEqual([invalid, rules[0]?.match], [[], match]);

  await press('Edit Home');
  const remove = (title: string) => {
    const item = rows().find(each => each.kind === 'item' && each.title === title);
    assert.ok(item?.kind === 'item', title);
    return run(item.remove!);
  };
  await marking(async () => {
    for (const title of ['Access point 02:00:00:00:00:02', 'Gateway 02:00:00:00:00:01', 'Connection 1f0c'])
      await remove(title);
  });
  await run(row('select', 'draft-network').command('{}'));
  await choose('draft-security', 'With WEP');
  await run(row('button', 'draft-save').command);
  assert.deepEqual(parseRules(document()).rules[0]?.match, { security: 'wep', bssid: bssid.slice(1), beacon });
  await press('Edit Home');
  await marking(async () => {
    await remove('Access point 02:00:00:00:00:ab');
    await remove('Beacon 192.0.2.1:8443');
  });
  await choose('draft-network', 'Any Ethernet');
  await marking(() => run(row('entry', 'draft-gateway').command('02:00:00:00:00:0A')));
  await run(row('button', 'draft-save').command);
  assert.deepEqual(parseRules(document()).rules[0]?.match, { any: 'ethernet', gateway: '02:00:00:00:00:0a' });
});

test('a text that is typed but not added is added by Done and by Save, or refused with its reason', async () => {
  const { form, row, run, choose, press, rows, document } = setUp('');
  const gateway = '02:00:00:00:00:0a';
  const type = (id: string, text: string) => row('entry', id).type?.(text);
  await press('Add Rule…');
  await choose('draft-warp', 'Connect');
  await press('Also Identified By…');
  assert.deepEqual(
    form().groups.map(({ id }) => id),
    ['here', 'draft-marks', 'draft-end'],
  );
  type('draft-gateway', gateway.slice(0, -1));
  const done = row('button', 'draft-marked').command;
  const refused = await result(done);
  assert.equal(refused, row('entry', 'draft-gateway').check('no address'));
  assert.equal(await result(row('button', 'draft-save').command), refused);
  assert.equal(document(), '', 'nothing is saved');
  type('draft-gateway', ` ${gateway.toUpperCase()} `);
  type('draft-bssid', '02:00:00:00:00:0b');
  type('draft-uuid', '1f0c');
  type('draft-uuid', '');
  await run(done);
  assert.equal(
    rows().some(({ id }) => id === 'draft-marked'),
    false,
  );
  await press('Also Identified By…');
  assert.deepEqual(
    rows().flatMap(each => (each.kind === 'item' ? [each.title] : [])),
    [`Gateway ${gateway}`, 'Access point 02:00:00:00:00:0b'],
  );
  type('draft-beacon', `192.0.2.1:8443 ${SHA256}`);
  await run(row('button', 'draft-save').command);
  const { match } = parseRules(document()).rules[0]!;
  assert.deepEqual(
    [match.gateway, match.bssid, match.uuid, match.beacon],
    [gateway, ['02:00:00:00:00:0b'], undefined, { address: '192.0.2.1:8443', sha256: SHA256 }],
  );
  await press('Edit Home');
  assert.equal(
    rows().some(({ id }) => id === 'draft-marked'),
    false,
    'the next edit begins at the rule',
  );
});

test('a name that is typed but not set is taken by Save, and by whoever goes on to what else identifies the network', async () => {
  const { row, run, choose, press, rows, document } = setUp('');
  const type = (id: string, text: string) => row('entry', id).type!(text);
  await press('Add Rule…');
  await choose('draft-warp', 'Connect');
  await choose('draft-network', 'A Wi-Fi network by its name');
  await run(row('entry', 'draft-ssid').command('Caf'));
  await run(row('entry', 'draft-name').command('first'));
  type('draft-ssid', ' Café ');
  type('draft-name', 'x'.repeat(400));
  assert.equal(await result(row('button', 'draft-save').command), row('entry', 'draft-name').check('x'.repeat(400)));
  assert.equal(document(), '', 'nothing is saved');
  type('draft-name', 'second');
  await press('Also Identified By…');
  await run(row('button', 'draft-marked').command);
  assert.ok(rows().some(({ title }) => title === 'Name of the rule: second'));
  type('draft-name', 'third');
  await run(row('entry', 'draft-name').command('fourth'));
  type('draft-ssid', 'Other');
  await run(row('button', 'draft-save').command);
  const [rule] = parseRules(document()).rules;
  assert.deepEqual([rule?.name, rule?.match.ssid], ['fourth', 'Other']);
});

test('the form takes what the document takes, and nothing else', async () => {
  const { row, press } = setUp('');
  await press('Add Rule…');
  await press('Also Identified By…');
  const digits = 'ab'.repeat(32);
  const beacon = ([address, sha256]: string[]) => `{address = "${address}", sha256 = "${sha256}"}`;
  const texts: [id: string, text: string, value: string][] = [
    ...['02:00:00:00:00:0f', '02:00:00:00:00:0F', '02:00:00:00:00', '02-00-00-00-00-0f', 'router'].flatMap(
      (text): [string, string, string][] => [
        ['gateway', text, JSON.stringify(text)],
        ['bssid', text, JSON.stringify(text)],
      ],
    ),
    ...['1f0c', 'x'.repeat(64), 'x'.repeat(65)].map((text): [string, string, string] => ['uuid', text, `"${text}"`]),
    ...[
      ['192.0.2.1:8443', digits],
      ['router.lan:1', `${'AB:'.repeat(31)}AB`],
      ['[2001:db8::1]:8443', digits],
      ['192.0.2.1', digits],
      ['2001:db8::1:8443', digits],
      ['192.0.2.1:8443', 'ab'],
    ].map((words): [string, string, string] => ['beacon', words.join(' '), beacon(words)]),
  ];
  for (const [key, text, value] of texts) {
    const { invalid } = parseRules(`[[network]]\nname = "x"\n${key} = ${value}\nwarp = "connect"\n`);
    assert.equal(row('entry', `draft-${key}`).check(text) === null, invalid.length === 0, `${key}: ${text}`);
  }
});

test('“What if…” says what the rules do on another network', async () => {
  const { form, row, run, choose, press } = setUp();
  const groups = () => form().groups.map(({ id }) => id);
  await press('Test Rules…');
  assert.deepEqual(groups(), ['here', 'what-if']);
  await choose('what-if-network', 'Unknown Wi-Fi without a password');
  assert.deepEqual(
    [row('note', 'what-if-answer').title, row('note', 'what-if-answer').subtitle],
    ['Unknown Wi-Fi without a password', 'WARP is on, by the rule “cafes”.'],
  );
  await choose('what-if-network', 'Ethernet');
  assert.equal(row('note', 'what-if-answer').subtitle, 'No rule is for this network.');
  await run(row('entry', 'what-if-name').command('Hotel'));
  assert.equal(row('note', 'what-if-answer').title, 'Wi-Fi “Hotel”');
  await run(row('button', 'what-if-done').command);
  assert.deepEqual(groups(), ['here', 'rules', 'local']);
});

test('“What if…” offers the network of each rule, by its connection and its beacon as well', async () => {
  const beacon = (address: string) => `beacon = {address = "${address}", sha256 = "${SHA256}"}\n`;
  const { row, choose, press } = setUp(
    `[[network]]\nname = "lab"\n${beacon('192.0.2.1:1')}mode = "doh"\n` +
      `[[network]]\nname = "home"\n${beacon('192.0.2.1:2')}warp = "pause"\n` +
      '[[network]]\nname = "dock"\nuuid = "1f0c"\nwarp = "connect"\n',
  );
  await press('Test Rules…');
  const answers: [label: string, answer: RegExp][] = [
    ['Beacon 192.0.2.1:2', /^WARP is paused, by the rule “home”\.$/],
    ['Beacon 192.0.2.1:1', /^Mode: .*, by the rule “lab”\.$/],
    ['Connection 1f0c', /^WARP is on, by the rule “dock”\.$/],
  ];
  for (const [label, answer] of answers) {
    await choose('what-if-network', label);
    assert.equal(row('note', 'what-if-answer').title, label);
    assert.match(row('note', 'what-if-answer').subtitle!, answer);
  }
});
