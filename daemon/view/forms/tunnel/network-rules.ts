// Describes the groups of the networks page that show the present network and Culvert's rules for networks.
import type { NetworkLink, NetworkRule, NetworksState } from '../../../api/networks.ts';
import type { Snapshot } from '../../../api/schema.ts';
import { linesOf } from '../../client/network-document.ts';
import { matchOf, type RuleEditor } from '../../client/rule-editor.ts';
import { clientCommand, type Group, noteRow, type Question, type Row, workCommand } from '../../form.ts';
import {
  allowQuestion,
  effectText,
  linkText,
  loginLink,
  matchText,
  networksCommand,
  ownSettingText,
  ruleEffects,
  ruleStrength,
  trustableLink,
} from '../../states/networks.ts';
import { fill, type Translator } from '../../translator.ts';
import { draftGroups, whatIfGroup } from './rule-editor.ts';

/** Interval at which clients read again while they show the page: the daemon watches for only two minutes after a read. */
export const READ_NETWORKS_MS = 60_000;

/** Name of the rule that the page's switch adds or removes. */
const UNKNOWN_WIFI = 'unknown-wifi';

/** Sources of the page's optional parts. */
interface Means {
  snapshot: Pick<Snapshot, 'options' | 'status' | 'killSwitch'> | null;
  /** null if no rule can be edited. */
  editor: RuleEditor | null;
}

/** @param networks null if the daemon does not follow networks; undefined from an older daemon */
export function networkGroups(
  networks: NetworksState | null | undefined,
  tr: Translator,
  { snapshot, editor }: Means = { snapshot: null, editor: null },
): Group[] {
  if (!networks) return [];
  const { _ } = tr;
  const options = snapshot?.options ?? null;
  const draft = editor ? draftGroups(editor, networks, tr) : [];
  const rules: Group = {
    id: 'rules',
    title: _('Rules for networks'),
    description: _('What you change by hand holds until the network changes.'),
    rows: ruleRows(networks, editor, tr),
  };
  return [
    { id: 'here', title: _('Where you are'), rows: hereRows(networks, snapshot, tr) },
    // the form of a rule takes the place of the list of rules
    ...(draft.length > 0 ? draft : [rules]),
    ...(editor ? [whatIfGroup(editor, networks, options, tr)] : []),
  ];
}

function hereRows(networks: NetworksState, snapshot: Means['snapshot'], tr: Translator): Row[] {
  const { _ } = tr;
  const { links, rules, decision, acted, reverted, problem } = networks;
  const rows: Row[] = links.map(link => {
    const { title, value } = linkText(link, tr);
    return { kind: 'fact', id: `link-${link.device}`, title, value };
  });
  rows.push(...signInRows(networks, snapshot, tr));
  if (links.length === 0) rows.push(noteRow('no-link', _('No network')));
  for (const effect of decision.effects) {
    const [id, title] = [`effect-${effect.subject}`, effectText(effect, tr)];
    if (effect.state !== 'asks') rows.push(noteRow(id, title));
    else
      rows.push({
        kind: 'button',
        id,
        title,
        label: _('Allow'),
        command: networksCommand(
          { do: 'answer', rule: effect.rule, answer: 'always' },
          {
            confirm: allowQuestion(effect.rule, tr),
            undo: { kind: 'networks', change: { do: 'answer', rule: effect.rule, answer: 'never' } },
          },
        ),
      });
  }
  if (problem !== null) rows.push(noteRow('problem', _('A rule could not be followed'), problem, 'error'));
  if (reverted) rows.push(noteRow('reverted', _('You reverted the rules until the network changes')));
  else if (acted)
    rows.push({
      kind: 'button',
      id: 'revert',
      // Translators: %s is the name of a rule
      title: fill(_('The rule “%s” changed settings here'), acted.rule),
      label: _('Revert'),
      command: networksCommand({ do: 'revert' }),
    });
  const link = trustableLink({ links, decision, rules });
  if (link)
    rows.push({
      kind: 'button',
      id: 'trust',
      // Translators: %s is the name of a Wi-Fi network
      title: fill(_('Pause WARP on “%s”'), link.name!),
      label: _('Add Rule'),
      command: networksCommand({ do: 'add', ...trustRule(link), allow: true }, { confirm: trustQuestion(link, tr) }),
    });
  return [...rows, ...ownRows(networks, snapshot?.options ?? null, tr)];
}

