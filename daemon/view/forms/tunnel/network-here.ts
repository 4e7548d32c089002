// Describes the head of the networks page: the present network, what happens here, and the choice for this network.
import type { DecidedEffect, NetworkEffects, NetworkLink, NetworkRule, NetworksState } from '../../../api/networks.ts';
import type { Snapshot } from '../../../api/schema.ts';
import { linesOf, ruleChange } from '../../client/network-document.ts';
import { matchOf, type RuleEditor } from '../../client/rule-editor.ts';
import {
  type Ask,
  actionCommand,
  type Button,
  type Command,
  clientCommand,
  type MenuButton,
  noteRow,
  type Question,
  type Row,
  type Status,
  type Tone,
  workCommand,
} from '../../form.ts';
import { formatList } from '../../format.ts';
import type { CurrentNetwork } from '../../host.ts';
import {
  actText,
  allowQuestion,
  effectText,
  loginLink,
  matchText,
  namesNetwork,
  networksCommand,
  networkTitle,
  ownSettingText,
  ruleEffects,
  trustableLink,
} from '../../states/networks.ts';
import { signInCommand, signInText } from '../../states/sign-in.ts';
import { fill, type Translator } from '../../translator.ts';

type State = Pick<Snapshot, 'options' | 'status' | 'killSwitch'>;

export interface Here {
  /** null if the daemon does not follow networks; undefined from an older daemon. */
  networks: NetworksState | null | undefined;
  /** The desktop's network; null if the desktop does not report it. */
  network: CurrentNetwork | null;
  snapshot: State | null;
  /** False while the tunnel's state allows no change. */
  settable: boolean;
  /** null if no rule can be edited. */
  editor: RuleEditor | null;
}

const UNKNOWN_ICON = 'org.culvert.Culvert-unknown-symbolic';
const ICONS: Record<NetworkLink['kind'] | 'none', string> = {
  wifi: 'culvert-networks-symbolic',
  ethernet: 'culvert-wired-symbolic',
  mobile: 'culvert-mobile-symbolic',
  other: 'culvert-wired-symbolic',
  none: 'culvert-no-network-symbolic',
};
/** Maximum number of buttons below the status. */
const BUTTONS = 2;

export function hereStatus(here: Here, tr: Translator): Status {
  const { networks, network, snapshot } = here;
  const { _ } = tr;
  const menu = networks ? [...signInButtons(here, networks, tr), ...trustButtons(here, networks, tr)] : undefined;
  if (!networks || isUnreported(networks)) {
    const ssids = snapshot?.options.trustedSsids ?? null;
    return { ...(network ? desktopStatus(network, ssids, tr) : unknownStatus(tr)), menu };
  }
  const { links, decision, problem } = networks;
  const at = decision.links.findIndex(({ rule }) => rule !== null);
  const link = links[at] ?? links[0];
  if (!link) {
    const sentence = _('Connect to a network to see what happens there.');
    return { icon: ICONS.none, tone: 'neutral', title: _('No network'), sentence, buttons: [settingsButton(tr)], menu };
  }
  const distrust = distrustButtons(here, links, tr);
  const buttons = buttonsOf(networks, distrust.length > 0, tr);
  // one button more would wrap in a narrow window
  const shown = buttons.length > 0 ? buttons.slice(0, BUTTONS) : distrust;
  const own = ownTexts(networks, snapshot, tr);
  const lowers = decision.effects.some(
    ({ state, value }) => state === 'asks' || (state === 'holds' && value === 'off'),
  );
  const tone: Tone = problem !== null ? 'error' : lowers || own.length > 0 ? 'warning' : 'neutral';
  return {
    icon: ICONS[link.kind],
    tone,
    title: link.name ?? (link.kind === 'ethernet' ? _('Wired network') : networkTitle(link, tr)),
    sentence: sentenceOf(networks, own, tr),
    line: lineOf(links, tr),
    buttons: shown,
    menu: [...[...buttons, ...distrust].filter(button => !shown.includes(button)), ...(menu ?? [])],
  };
}

