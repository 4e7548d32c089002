// Describes the form of one rule for networks, and the question what the rules do on another network.
import { MODES, PROTOCOLS } from '../../../api/actions.ts';
import type { NetworkEffects, NetworkLink, NetworkMatch, NetworksState } from '../../../api/schema/traffic/networks.ts';
import type { Snapshot } from '../../../api/schema.ts';
import { modeName } from '../../client/labels.ts';
import { isComplete, matchOf, type RuleDraft, type RuleEditor } from '../../client/rule-editor.ts';
import type { Command, Group, Question, Row } from '../../form.ts';
import { wordMessage } from '../../message.ts';
import { presetName } from '../../routes/document.ts';
import {
  allowQuestion,
  decisionText,
  matchText,
  networkTitle,
  ownSettingText,
  ruleEffects,
  ruleStrength,
} from '../../states/networks.ts';
import { fill, type Translator } from '../../translator.ts';

/** Most characters of a name. */
const NAME_LENGTH = 64;
/** Value of a choice that leaves a setting as it is. */
const NONE = '';
/** Value of the choice of a Wi-Fi network by its name. */
const BY_NAME = 'by-name';
const SECURITIES = ['open', 'wep', 'psk', 'enterprise'] as const;
const KINDS = ['unknown-wifi', 'ethernet', 'no-rule'] as const;
const PRESETS = ['lan', 'docker', 'podman', 'libvirt', 'kubernetes', 'tailscale'] as const;

interface Choice<T> {
  value: string;
  label: string;
  gives: T;
}

/** @param changes the work changes something of the daemon's */
const work = (does: () => Promise<unknown>, changes = false): Command => ({
  ask: { kind: 'work', changes, work: does },
});

/** The form of the draft; nothing while none is written. */
export function draftGroups(editor: RuleEditor, { links }: NetworksState, tr: Translator): Group[] {
  const { _ } = tr;
  const { draft } = editor.state();
  if (!draft) return [];
  return [
    {
      id: 'draft',
      // Translators: %s is the name of a rule
      title: draft.replaces === null ? _('New rule') : fill(_('Rule “%s”'), draft.replaces),
      rows: [...matchRows(editor, draft, links, tr), ...effectRows(editor, draft, tr), nameRow(editor, draft, tr)],
    },
    { id: 'draft-end', rows: endRows(editor, draft, tr) },
  ];
}

function select<T>(
  { id, title, choices, value }: { id: string; title: string; choices: readonly Choice<T>[]; value: string },
  chosen: (gives: T) => Promise<unknown>,
): Row {
  return {
    kind: 'select',
    id,
    title,
    value,
    options: choices.map(({ value: each, label }) => ({ value: each, label })),
    command: name => work(async () => chosen(choices.find(each => each.value === name)!.gives)),
  };
}

function matchRows(editor: RuleEditor, draft: RuleDraft, links: readonly NetworkLink[], tr: Translator): Row[] {
  const { _ } = tr;
  const { match } = draft;
  const offered = [
    ...links.flatMap(link => {
      if (link.kind !== 'wifi' && link.uuid === null) return [];
      if (link.kind === 'wifi' && link.name === null) return [];
      return [matchOf(link)];
    }),
    ...KINDS.map((any): NetworkMatch => ({ any })),
  ];
  const isOffered = offered.some(each => textOf(each) === textOf(match));
  const byName = match.ssid !== undefined && match.beacon === undefined && match.bssid === undefined;
  const isOther = !isOffered && !byName && Object.keys(match).length > 0;
  const choices: Choice<NetworkMatch>[] = [
    ...(isOther || Object.keys(match).length === 0
      ? [{ value: textOf(match), label: isOther ? capital(matchText({ match }, tr)) : _('Choose'), gives: match }]
      : []),
    ...offered.map(each => ({ value: textOf(each), label: labelOf(each, links, tr), gives: each })),
    { value: BY_NAME, label: _('A Wi-Fi network by its name'), gives: { ssid: '' } },
  ];
  const value = byName && !isOffered ? BY_NAME : textOf(match);
  const rows = [
    select({ id: 'draft-network', title: _('Network'), choices, value }, gives => {
      const name = draft.name === '' ? nameOf(gives, links) : draft.name;
      return editor.change({ match: gives, name });
    }),
  ];
  return byName ? [...rows, ...wifiRows(editor, draft, tr)] : rows;
}

