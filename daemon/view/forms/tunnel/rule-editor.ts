// Describes the form that edits a rule for networks, and the form that tests the rules on another network.
import type {
  NetworkEffects,
  NetworkLink,
  NetworkRule,
  NetworksState,
  SupposedNetwork,
} from '../../../api/networks.ts';
import type { Snapshot } from '../../../api/schema.ts';
import { isComplete, type RuleDraft, type RuleEditor } from '../../client/rule-editor.ts';
import { type Group, noteRow, type Question, type Row, workCommand } from '../../form.ts';
import { wordMessage } from '../../message.ts';
import {
  allowQuestion,
  decisionText,
  matchText,
  networkTitle,
  ownSettingText,
  RULE_SUBJECTS,
  ruleEffects,
  ruleStrength,
} from '../../states/networks.ts';
import { fill, type Translator } from '../../translator.ts';
import { type Choice, capital, draftRow, markRows, matchRows, NONE, select, textOf, textRow } from './rule-match.ts';

/** Returns the form of the draft; empty without a draft. */
export function draftGroups(editor: RuleEditor, { links }: Pick<NetworksState, 'links'>, tr: Translator): Group[] {
  const { _ } = tr;
  const { draft, marking } = editor.state();
  if (!draft) return [];
  const end = { id: 'draft-end', rows: endRows(editor, draft, links, tr) };
  if (marking) return [marksGroup(editor, draft, links, tr), end];
  return [
    {
      id: 'draft',
      // Translators: %s is the name of a rule
      title: draft.replaces === null ? _('New rule') : fill(_('Rule “%s”'), draft.replaces),
      menu: [
        {
          label: _('Also Identified By…'),
          command: workCommand(async () => (await addTyped(editor, links, tr)) ?? editor.mark(true)),
        },
      ],
      rows: [...matchRows(editor, draft, links, tr), ...effectRows(editor, draft, tr), nameRow(editor, draft, tr)],
    },
    end,
  ];
}

function marksGroup(editor: RuleEditor, draft: RuleDraft, links: readonly NetworkLink[], tr: Translator): Group {
  const { _ } = tr;
  const done: Row = {
    kind: 'button',
    id: 'draft-marked',
    title: _('Back to the rule'),
    label: _('Done'),
    style: 'suggested',
    command: workCommand(async () => (await addTyped(editor, links, tr)) ?? editor.mark(false)),
  };
  return {
    id: 'draft-marks',
    title: _('Also identified by'),
    description: _('The rule is only for networks with all of this. Anyone can copy it, except the beacon.'),
    rows: [...markRows(editor, draft, links, tr), done],
  };
}

/**
 * Takes the texts that the user typed for the name and the network, and did not set with the field's button. Without these
 * texts, the rule would apply to other networks than its author means, or have another name.
 * @returns why a text can't be added, or null
 */
async function addTyped(editor: RuleEditor, links: readonly NetworkLink[], tr: Translator): Promise<string | null> {
  for (const [id, text] of editor.typed()) {
    // each command changes the draft, and with it the rows
    const { draft } = editor.state();
    const rows = draft
      ? [...matchRows(editor, draft, links, tr), nameRow(editor, draft, tr), ...markRows(editor, draft, links, tr)]
      : [];
    const row = rows.find(each => each.id === id);
    if (row?.kind !== 'entry') continue;
    const problem = row.check(text);
    if (problem !== null) return problem;
    const { ask } = row.command(text);
    if (ask.kind === 'work') await ask.work();
  }
  return null;
}

function effectRows(editor: RuleEditor, { effects }: RuleDraft, tr: Translator): Row[] {
  const { _ } = tr;
  const rows = RULE_SUBJECTS.flatMap(([, { key, row }]) => {
    if (!row) return [];
    const { title, values } = row(tr);
    const others = Object.fromEntries(Object.entries(effects).filter(([name]) => name !== key));
    const choices: Choice<NetworkEffects>[] = [
      { value: NONE, label: _('Leave as it is'), gives: others },
      ...values.map(([value, label]) => ({ value, label, gives: { ...others, [key]: value } })),
    ];
    const value = String(effects[key] ?? NONE);
    return [select({ id: `draft-${key}`, title, choices, value }, gives => editor.change({ effects: gives }))];
  });
  const { killSwitch, ...others } = effects;
  return [
    ...rows,
    {
      kind: 'switch',
      id: 'draft-killswitch',
      title: _('Turn the kill switch on'),
      subtitle: _('No rule turns it off.'),
      on: killSwitch === true,
      command: workCommand(() => editor.change({ effects: killSwitch ? others : { ...effects, killSwitch: true } })),
    },
  ];
}

function nameRow(editor: RuleEditor, { name }: RuleDraft, tr: Translator): Row {
  const { _ } = tr;
  // Translators: %s is the name of a rule
  const title = name === '' ? _('Name of the rule') : fill(_('Name of the rule: %s'), name);
  return draftRow(editor, { id: 'draft-name', title }, text => editor.change({ name: text }), tr);
}

