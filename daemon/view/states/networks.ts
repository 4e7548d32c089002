// Words networks, their rules, and the effects of the rules, and orders the subjects of rules and their rows in the form.
import { MODES, PROTOCOLS } from '../../api/actions.ts';
import type {
  DecidedEffect,
  NetworkDecision,
  NetworkEffects,
  NetworkLink,
  NetworkMatch,
  NetworkRule,
  NetworksState,
} from '../../api/networks.ts';
import type { Mode, Snapshot } from '../../api/schema.ts';
import { modeName } from '../client/labels.ts';
import type { Command, NetworksChange, Question } from '../form.ts';
import { formatList } from '../format.ts';
import { fill, type Translator } from '../translator.ts';
import { presetName } from './routes.ts';

/** Names a network by its kind and name, `Wi-Fi “Home”`, or by its kind alone if it has no name. */
export function networkTitle({ kind, name }: Pick<NetworkLink, 'kind' | 'name'>, { _ }: Translator): string {
  if (name === null) {
    const kinds = { wifi: _('Wi-Fi'), ethernet: _('Ethernet'), mobile: _('Mobile network'), other: _('Other network') };
    return kinds[kind];
  }
  const named = {
    // Translators: %s is the name of a network
    wifi: _('Wi-Fi “%s”'),
    // Translators: %s is the name of a network
    ethernet: _('Ethernet “%s”'),
    // Translators: %s is the name of a network
    mobile: _('Mobile network “%s”'),
    // Translators: %s is the name of a network
    other: _('Other network “%s”'),
  };
  return fill(named[kind], name);
}

/** Describes a link: title and value for a row of the page, and the known facts, in English, for the command line. */
export function linkText(link: NetworkLink, tr: Translator) {
  const facts: [label: string, value: string | null][] = [
    ['security', link.security],
    ['gateway', [link.gateway, link.gatewayHardware].filter(Boolean).join(', ') || null],
    ['access point', link.bssid],
    ['connection', link.uuid],
    ['metered', link.metered === null ? null : link.metered ? 'yes' : 'no'],
    ['connectivity', link.connectivity],
  ];
  const known = facts.flatMap(([label, value]) => (value === null ? [] : [[label, value]]));
  return { title: networkTitle(link, tr), value: link.device, facts: known };
}

/** Words the networks that a rule matches. */
export function matchText({ match }: Pick<NetworkRule, 'match'>, tr: Translator): string {
  const { _ } = tr;
  const { ssid, security, uuid, gateway, bssid, beacon, any } = match;
  const kinds = {
    'unknown-wifi': _('any unknown Wi-Fi'),
    ethernet: _('any Ethernet'),
    'no-rule': _('networks without another rule'),
  };
  const parts = [
    any && kinds[any],
    ssid !== undefined && fill(_('Wi-Fi “%s”'), ssid),
    security && securityText(security, tr),
    // Translators: %s identifies a connection of NetworkManager
    uuid !== undefined && fill(_('connection %s'), uuid),
    // Translators: %s is a hardware address
    gateway !== undefined && fill(_('gateway %s'), gateway),
    // Translators: %s is a list of hardware addresses
    bssid !== undefined && fill(_('access point %s'), formatList(bssid, tr)),
    // Translators: %s is a host and port. A beacon is a server that proves which network this is
    beacon && fill(_('beacon %s'), beacon.address),
  ];
  return formatList(
    parts.filter(part => typeof part === 'string'),
    tr,
  );
}

export function securityText(security: NonNullable<NetworkMatch['security']>, { _ }: Translator): string {
  const texts: Record<typeof security, string> = {
    open: _('without a password'),
    wep: _('with WEP'),
    psk: _('with a shared password'),
    enterprise: _('with a password for each user'),
  };
  return texts[security];
}

type Subject = DecidedEffect['subject'];
type Act = Pick<DecidedEffect, 'subject' | 'value'>;

type Key = keyof NetworkEffects;