/** Offers to open the network's login page, even if no login page was detected. */
function signInRows(networks: NetworksState, snapshot: Means['snapshot'], { _ }: Translator): Row[] {
  const { links, service } = networks;
  if (service !== null && links.length === 0) return [];
  const isNoticed = loginLink(networks) !== null;
  return [
    {
      kind: 'button',
      id: 'portal',
      title: isNoticed ? _('This network has a login page') : _('Sign in to this network'),
      subtitle:
        snapshot?.killSwitch.active === true
          ? _(
              'Opens a browser, the only program that gets out, if an administrator allows it. WARP comes back afterwards.',
            )
          : _('Opens a browser of its own. WARP is paused for all programs meanwhile, and comes back afterwards.'),
      label: _('Sign In…'),
      ...(isNoticed ? { style: 'suggested' } : {}),
      sensitive: snapshot?.status.state !== 'connected',
      reason: _('WARP is connected, so this network lets you through.'),
      command: clientCommand(isNoticed ? 'portal' : 'portal-by-hand'),
    },
  ];
}

/** Warns where WARP's own settings for trusted networks turn it off here. */
function ownRows({ links, decision }: NetworksState, options: Snapshot['options'] | null, tr: Translator): Row[] {
  return links.flatMap((link): Row[] => {
    const title = ownSettingText(link, { options, decision }, tr);
    return title === null ? [] : [noteRow(`own-${link.device}`, title, null, 'warning')];
  });
}

function trustRule(link: NetworkLink): { name: string; lines: string[] } {
  return { name: link.name!, lines: linesOf({ match: matchOf(link), effects: { warp: 'pause' } }) };
}

function trustQuestion({ name }: NetworkLink, { _ }: Translator): Question {
  return {
    // Translators: %s is the name of a Wi-Fi network
    heading: fill(_('Pause WARP on “%s”?'), name!),
    body: _('Anyone can use that name. Your traffic there would bypass WARP.'),
    accept: _('Pause There'),
  };
}

function ruleRows({ rules, links }: NetworksState, editor: RuleEditor | null, tr: Translator): Row[] {
  const { _ } = tr;
  const on = rules.some(({ match, effects }) => match.any === UNKNOWN_WIFI && effects.warp === 'connect');
  const present = rules.find(({ name }) => name === UNKNOWN_WIFI);
  const lines = [`any = "${UNKNOWN_WIFI}"`, 'warp = "connect"'];
  return [
    {
      kind: 'switch',
      id: 'rule-unknown',
      title: _('Connect on unknown Wi-Fi'),
      on,
      sensitive: on === (present !== undefined),
      reason: _('Other rules are for unknown Wi-Fi. Edit them as text.'),
      command: networksCommand(on ? { do: 'remove', name: UNKNOWN_WIFI } : { do: 'add', name: UNKNOWN_WIFI, lines }),
    },
    ...rules.map(
      (rule): Row => ({
        kind: 'item',
        id: `rule-${rule.name}`,
        title: rule.name,
        subtitle: [
          `${matchText(rule, tr)}: ${ruleEffects(rule, tr)}`,
          ...(rule.weakens ? [ruleStrength(rule, tr)] : []),
        ].join('\n'),
        remove: networksCommand({ do: 'remove', name: rule.name }, { done: fill(_('%s removed'), rule.name) }),
        removeLabel: fill(_('Remove %s'), rule.name),
        ...(editor ? editing(rule, editor, tr) : {}),
      }),
    ),
    ...(editor ? [newRow(links, editor, tr)] : []),
    { kind: 'shell', id: 'rules-edit', title: _('Edit the rules as text'), shell: 'culvert network edit' },
  ];
}

function editing(
  rule: NetworkRule,
  editor: RuleEditor,
  { _ }: Translator,
): Pick<Extract<Row, { kind: 'item' }>, 'edit'> {
  // Translators: %s is the name of a rule
  return { edit: { label: fill(_('Edit %s'), rule.name), command: workCommand(() => editor.begin(rule, null)) } };
}

/** Returns the button that begins a rule, for the present network if it has a name. */
function newRow(links: readonly NetworkLink[], editor: RuleEditor, { _ }: Translator): Row {
  return {
    kind: 'button',
    id: 'rule-new',
    title: _('New rule'),
    label: _('Add…'),
    command: workCommand(() => editor.begin(null, links.find(({ name }) => name !== null) ?? null)),
  };
}