/** True if no network service reports networks to the daemon. */
function isUnreported({ service, links }: NetworksState): boolean {
  return service === null && links.length === 0;
}

/** Opens the desktop's settings of networks. */
const settingsButton = ({ _ }: Translator): MenuButton => ({
  label: _('Network Settings'),
  command: clientCommand('network-settings'),
});

function unknownStatus(tr: Translator): Status {
  const { _ } = tr;
  return {
    icon: UNKNOWN_ICON,
    tone: 'neutral',
    title: _('Network unknown'),
    sentence: _('Culvert can’t tell which network this computer uses.'),
    buttons: [settingsButton(tr)],
  };
}

/** Returns the status by the desktop's report, if the daemon reports nothing. */
function desktopStatus({ kind, ssid }: CurrentNetwork, ssids: readonly string[] | null, { _ }: Translator): Status {
  const titles = { wifi: ssid ?? _('Wi-Fi'), wired: _('Wired network'), other: _('Another kind of network') };
  const isTrusted = ssid !== null && ssids?.includes(ssid);
  return {
    icon: kind === 'wifi' ? ICONS.wifi : ICONS.ethernet,
    tone: isTrusted ? 'warning' : 'neutral',
    title: titles[kind],
    sentence:
      ssid === null || ssids === null
        ? null
        : isTrusted
          ? _('Trusted: WARP is off here')
          : _('Not trusted: WARP stays on here'),
    buttons: [],
  };
}

/** Warns where WARP's own settings for trusted networks turn it off here. */
function ownTexts({ links, decision }: NetworksState, snapshot: State | null, tr: Translator): string[] {
  const texts = links.map(link => ownSettingText(link, { options: snapshot?.options ?? null, decision }, tr));
  return [...new Set(texts.filter(text => text !== null))];
}

function sentenceOf({ decision, reverted, reverting }: NetworksState, own: readonly string[], tr: Translator): string {
  const { _ } = tr;
  if (reverting) return [...own, _('The rules could not be reverted yet.')].join(' ');
  if (reverted) return [...own, _('You reverted the rules. They act again on the next network.')].join(' ');
  const { effects } = decision;
  // WARP's own settings say the same as a rule that pauses it
  const isSaid = ({ subject, value }: DecidedEffect) => own.length > 0 && subject === 'connection' && value === 'off';
  const held = effects.filter(effect => effect.state === 'holds' && !isSaid(effect));
  const rules = [...new Set(held.map(({ rule }) => rule))];
  const texts = [
    ...own,
    ...effects.filter(({ state }) => state === 'asks').map(effect => effectText(effect, tr)),
    ...rules.map(rule => {
      const acts = held.filter(effect => effect.rule === rule).map(effect => actText(effect, tr));
      // Translators: the first %s is what a rule does, such as WARP is paused, the second its name
      return fill(_('%s, by the rule “%s”.'), formatList(acts, tr), rule);
    }),
  ];
  return texts.length > 0 ? texts.join(' ') : _('WARP follows your settings here.');
}

/** Names the devices, and every network if there are several. */
function lineOf(links: readonly NetworkLink[], tr: Translator): string {
  const { _ } = tr;
  const [only, ...others] = links;
  if (others.length > 0)
    // Translators: a network such as Wi-Fi “Home”, and its device
    return formatList(
      links.map(link => fill(_('%s on %s'), networkTitle(link, tr), link.device)),
      tr,
    );
  const { kind, name, device } = only!;
  if (kind === 'wifi' && name === null) return [device, _('Its name can’t be read')].join(' · ');
  return name === null ? device : [networkTitle({ kind, name: null }, tr), device].join(' · ');
}