/** A subject that a rule sets with a key. */
interface RuleSubject<K extends Key> {
  key: K;
  /** Words an effect: `WARP is paused`. */
  act(value: string, tr: Translator): string;
  /** Returns the value of the effect if it differs from the key's value. */
  effectOf?(value: NonNullable<NetworkEffects[K]>): string;
  /** Row in the form of a rule, with the key's values. The kill switch has a switch instead. */
  row?(tr: Translator): { title: string; values: readonly (readonly [NetworkEffects[K] & string, label: string])[] };
}

const PRESETS = ['lan', 'docker', 'podman', 'libvirt', 'kubernetes', 'tailscale'] as const;

/** The subjects of rules, in the order of their effects. */
const SUBJECTS: { [S in Subject]: RuleSubject<S extends Key ? S : 'warp'> } = {
  connection: {
    key: 'warp',
    act: (value, { _ }) => (value === 'on' ? _('WARP is on') : _('WARP is paused')),
    effectOf: value => (value === 'connect' ? 'on' : 'off'),
    row: ({ _ }) => ({
      title: 'WARP',
      values: [
        ['connect', _('Connect')],
        ['pause', _('Pause')],
      ],
    }),
  },
  mode: {
    key: 'mode',
    // Translators: %s is a mode such as All traffic
    act: (value, tr) => fill(tr._('Mode: %s'), modeName(value as Mode, tr).title),
    row: tr => ({ title: tr._('Mode'), values: MODES.map(mode => [mode, modeName(mode, tr).title]) }),
  },
  protocol: {
    key: 'protocol',
    // Translators: %s is MASQUE or WireGuard
    act: (value, { _ }) => fill(_('Protocol: %s'), value),
    row: ({ _ }) => ({ title: _('Protocol'), values: PROTOCOLS.map(protocol => [protocol, protocol]) }),
  },
  killSwitch: { key: 'killSwitch', act: (_value, { _ }) => _('Kill switch is on'), effectOf: () => 'on' },
  routes: {
    key: 'routes',
    // Translators: %s names entries, such as lan or docker
    act: (value, { _ }) => fill(_('Networks of “%s” bypass WARP'), value),
    row: tr => ({ title: tr._('Bypasses WARP'), values: PRESETS.map(preset => [preset, presetName(preset, tr)]) }),
  },
};
export const RULE_SUBJECTS = Object.entries(SUBJECTS) as [Subject, RuleSubject<Key>][];

/** Returns what a rule sets, in the order of the subjects. */
export function ruleValues(effects: NetworkEffects): Act[] {
  return RULE_SUBJECTS.flatMap(([subject, { key, effectOf = String }]) => {
    const value = effects[key];
    return value ? [{ subject, value: effectOf(value) }] : [];
  });
}

/** Words an effect of a rule: `WARP is paused`. */
export function actText({ subject, value }: Act, tr: Translator): string {
  // a newer daemon may set further subjects
  return SUBJECTS[subject]?.act?.(value, tr) ?? subject;
}

/** Words all effects of a rule; empty without any. */
export function ruleEffects({ effects }: Pick<NetworkRule, 'effects'>, tr: Translator): string {
  const acts = ruleValues(effects).map(act => actText(act, tr));
  return acts.length > 0 ? formatList(acts, tr) : '';
}