function wifiRows(editor: RuleEditor, { name, match }: RuleDraft, tr: Translator): Row[] {
  const { _ } = tr;
  const { ssid = '', security } = match;
  const words: Record<(typeof SECURITIES)[number], string> = {
    open: _('without a password'),
    wep: _('with WEP'),
    psk: _('with a shared password'),
    enterprise: _('with a password for each user'),
  };
  const { security: _unused, ...others } = match;
  const choices: Choice<NetworkMatch>[] = [
    { value: NONE, label: _('With or without a password'), gives: others },
    ...SECURITIES.map(each => ({ value: each, label: capital(words[each]), gives: { ...others, security: each } })),
  ];
  return [
    textRow(
      {
        id: 'draft-ssid',
        // Translators: %s is the name of a Wi-Fi network
        title: ssid === '' ? _('Name of the Wi-Fi network') : fill(_('Name of the Wi-Fi network: %s'), ssid),
      },
      text => editor.change({ match: { ...match, ssid: text }, name: name === '' ? text : name }),
      tr,
    ),
    select({ id: 'draft-security', title: _('Password'), choices, value: security ?? NONE }, gives =>
      editor.change({ match: gives }),
    ),
  ];
}

function effectRows(editor: RuleEditor, { effects }: RuleDraft, tr: Translator): Row[] {
  const { _ } = tr;
  function row<K extends 'warp' | 'mode' | 'protocol' | 'routes'>(
    key: K,
    title: string,
    values: readonly (readonly [NonNullable<NetworkEffects[K]>, string])[],
  ): Row {
    const { [key]: now, ...others } = effects;
    const choices: Choice<NetworkEffects>[] = [
      { value: NONE, label: _('Leave as it is'), gives: others },
      ...values.map(([value, label]) => ({ value, label, gives: { ...others, [key]: value } as NetworkEffects })),
    ];
    return select({ id: `draft-${key}`, title, choices, value: now ?? NONE }, gives =>
      editor.change({ effects: gives }),
    );
  }
  const { killSwitch, ...others } = effects;
  return [
    row('warp', 'WARP', [
      ['connect', _('Connect')],
      ['pause', _('Pause')],
    ]),
    row(
      'mode',
      _('Mode'),
      MODES.map(mode => [mode, modeName(mode, tr).title] as const),
    ),
    row(
      'protocol',
      _('Protocol'),
      PROTOCOLS.map(protocol => [protocol, protocol] as const),
    ),
    row(
      'routes',
      _('Bypasses WARP'),
      PRESETS.map(preset => [preset, presetName(preset, tr)] as const),
    ),
    {
      kind: 'switch',
      id: 'draft-killswitch',
      title: _('Turn the kill switch on'),
      subtitle: _('No rule turns it off.'),
      on: killSwitch === true,
      command: work(() => editor.change({ effects: killSwitch ? others : { ...effects, killSwitch: true } })),
    },
  ];
}

function nameRow(editor: RuleEditor, { name }: RuleDraft, tr: Translator): Row {
  const { _ } = tr;
  // Translators: %s is the name of a rule
  const title = name === '' ? _('Name of the rule') : fill(_('Name of the rule: %s'), name);
  return textRow({ id: 'draft-name', title }, text => editor.change({ name: text }), tr);
}

function textRow(
  words: { id: string; title: string; label?: string },
  given: (text: string) => Promise<unknown>,
  tr: Translator,
): Row {
  const { _ } = tr;
  return {
    kind: 'entry',
    label: _('Set'),
    ...words,
    check: text => ([...text].length > NAME_LENGTH || /\p{Cc}/u.test(text) ? _('At most 64 characters') : null),
    command: text => work(() => given(text)),
  };
}