/** @param isListed true if WARP itself trusts the network */
function buttonsOf(networks: NetworksState, isListed: boolean, tr: Translator): MenuButton[] {
  const { _ } = tr;
  const { links, decision, rules, acted, reverted } = networks;
  const asking = decision.effects.find(({ state }) => state === 'asks');
  const buttons: MenuButton[] = [];
  if (asking)
    buttons.push({
      label: _('Allow'),
      style: 'suggested',
      name: `${_('Allow')} · ${allowQuestion(asking.rule, tr).heading}`,
      command: networksCommand(
        { do: 'answer', rule: asking.rule, answer: 'always' },
        {
          confirm: allowQuestion(asking.rule, tr),
          undo: { kind: 'networks', change: { do: 'answer', rule: asking.rule, answer: 'never' } },
        },
      ),
    });
  if (acted && !reverted) {
    const isOff = decision.effects.some(({ state, value }) => state === 'holds' && value === 'off');
    const label = isOff ? _('Connect Anyway') : _('Revert');
    buttons.push({
      label,
      // Translators: %s is the name of a rule
      name: `${label} · ${fill(_('The rule “%s” changed settings here'), acted.rule)}`,
      command: networksCommand({ do: 'revert' }),
    });
  }
  const link = trustableLink({ links, decision, rules });
  if (link && !isListed)
    buttons.push({ label: _('Pause Here…'), command: warpCommand(newPlace(link, networks), 'pause', tr) });
  return buttons;
}

/** Offers to remove the present Wi-Fi from WARP's own list. */
function distrustButtons({ snapshot, settable }: Here, links: readonly NetworkLink[], tr: Translator): MenuButton[] {
  const { _ } = tr;
  const ssid = trustedHere(links, snapshot?.options ?? null);
  if (ssid === null) return [];
  return [
    {
      label: _('Stop Trusting'),
      // Translators: %s is the name of a Wi-Fi network
      name: fill(_('Stop trusting “%s”'), ssid),
      sensitive: settable,
      command: distrustCommand(ssid, snapshot?.options.trustedSsids ?? null, tr),
    },
  ];
}

/** Returns the name of the present Wi-Fi if WARP itself trusts it, which the status shows; null otherwise. */
export function trustedHere(links: readonly NetworkLink[], options: Snapshot['options'] | null): string | null {
  const ssids = options?.trustedSsids ?? [];
  return links.find(({ kind, name }) => kind === 'wifi' && name !== null && ssids.includes(name))?.name ?? null;
}

/** Offers to add the present Wi-Fi to WARP's own list. */
function trustButtons({ snapshot, settable }: Here, { links }: NetworksState, { _ }: Translator): MenuButton[] {
  const ssids = snapshot?.options.trustedSsids ?? null;
  return links.flatMap(({ kind, name }) =>
    kind !== 'wifi' || name === null || ssids?.includes(name)
      ? []
      : [
          {
            // Translators: %s is the name of a Wi-Fi network
            label: fill(_('Add “%s” to WARP’s Own List'), name),
            sensitive: settable,
            command: trustCommand(name, ssids, _('Trusted')),
          },
        ],
  );
}

/**
 * Adds a Wi-Fi to WARP's own list. @param listed the list; null if WARP does not report it: an undo could then remove an
 * earlier entry
 */
export function trustCommand(name: string, listed: readonly string[] | null, done: string): Command {
  const undo: Ask = { kind: 'action', request: { action: 'removeTrustedSsid', value: name } };
  return actionCommand({ action: 'addTrustedSsid', value: name }, { ...(listed && { undo }), done });
}

/** Removes a Wi-Fi from WARP's own list. @param listed like that of `trustCommand`: an undo could add a new entry */
export function distrustCommand(value: string, listed: readonly string[] | null, { _ }: Translator): Command {
  const undo: Ask = { kind: 'action', request: { action: 'addTrustedSsid', value } };
  return actionCommand(
    { action: 'removeTrustedSsid', value },
    { ...(listed && { undo }), done: fill(_('%s removed'), value) },
  );
}

/** Returns the rows below the status: what needs the user, and the choice for this network. */
export function hereRows(here: Here, tr: Translator): Row[] {
  const { networks, network, snapshot } = here;
  const desktop = network && (!networks || isUnreported(networks)) ? desktopRows(network, here, tr) : [];
  if (!networks) return desktop;
  const { _ } = tr;
  const { decision, problem } = networks;
  const left = decision.effects.filter(({ state }) => state === 'left');
  return [
    ...desktop,
    ...portalRows(snapshot, networks, tr),
    ...choiceRows(networks, here.editor, tr),
    ...left.map(effect => noteRow(`effect-${effect.subject}`, effectText(effect, tr))),
    ...(problem === null ? [] : [noteRow('problem', _('A rule could not be followed'), problem, 'error')]),
  ];
}

