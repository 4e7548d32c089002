// Describes the list of networks with their rules: those of Culvert, and the networks that WARP itself trusts.
import type { NetworkRule } from '../../../api/networks.ts';
import type { Snapshot } from '../../../api/schema.ts';
import type { RuleEditor } from '../../client/rule-editor.ts';
import {
  actionCommand,
  type Group,
  type MenuButton,
  noteRow,
  type Question,
  type Row,
  workCommand,
} from '../../form.ts';
import { networksCommand } from '../../states/networks.ts';
import { foldText, holdsWords } from '../../text-search.ts';
import { fill, type Translator } from '../../translator.ts';
import { checks } from '../validate.ts';
import {
  distrustCommand,
  type Here,
  ruleButtons,
  ruleHere,
  ruleText,
  trustCommand,
  trustedHere,
} from './network-here.ts';

/** Interval at which clients read again while they show the page: the daemon watches for only two minutes after a read. */
export const READ_NETWORKS_MS = 60_000;

/** Name of the rule that the page's switch adds or removes. */
const UNKNOWN_WIFI = 'unknown-wifi';

interface ListState extends Pick<Here, 'networks' | 'settable' | 'editor'> {
  options: Snapshot['options'] | null;
  /** Words of the search; empty without a search. */
  query: string;
}

export function elsewhereGroup(state: ListState, tr: Translator): Group {
  const { _ } = tr;
  const { networks, editor, query } = state;
  const rules = networks?.rules ?? [];
  const here = networks ? ruleHere(networks) : null;
  const isFound = ({ title, subtitle }: Row) => holdsWords(foldText(`${title} ${subtitle ?? ''}`), foldText(query));
  const wanted = (rows: Row[]) => rows.filter(row => query === '' || isFound(row));
  const own = wanted([
    ...rules.flatMap((rule, at) =>
      isOfSwitch(rule) || rule === here ? [] : [ruleRow(rule, rules[at + 1]?.name ?? null, editor, tr)],
    ),
    ...ssidRows(state, tr),
  ]);
  const switches = wanted([...(networks ? [unknownRow(rules, tr)] : []), ...kindRows(state, tr)]);
  const rows = [
    ...own,
    ...(own.length + switches.length > 0 ? [] : [noteRow('none', _('Nothing found'))]),
    trustRow(state, tr),
    ...switches,
    noteRow('imitated', _('Anyone can imitate a network by its name. Your traffic there would bypass WARP.')),
  ];
  return {
    id: 'rules',
    title: _('Elsewhere'),
    ...(networks && { description: _('Changes by hand last until you change networks.') }),
    actions: addButtons(state, tr),
    menu: menuOf(state, tr),
    rows,
  };
}

/** Returns the button that begins a rule, for the present network if it has a name. */
function addButtons({ networks, editor }: ListState, { _ }: Translator): Group['actions'] {
  if (!networks || !editor) return [];
  const link = networks.links.find(({ name }) => name !== null) ?? null;
  return [{ icon: 'add', label: _('Add Rule…'), command: workCommand(() => editor.begin(null, link)) }];
}

function menuOf(state: ListState, tr: Translator): MenuButton[] {
  const { _ } = tr;
  const { networks, editor, options, settable } = state;
  const ssids = options?.trustedSsids ?? null;
  const shell = 'culvert network edit';
  const byText: Question = {
    heading: _('Edit the rules as text'),
    body: _('Run the commands in a terminal.'),
    text: shell,
    accept: _('Copy'),
  };
  const reset: Question = {
    heading: _('Forget all trusted Wi-Fi?'),
    body: _('WARP then stays on in all of them.'),
    accept: _('Reset'),
    destructive: true,
  };
  return [
    ...(networks && editor ? [{ label: _('Test Rules…'), command: workCommand(async () => editor.test(true)) }] : []),
    ...(networks
      ? [
          {
            label: _('Edit as Text…'),
            command: {
              ask: { kind: 'copy', text: shell } as const,
              confirm: byText,
              done: _('Copied. Paste it into a terminal.'),
            },
          },
        ]
      : []),
    // without a list from WARP, a name can still be removed by typing it
    ...(ssids === null ? [distrustButton(state, tr)] : []),
    {
      label: _('Forget All Trusted Wi-Fi…'),
      style: 'destructive',
      sensitive: settable,
      command: actionCommand({ action: 'resetTrustedSsids' }, { confirm: reset }),
    },
  ];
}

