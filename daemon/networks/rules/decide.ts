// Decides by the rules which settings apply on the networks of this machine. Pure.
import type { DecidedEffect, NetworkDecision, NetworkEffects, NetworkLink, NetworkRule } from '../../api/networks.ts';
import type { Mode } from '../../api/schema.ts';
import { ruleValues } from '../../view/states/networks.ts';
import { keyOf, type Rule } from './rules.ts';

type Subject = DecidedEffect['subject'];

const SUBJECTS: readonly Subject[] = ['connection', 'mode', 'protocol', 'killSwitch', 'routes'];

/** Settings without the rules, and the wishes of the user and the organization. */
export interface Situation {
  /** Null if not known yet, which counts as managed. */
  managed: boolean | null;
  modeLocked: boolean;
  switchLocked: boolean;
  mode: string | null;
  /** Answers about rules, by their keys; absent if the user was not asked. */
  answers: ReadonlyMap<string, boolean>;
}

/** Rank of each mode by the share of the traffic that it protects. */
const STRENGTH: Record<Mode, number> = {
  warp: 3,
  'warp+doh': 3,
  'warp+dot': 3,
  tunnel_only: 2,
  proxy: 1,
  doh: 0,
  dot: 0,
};
const FULL = 3;

/** Returns the strength of a mode. A mode of a later version counts as full protection. */
export function strengthOfMode(mode: string | null): number {
  return STRENGTH[mode as Mode] ?? FULL;
}

/** A link, and the names of the rules whose beacon answered on it. */
export interface Placed {
  link: NetworkLink;
  proven: ReadonlySet<string>;
}

/** Returns the rule for a link: the first rule that names the network, else the first for this kind of link, else `no-rule`. */
export function ruleFor({ link, proven }: Placed, rules: readonly Rule[]): Rule | null {
  const fits = (rule: Rule) => isFor(rule, link) && (!rule.match.beacon || proven.has(rule.name));
  const last = ({ match }: Rule) => match.any === 'no-rule';
  return (
    rules.find(rule => rule.match.any === undefined && fits(rule)) ??
    rules.find(rule => rule.match.any !== undefined && !last(rule) && fits(rule)) ??
    rules.find(rule => last(rule) && fits(rule)) ??
    null
  );
}

/** True if every condition of the rule holds, apart from the beacon. */
export function isFor({ match }: Rule, link: NetworkLink): boolean {
  const { ssid, security, uuid, gateway, bssid, any } = match;
  return (
    (ssid === undefined || (link.kind === 'wifi' && link.name === ssid)) &&
    (security === undefined || link.security === security) &&
    (uuid === undefined || link.uuid === uuid) &&
    (gateway === undefined || link.gatewayHardware === gateway) &&
    (bssid === undefined || (link.bssid !== null && bssid.includes(link.bssid))) &&
    (any !== 'unknown-wifi' || link.kind === 'wifi') &&
    (any !== 'ethernet' || link.kind === 'ethernet')
  );
}

/** True for effects that can lower the protection. */
function weakens({ warp, mode, routes }: NetworkEffects): boolean {
  return warp === 'pause' || routes !== undefined || (mode !== undefined && STRENGTH[mode] < FULL);
}

/** Returns a rule in the form that clients see. */
export function describe(rule: Rule, answers: ReadonlyMap<string, boolean>): NetworkRule {
  const proof = rule.match.beacon ? 'beacon' : 'copyable';
  return { ...rule, proof, weakens: weakens(rule.effects), allowed: answers.get(keyOf(rule)) ?? null };
}

/** A value that the rule of a link wants for a subject. */
interface Wish {
  rule: Rule;
  value: string;
}

/** @param places all links that are up; only rules of all links together may lower the protection */
export function decide(places: readonly Placed[], rules: readonly Rule[], situation: Situation): NetworkDecision {
  const chosen = places.map(place => ruleFor(place, rules));
  const combine = (subject: Subject): DecidedEffect[] => {
    const wishes = chosen.flatMap((rule): Wish[] => {
      const value = rule && ruleValues(rule.effects)[subject];
      return rule && value ? [{ rule, value }] : [];
    });
    const [first, ...others] = wishes;
    if (!first) return [];
    const strongest = others.reduce(
      (best, each) => (strengthOf(subject, each.value) > strengthOf(subject, best.value) ? each : best),
      first,
    );
    const isCommon =
      wishes.length === places.length &&
      (subject !== 'routes' || wishes.every(({ value }) => value === strongest.value));
    return [judge(subject, { wishes, strongest, isCommon }, situation)];
  };
  return {
    links: places.map(({ link }, at) => ({ device: link.device, rule: chosen[at]?.name ?? null })),
    effects: SUBJECTS.flatMap(combine),
  };
}

/** @param isCommon true if every link has the wish */
function judge(
  subject: Subject,
  { wishes, strongest, isCommon }: { wishes: readonly Wish[]; strongest: Wish; isCommon: boolean },
  situation: Situation,
): DecidedEffect {
  const { managed, modeLocked, switchLocked, answers } = situation;
  const answerOf = ({ rule }: Wish) => (rule.match.beacon ? true : answers.get(keyOf(rule)));
  const undecided = wishes.find(wish => answerOf(wish) === undefined);
  const refused = wishes.find(wish => answerOf(wish) === false);
  const lowers = isWeaker(subject, strongest.value, situation);
  const decisive = lowers ? (refused ?? undecided ?? strongest) : strongest;
  const effect = { subject, value: strongest.value, rule: decisive.rule.name };
  const left = (reason: DecidedEffect['reason']): DecidedEffect => ({ ...effect, state: 'left', reason });
  if (subject === 'mode' && modeLocked) return left('locked');
  if (lowers) {
    if (managed !== false) return left('managed');
    if (subject === 'connection' && switchLocked) return left('locked');
    if (!isCommon) return left('other-link');
    if (refused) return left('refused');
    if (undecided) return { ...effect, state: 'asks', reason: null };
  }
  return { ...effect, state: 'holds', reason: null };
}

function strengthOf(subject: Subject, value: string): number {
  if (subject === 'mode') return strengthOfMode(value);
  return subject === 'connection' && value === 'off' ? 0 : 1;
}

/** True for a value that protects less than the settings without the rules. */
function isWeaker(subject: Subject, value: string, { mode }: Situation): boolean {
  if (subject === 'connection') return value === 'off';
  if (subject === 'routes') return true;
  if (subject !== 'mode') return false;
  return strengthOfMode(value) < strengthOfMode(mode);
}

/** Returns a key of the networks and their rules: the user's own changes hold until the key changes. */
export function placeKey(places: readonly Placed[], rules: readonly Rule[]): string {
  const identities = places.map(place => {
    const { kind, name, uuid, security } = place.link;
    const rule = ruleFor(place, rules);
    return [kind, name, uuid, security, rule && keyOf(rule)];
  });
  return JSON.stringify(identities);
}