function endRows(editor: RuleEditor, draft: RuleDraft, tr: Translator): Row[] {
  const { _ } = tr;
  const { tried } = editor.state();
  const rule = tried?.rules.find(({ name }) => name === draft.name);
  const invalid = tried?.invalid[0];
  const fault = invalid ? wordMessage(invalid.message, tr) : null;
  const asks = rule?.weakens === true && rule.proof === 'copyable' && rule.allowed !== true;
  const confirm: Question | undefined = asks ? allowQuestion(draft.name, tr) : undefined;
  const cancel: Row = {
    kind: 'button',
    id: 'draft-cancel',
    title: _('Leave the rules as they are'),
    label: _('Cancel'),
    command: work(async () => editor.cancel()),
  };
  if (!isComplete(draft))
    return [
      { kind: 'note', id: 'draft-rule', title: _('Choose a network, a name, and at least one setting.') },
      cancel,
    ];
  return [
    {
      kind: 'note',
      id: 'draft-rule',
      title: `${capital(matchText(draft, tr))}: ${ruleEffects(draft, tr)}`,
      subtitle: fault ?? (rule?.weakens ? ruleStrength(rule, tr) : null),
      tone: fault ? 'error' : rule?.weakens ? 'warning' : 'neutral',
    },
    ...(tried && !fault
      ? [
          {
            kind: 'note',
            id: 'draft-here',
            title: _('Here, with this rule'),
            subtitle: decisionText(tried.decision, tr).join('\n'),
          } as const,
        ]
      : []),
    {
      kind: 'button',
      id: 'draft-save',
      title: _('Save this rule'),
      label: _('Save'),
      style: 'suggested',
      sensitive: rule !== undefined && !fault,
      reason: fault ?? _('It is being tried.'),
      command: { ...work(() => editor.save(asks), true), ...(confirm ? { confirm } : {}), done: _('The rule is set') },
    },
    cancel,
  ];
}

/** Asks what the rules do on a network that this machine is not on. */
export function whatIfGroup(
  editor: RuleEditor,
  { rules }: NetworksState,
  options: Snapshot['options'] | null,
  tr: Translator,
): Group {
  const { _ } = tr;
  const { supposed, answer } = editor.state();
  const named = (name: string, security?: NetworkMatch['security']) =>
    ({ kind: 'wifi', name, ...(security ? { security } : {}) }) as const;
  const known = rules.flatMap(({ match }) => (match.ssid === undefined ? [] : [named(match.ssid, match.security)]));
  const choices: Choice<Parameters<RuleEditor['suppose']>[0] | null>[] = [
    { value: NONE, label: _('Choose'), gives: null },
    { value: 'unknown', label: _('Unknown Wi-Fi with a password'), gives: { kind: 'wifi', security: 'psk' } },
    { value: 'open', label: _('Unknown Wi-Fi without a password'), gives: { kind: 'wifi', security: 'open' } },
    { value: 'ethernet', label: _('Ethernet'), gives: { kind: 'ethernet' } },
    { value: 'mobile', label: _('Mobile network'), gives: { kind: 'mobile' } },
    ...known.map(network => ({
      value: textOf(network),
      label: networkTitle(network, tr),
      gives: network,
    })),
  ];
  const now = choices.find(({ gives }) => gives !== null && textOf(gives) === textOf(supposed));
  const rows: Row[] = [
    select(
      { id: 'what-if-network', title: _('What if this computer is on'), choices, value: now?.value ?? NONE },
      gives => (gives ? editor.suppose(gives) : Promise.resolve()),
    ),
    textRow(
      { id: 'what-if-name', title: _('Another Wi-Fi network, by its name'), label: _('Try') },
      text => editor.suppose(named(text)),
      tr,
    ),
  ];
  if (supposed && answer) {
    const link = { kind: supposed.kind, name: supposed.name ?? null };
    const own = ownSettingText(link, { options, decision: answer.decision }, tr);
    rows.push({
      kind: 'note',
      id: 'what-if-answer',
      title: now && !supposed.name ? now.label : networkTitle(link, tr),
      subtitle: [...decisionText(answer.decision, tr), ...(own === null ? [] : [own])].join('\n'),
    });
  }
  return { id: 'what-if', title: _('What if…'), rows };
}

function labelOf(match: NetworkMatch, links: readonly NetworkLink[], tr: Translator): string {
  const link = links.find(each => match.any === undefined && textOf(matchOf(each)) === textOf(match));
  return link ? networkTitle(link, tr) : capital(matchText({ match }, tr));
}

function nameOf({ any, uuid }: NetworkMatch, links: readonly NetworkLink[]): string {
  return any ?? links.find(each => each.uuid === uuid)?.name ?? '';
}

const textOf = (value: unknown): string => JSON.stringify(value);

function capital(text: string): string {
  return text.charAt(0).toLocaleUpperCase() + text.slice(1);
}