/** Returns the row that opens the login page of the network, if one was noticed. */
function portalRows(snapshot: State | null, networks: NetworksState, tr: Translator): Row[] {
  const { _ } = tr;
  if (!loginLink(networks)) return [];
  return [
    {
      kind: 'button',
      id: 'portal',
      title: _('This network has a login page'),
      subtitle: signInText(snapshot, tr),
      label: _('Sign In…'),
      style: 'suggested',
      sensitive: snapshot?.status.state !== 'connected',
      reason: _('No sign-in needed here.'),
      command: clientCommand('portal'),
    },
  ];
}

/** Offers the sign-in where no login page was noticed, unless WARP is connected there. */
function signInButtons({ snapshot }: Here, networks: NetworksState, tr: Translator): MenuButton[] {
  const { _ } = tr;
  const { links, service } = networks;
  const isUseless = snapshot?.status.state === 'connected' || (service !== null && links.length === 0);
  if (isUseless || loginLink(networks)) return [];
  return [{ label: _('Sign In to This Network…'), command: signInCommand(snapshot, 'portal-by-hand', tr) }];
}

/** Returns the switch of WARP's own list for the present Wi-Fi; a button if WARP does not report the list. */
function desktopRows({ kind, ssid }: CurrentNetwork, { snapshot, settable }: Here, { _ }: Translator): Row[] {
  if (kind !== 'wifi' || ssid === null) return [];
  const ssids = snapshot?.options.trustedSsids ?? null;
  const subtitle = _('WARP is off on trusted networks');
  const row = { id: 'current', title: _('Trust this network'), subtitle, sensitive: settable };
  if (ssids === null)
    return [{ kind: 'button', ...row, label: _('Trust'), command: trustCommand(ssid, ssids, _('Trusted')) }];
  const on = ssids.includes(ssid);
  const command = actionCommand({ action: on ? 'removeTrustedSsid' : 'addTrustedSsid', value: ssid });
  return [{ kind: 'switch', ...row, on, command }];
}

/** The only network of this machine, and its own rule, or null without one. */
interface Place {
  link: NetworkLink;
  rule: NetworkRule | null;
  /** Name of the rule that follows the network's own rule, or must follow a new rule; null for the end of the list. */
  before: string | null;
}

/** Returns the place of a network without a rule. Its new rule precedes a rule for this kind of network, which would hold otherwise. */
function newPlace(link: NetworkLink, { decision, rules }: NetworksState): Place {
  const present = rules.find(({ name }) => name === decision.links[0]?.rule);
  return { link, rule: null, before: present && present.match.any === undefined ? present.name : null };
}

/** Returns the place that the user can choose for; null if a rule can't be made for it. */
function placeOf(networks: NetworksState): Place | null {
  const { links, decision, rules } = networks;
  const [link] = links;
  if (!link || links.length > 1) return null;
  const at = rules.findIndex(({ name }) => name === decision.links[0]?.rule);
  const rule = rules[at];
  if (rule && namesNetwork(rule)) return { link, rule, before: rules[at + 1]?.name ?? null };
  if (!trustableLink(networks) || rules.some(({ name }) => name === link.name)) return null;
  return newPlace(link, networks);
}

/** Returns the rule for the present network, which the choice for this network shows; null without one. */
export function ruleHere(networks: NetworksState): NetworkRule | null {
  return placeOf(networks)?.rule ?? null;
}

/** Words a rule: where it applies, what it does there, and whether it lacks a permission to lower the protection. */
export function ruleText(rule: NetworkRule, tr: Translator): string {
  const { _ } = tr;
  const { weakens, proof, allowed } = rule;
  const isRefused = weakens && proof !== 'beacon' && allowed !== true;
  const permission = !isRefused ? null : allowed === null ? _('Asks first') : _('You refused it');
  const [place, does] = [matchText(rule, tr), ruleEffects(rule, tr)];
  return [does ? `${place}: ${does}` : place, permission].filter(Boolean).join(' · ');
}