function endRows(editor: RuleEditor, draft: RuleDraft, links: readonly NetworkLink[], tr: Translator): Row[] {
  const { _ } = tr;
  const { tried } = editor.state();
  const rule = tried?.rules.find(({ name }) => name === draft.name);
  const invalid = tried?.invalid[0];
  const fault = invalid ? wordMessage(invalid.message, tr) : null;
  const asks = rule?.weakens === true && rule.proof === 'copyable' && rule.allowed !== true;
  const confirm: Question | undefined = asks ? allowQuestion(draft.name, tr) : undefined;
  let undo = async () => {};
  const save = async () => {
    const refused = await addTyped(editor, links, tr);
    if (refused === null) undo = await editor.save(asks);
    return refused;
  };
  const cancel: Row = {
    kind: 'button',
    id: 'draft-cancel',
    title: _('Leave the rules as they are'),
    label: _('Cancel'),
    command: workCommand(async () => editor.cancel()),
  };
  if (!isComplete(draft))
    return [noteRow('draft-rule', _('Choose a network, a name, and at least one setting.')), cancel];
  return [
    {
      kind: 'note',
      id: 'draft-rule',
      title: `${capital(matchText(draft, tr))}: ${ruleEffects(draft, tr)}`,
      subtitle: fault ?? (rule?.weakens ? ruleStrength(rule, tr) : null),
      tone: fault ? 'error' : rule?.weakens ? 'warning' : 'neutral',
    },
    ...(tried && !fault
      ? [noteRow('draft-here', _('Here, with this rule'), decisionText(tried.decision, tr).join('\n'))]
      : []),
    {
      kind: 'button',
      id: 'draft-save',
      title: _('Save this rule'),
      label: _('Save'),
      style: 'suggested',
      sensitive: rule !== undefined && !fault,
      reason: fault ?? _('It is being tried.'),
      command: workCommand(save, {
        ...(confirm && { confirm }),
        undo: { kind: 'work', work: () => undo() },
        done: _('The rule is set'),
      }),
    },
    cancel,
  ];
}

/** Shows what the rules would do on another network, which the user chooses. */
export function whatIfGroup(
  editor: RuleEditor,
  { rules }: NetworksState,
  options: Snapshot['options'] | null,
  tr: Translator,
): Group {
  const { _ } = tr;
  const { supposed, answer } = editor.state();
  const choices: Choice<SupposedNetwork | null>[] = [
    { value: NONE, label: _('Choose'), gives: null },
    { value: 'unknown', label: _('Unknown Wi-Fi with a password'), gives: { kind: 'wifi', security: 'psk' } },
    { value: 'open', label: _('Unknown Wi-Fi without a password'), gives: { kind: 'wifi', security: 'open' } },
    { value: 'ethernet', label: _('Ethernet'), gives: { kind: 'ethernet' } },
    { value: 'mobile', label: _('Mobile network'), gives: { kind: 'mobile' } },
    ...rules
      .filter(({ match }) => match.any === undefined)
      .map(rule => ({ value: `rule-${rule.name}`, label: capital(matchText(rule, tr)), gives: networkOf(rule) })),
  ];
  const now = choices.find(({ gives }) => gives !== null && textOf(gives) === textOf(supposed));
  const rows: Row[] = [
    select(
      { id: 'what-if-network', title: _('What if this computer is on'), choices, value: now?.value ?? NONE },
      gives => (gives ? editor.suppose(gives) : Promise.resolve()),
    ),
    textRow(
      { id: 'what-if-name', title: _('Another Wi-Fi network, by its name'), label: _('Try') },
      name => editor.suppose({ kind: 'wifi', name }),
      tr,
    ),
  ];
  if (supposed && answer) {
    const link = { kind: supposed.kind, name: supposed.name ?? null };
    const own = ownSettingText(link, { options, decision: answer.decision }, tr);
    rows.push({
      kind: 'note',
      id: 'what-if-answer',
      title: now?.label ?? networkTitle(link, tr),
      subtitle: [...decisionText(answer.decision, tr), ...(own === null ? [] : [own])].join('\n'),
    });
  }
  rows.push({
    kind: 'button',
    id: 'what-if-done',
    title: _('A test changes nothing.'),
    label: _('Done'),
    command: workCommand(async () => editor.test(false)),
  });
  return { id: 'what-if', title: _('What if…'), rows };
}

/** Returns a network that matches a rule. */
function networkOf({ match }: Pick<NetworkRule, 'match'>): SupposedNetwork {
  const { ssid: name, security, uuid, gateway: gatewayHardware, bssid, beacon } = match;
  const isWifi = name !== undefined || security !== undefined || bssid !== undefined;
  const kind = isWifi ? 'wifi' : 'other';
  return { kind, name, security, uuid, gatewayHardware, bssid: bssid?.[0], beacon: beacon?.address };
}