/** Returns the row that adds a Wi-Fi network to WARP's own list. */
function trustRow({ options, settable }: ListState, tr: Translator): Row {
  const { _ } = tr;
  const listed = options?.trustedSsids ?? null;
  return {
    kind: 'entry',
    id: 'ssid-add',
    title: _('Add Wi-Fi name'),
    label: _('Add'),
    sensitive: settable,
    check: text => checks(tr).ssid(text) ?? (listed?.includes(text) ? _('It is already on the list') : null),
    command: name => trustCommand(name, listed, fill(_('%s is trusted'), name)),
  };
}

function distrustButton({ settable }: ListState, tr: Translator): MenuButton {
  const { _ } = tr;
  const body = _('WARP doesn’t report which Wi-Fi it trusts.');
  return {
    label: _('Remove a Trusted Wi-Fi…'),
    sensitive: settable,
    command: {
      ask: { kind: 'answer', command: name => distrustCommand(name, null, tr) },
      confirm: {
        heading: _('Remove a Wi-Fi by its name'),
        body,
        accept: _('Remove'),
        field: { label: _('Name'), placeholder: '', check: text => (text === '' ? null : checks(tr).ssid(text)) },
      },
    },
  };
}

/** True for the rule of the switch. */
function isOfSwitch({ name, match, effects }: NetworkRule): boolean {
  const isPlain = Object.keys(match).length === 1 && Object.keys(effects).length === 1;
  return name === UNKNOWN_WIFI && isPlain && match.any === UNKNOWN_WIFI && effects.warp === 'connect';
}

function unknownRow(rules: readonly NetworkRule[], { _ }: Translator): Row {
  const on = rules.some(({ match, effects }) => match.any === UNKNOWN_WIFI && effects.warp === 'connect');
  const present = rules.find(({ name }) => name === UNKNOWN_WIFI);
  const lines = [`any = "${UNKNOWN_WIFI}"`, 'warp = "connect"'];
  return {
    kind: 'switch',
    id: 'unknown-wifi',
    title: _('Always connect on unknown Wi-Fi'),
    on,
    sensitive: on === (present !== undefined),
    reason: _('Other rules are for unknown Wi-Fi. Edit them as text.'),
    command: networksCommand(on ? { do: 'remove', name: UNKNOWN_WIFI } : { do: 'add', name: UNKNOWN_WIFI, lines }),
  };
}

/** @param before name of the rule that follows */
function ruleRow(rule: NetworkRule, before: string | null, editor: RuleEditor | null, tr: Translator): Row {
  const { name } = rule;
  const { edit, remove } = ruleButtons(rule, before, editor, tr);
  return {
    kind: 'item',
    id: `rule-${name}`,
    title: name,
    subtitle: ruleText(rule, tr),
    remove: remove.command,
    removeLabel: remove.label,
    ...(edit && { edit }),
  };
}

/** Returns the other Wi-Fi networks that WARP itself trusts. */
function ssidRows({ networks, options, settable }: ListState, tr: Translator): Row[] {
  const { _ } = tr;
  const here = trustedHere(networks?.links ?? [], options);
  const listed = options?.trustedSsids ?? [];
  const others = listed.filter(ssid => ssid !== here);
  return others.map(ssid => ({
    kind: 'item',
    id: `ssid-${ssid}`,
    title: ssid,
    subtitle: ownText(tr),
    sensitive: settable,
    remove: distrustCommand(ssid, listed, tr),
    removeLabel: fill(_('Remove %s'), ssid),
  }));
}

function ownText({ _ }: Translator): string {
  return _('WARP’s own setting: off there');
}

function kindRows({ options, settable }: ListState, tr: Translator): Row[] {
  const { _ } = tr;
  const row = (id: string, title: string, on: boolean, action: 'setTrustedWifi' | 'setTrustedEthernet'): Row => ({
    kind: 'switch',
    id,
    title,
    subtitle: ownText(tr),
    on,
    sensitive: settable,
    command: actionCommand({ action, value: on ? 'disable' : 'enable' }),
  });
  return [
    row('wifi', _('All Wi-Fi networks'), options?.wifiTrusted ?? false, 'setTrustedWifi'),
    row('ethernet', _('All wired networks'), options?.ethernetTrusted ?? false, 'setTrustedEthernet'),
  ];
}