/** Returns the buttons that edit and remove a rule. @param before name of the rule that follows, to which an undo restores it */
export function ruleButtons(
  rule: NetworkRule,
  before: string | null,
  editor: RuleEditor | null,
  { _ }: Translator,
): { edit: Button | null; remove: Button } {
  const { name } = rule;
  return {
    // Translators: %s is the name of a rule
    edit: editor && { label: fill(_('Edit %s'), name), command: workCommand(() => editor.begin(rule, null)) },
    remove: {
      label: fill(_('Remove %s'), name),
      command: networksCommand(
        { do: 'remove', name },
        {
          undo: { kind: 'networks', change: { ...ruleChange(rule), before } },
          done: fill(_('%s removed'), name),
        },
      ),
    },
  };
}

function choiceRows(networks: NetworksState, editor: RuleEditor | null, tr: Translator): Row[] {
  const { _ } = tr;
  const place = placeOf(networks);
  if (!place) return [];
  const { rule, before } = place;
  const { warp, ...others } = rule?.effects ?? {};
  const { edit = null, remove = null } = rule ? ruleButtons(rule, before, editor, tr) : {};
  const automatic = 'automatic';
  return [
    {
      kind: 'select',
      id: 'here',
      title: _('WARP on this network'),
      // the value says what the rule does with WARP
      subtitle: rule && ruleText({ ...rule, effects: others }, tr),
      menu: [edit, remove].filter(button => button !== null),
      value: warp ?? automatic,
      options: [
        { value: automatic, label: _('Automatic') },
        { value: 'connect', label: _('Always on') },
        { value: 'pause', label: _('Paused') },
      ],
      command: value =>
        value === 'connect' || value === 'pause' ? warpCommand(place, value, tr) : automaticCommand(place, tr),
    },
  ];
}

/** Makes or changes the rule of a network so that it connects or pauses WARP there. A copyable rule asks before it pauses. */
function warpCommand(
  { link, rule, before }: Place,
  warp: NonNullable<NetworkEffects['warp']>,
  tr: Translator,
): Command {
  const asks = warp === 'pause' && !rule?.match.beacon;
  const name = rule?.name ?? link.name!;
  return networksCommand(
    {
      do: 'add',
      name,
      lines: linesOf({ match: rule?.match ?? matchOf(link), effects: { ...rule?.effects, warp } }),
      ...(rule ? { replaces: name } : before !== null && { before }),
      ...((asks || rule?.allowed) && { allow: true }),
    },
    {
      ...(asks && { confirm: pauseQuestion(link.name ?? name, link.kind === 'wifi', tr) }),
      undo: { kind: 'networks', change: rule ? { ...ruleChange(rule), replaces: name } : { do: 'remove', name } },
      done: tr._('The rule is set'),
    },
  );
}

/** Removes what a network's rule does with WARP. A rule that does nothing else is removed. */
function automaticCommand({ rule, before }: Place, tr: Translator): Command {
  if (!rule) return workCommand(async () => undefined);
  const { warp: _warp, ...others } = rule.effects;
  const { name } = rule;
  const done = fill(tr._('%s removed'), name);
  if (Object.keys(others).length === 0)
    return networksCommand(
      { do: 'remove', name },
      { undo: { kind: 'networks', change: { ...ruleChange(rule), before } }, done },
    );
  return networksCommand(
    { ...ruleChange({ ...rule, effects: others }), replaces: name },
    { undo: { kind: 'networks', change: { ...ruleChange(rule), replaces: name } }, done: tr._('The rule is set') },
  );
}

function pauseQuestion(name: string, isWifi: boolean, { _ }: Translator): Question {
  return {
    // Translators: %s is the name of a network
    heading: fill(_('Pause WARP on “%s”?'), name),
    body: isWifi
      ? _('Anyone can use that name. Your traffic there would bypass WARP.')
      : _('Your traffic there would bypass WARP.'),
    accept: _('Pause There'),
  };
}
