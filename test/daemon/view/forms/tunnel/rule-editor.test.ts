// A rule for a network is written by a form, tried before it is saved, and asks where it lowers the protection.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NetworksState, NetworksWhatIf } from '../../../../../daemon/api/schema/traffic/networks.ts';
import { decide, describe } from '../../../../../daemon/networks/rules/decide.ts';
import { parseRules } from '../../../../../daemon/networks/rules/rules.ts';
import { createRuleEditor } from '../../../../../daemon/view/client/rule-editor.ts';
import type { Command, Row } from '../../../../../daemon/view/form.ts';
import { networkGroups } from '../../../../../daemon/view/forms/tunnel/network-rules.ts';
import { tr } from '../../../../support/gnome/translator.ts';
import { link } from '../../../../support/networks/mocks.ts';

const home = link('wlan0', { name: 'Home', security: 'psk' });
const RULE = '# mine\n\n[[network]]\nname = "cafes"\nany = "unknown-wifi"\nwarp = "connect"\n';

/** The page with a daemon that holds a document. */
function setUp(given = RULE) {
  let document = given;
  const sent: [line: string, body: unknown][] = [];
  const answers = new Map<string, boolean>();
  const situation = { managed: false, modeLocked: false, switchLocked: false, mode: 'warp', answers };
  const tried = (text: string, network?: NetworksWhatIf['network']) => {
    const { rules, invalid } = parseRules(text);
    const at = network ? link('what-if', network as object) : home;
    const decision = decide([{ link: at, proven: new Set() }], rules, situation);
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
    links: [home],
    ...tried(document),
    acted: null,
    reverted: false,
    problem: null,
  });
  const rows = () => networkGroups(state(), tr, { options: null, editor }).flatMap(group => group.rows);
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
  return { rows, row, run, choose, sent, document: () => document };
}

test('a new rule begins with the present network, says what it does here, and asks before it may lower the protection', async () => {
  const { row, run, choose, sent, document } = setUp();
  await run(row('button', 'rule-new').command);
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

test('a rule is edited in its place, renamed, and saved without a question where it only strengthens', async () => {
  const { row, run, choose, sent, document, rows } = setUp();
  await run(row('item', 'rule-cafes').edit!.command);
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

test('a name that another rule has is refused before it is saved, and Cancel changes nothing', async () => {
  const { row, run, choose, rows, sent } = setUp();
  await run(row('button', 'rule-new').command);
  await choose('draft-warp', 'Connect');
  await run(row('entry', 'draft-name').command('cafes'));
  assert.equal(row('button', 'draft-save').sensitive, false);
  assert.match(row('note', 'draft-rule').subtitle!, /Another rule has the name cafes/);
  await run(row('button', 'draft-cancel').command);
  assert.deepEqual([sent, rows().filter(({ id }) => id.startsWith('draft'))], [[], []]);
});

test('a rule with what the form has no field for keeps that', async () => {
  const beacon = `beacon = {address = "192.0.2.1:8443", sha256 = "${'ab'.repeat(32)}"}\n`;
  const { row, run, choose, document } = setUp(`[[network]]\nname = "x"\nssid = "x"\n${beacon}warp = "pause"\n`);
  await run(row('item', 'rule-x').edit!.command);
  await choose('draft-protocol', 'WireGuard');
  // the beacon proves the network
  assert.equal(row('button', 'draft-save').command.confirm, undefined);
  await run(row('button', 'draft-save').command);
  assert.equal(document(), `[[network]]\nname = "x"\nssid = "x"\n${beacon}warp = "pause"\nprotocol = "WireGuard"\n`);
});

test('“What if…” says what the rules do on another network', async () => {
  const { row, run, choose } = setUp();
  await choose('what-if-network', 'Unknown Wi-Fi without a password');
  assert.deepEqual(
    [row('note', 'what-if-answer').title, row('note', 'what-if-answer').subtitle],
    ['Unknown Wi-Fi without a password', 'WARP is on, by the rule “cafes”.'],
  );
  await choose('what-if-network', 'Ethernet');
  assert.equal(row('note', 'what-if-answer').subtitle, 'No rule is for this network.');
  await run(row('entry', 'what-if-name').command('Hotel'));
  assert.equal(row('note', 'what-if-answer').title, 'Wi-Fi “Hotel”');
});