/** Returns the only network of this machine, if it is a named Wi-Fi network without its own rule; else null. */
export function trustableLink({
  links,
  decision,
  rules,
}: Pick<NetworksState, 'links' | 'decision' | 'rules'>): NetworkLink | null {
  const [link] = links;
  if (!link || links.length > 1 || link.kind !== 'wifi' || link.name === null) return null;
  if (!/^[^"\\\p{Cc}]+$/u.test(link.name)) return null;
  const own = rules.find(({ name }) => name === decision.links[0]?.rule);
  return own && namesNetwork(own) ? null : link;
}

/** True if a rule is for certain networks, not for a kind of network. */
export function namesNetwork({ match }: Pick<NetworkRule, 'match'>): boolean {
  const { ssid, uuid, gateway, bssid, beacon } = match;
  return [ssid, uuid, gateway, bssid, beacon].some(value => value !== undefined);
}

/** Returns a network that is reported to have a login page, or null. */
export function loginLink(networks: Pick<NetworksState, 'links'> | null | undefined): NetworkLink | null {
  return networks?.links.find(({ connectivity }) => connectivity === 'portal') ?? null;
}

/** Names the first network with a rule, and the rule; else the first network. Null without a network. */
export function networkLine({ links, decision }: NetworksState, tr: Translator): string | null {
  const at = decision.links.findIndex(({ rule }) => rule !== null);
  const [link, chosen] = [links[at], decision.links[at]];
  if (link && chosen?.rule)
    // Translators: a network such as Wi-Fi “Home”, and the name of the rule for it
    return fill(tr._('%s, rule “%s”'), networkTitle(link, tr), chosen.rule);
  return links[0] ? networkTitle(links[0], tr) : null;
}

export function networksCommand(change: NetworksChange, more: Omit<Command, 'ask'> = {}): Command {
  return { ask: { kind: 'networks', change }, ...more };
}

/** @param rule name of the rule */
export function allowQuestion(rule: string, { _ }: Translator): Question {
  return {
    // Translators: %s is the name of a rule
    heading: fill(_('Let the rule “%s” lower protection?'), rule),
    body: _('Anyone can make a network that looks like this one. Your traffic there would bypass WARP.'),
    accept: _('Allow'),
  };
}

/** Words an effect with its rule, and the reason if it is not in effect. */
export function effectText(effect: DecidedEffect, tr: Translator): string {
  const { _ } = tr;
  const act = actText(effect, tr);
  if (effect.state === 'asks')
    // Translators: the first %s is what a rule does, such as WARP is paused, the second its name
    return fill(
      _('Not yet: %s, by the rule “%s”. It waits for your permission: anyone can copy what identifies this network.'),
      act,
      effect.rule,
    );
  if (effect.state === 'holds')
    // Translators: the first %s is what a rule does, such as WARP is paused, the second its name
    return fill(_('%s, by the rule “%s”.'), act, effect.rule);
  const reasons = {
    'other-link': _('another network is in use, to which that does not apply'),
    managed: _('your organization manages this device'),
    locked: _('your organization does not allow it'),
    refused: _('you refused it'),
  };
  // Translators: %s are what a rule does, its name, and a reason
  return fill(_('Not done: %s, by the rule “%s”: %s.'), act, effect.rule, reasons[effect.reason ?? 'refused']);
}

/** Words each effect of the rules in a line. */
export function decisionText({ links, effects }: NetworkDecision, tr: Translator): string[] {
  if (effects.length > 0) return effects.map(effect => effectText(effect, tr));
  return [links.some(({ rule }) => rule !== null) ? tr._('Nothing changes.') : tr._('No rule is for this network.')];
}

/** Says that WARP's own settings turn it off on a network, even against a rule; null if they don't. */
export function ownSettingText(
  { kind, name }: Pick<NetworkLink, 'kind' | 'name'>,
  { options, decision }: { options: Snapshot['options'] | null; decision: NetworkDecision },
  tr: Translator,
): string | null {
  const { _ } = tr;
  const isListed = kind === 'wifi' && name !== null && options?.trustedSsids?.includes(name);
  const why =
    kind === 'wifi' && options?.wifiTrusted
      ? _('WARP’s own settings turn it off on all Wi-Fi networks.')
      : kind === 'ethernet' && options?.ethernetTrusted
        ? _('WARP’s own settings turn it off on all wired networks.')
        : isListed
          ? // Translators: %s is the name of a Wi-Fi network
            fill(_('WARP’s own list of trusted Wi-Fi turns it off on “%s”.'), name)
          : null;
  const against = decision.effects.find(({ subject, value }) => subject === 'connection' && value === 'on');
  if (why === null || !against) return why;
  // Translators: the first %s is a sentence, the second the name of a rule
  return fill(_('%s The rule “%s”, which connects WARP, can’t change that.'), why, against.rule);
}

/** Says how a rule that can lower protection is proven or allowed. */
export function ruleStrength({ proof, allowed }: Pick<NetworkRule, 'proof' | 'allowed'>, { _ }: Translator): string {
  if (proof === 'beacon') return _('Lowers protection where the beacon proves the network.');
  if (allowed === true)
    return _('Lowers protection. You allowed it, though anyone can copy what identifies this network.');
  if (allowed === false) return _('You refused what could expose your traffic.');
  return _('Asks first: this network can be imitated.');
}
