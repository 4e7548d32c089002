// Decides by the rules which settings apply on the networks of this machine. Pure.
import type { DecidedEffect, NetworkDecision, NetworkLink, NetworkRule } from '../../api/networks.ts';
import type { Mode } from '../../api/schema.ts';
import { RULE_SUBJECTS, ruleValues } from '../../view/states/networks.ts';
import { keyOf, type Rule } from './rules.ts';

type Subject = DecidedEffect['subject'];

/** Settings without the rules, and the wishes of the user and the organization. */
export interface Situation {
  /** Null if not known yet, which counts as managed. */
  managed: boolean | null;
  modeLocked: boolean;
  switchLocked: boolean;
  /** Returns the value of a subject. An unknown value counts as full protection. */
  before(subject: Compared): unknown;
  /** Answers about rules, by their keys; absent if the user was not asked. */
  answers: ReadonlyMap<string, boolean>;
}

/** Modes by the share of the traffic that they protect. */
const MODES: Record<Mode, number> = { warp: 3, 'warp+doh': 3, 'warp+dot': 3, tunnel_only: 2, proxy: 1, doh: 0, dot: 0 };
/** Ranks of values by their protection, for the subjects whose values protect differently. */
const RANKS = { connection: { on: 1, off: 0, true: 1, false: 0 }, mode: MODES };
type Ranked = keyof typeof RANKS;
/** Subjects whose value is compared with the previous value. */
type Compared = Exclude<Ranked, 'connection'>;
const isRanked = (subject: Subject): subject is Ranked => Object.hasOwn(RANKS, subject);

/** Returns the rank of a value. An unknown value, such as a mode of a later version, counts as full protection. */
function rankOf(subject: Subject, value: unknown): number {
  if (!isRanked(subject)) return 0;
  const ranks: Record<string, number> = RANKS[subject];
  return ranks[String(value)] ?? Math.max(...Object.values(ranks));
}

/** True for a value that protects less than the previous value, and for all routes. */
function isWeaker(subject: Subject, value: unknown, before?: unknown): boolean {
  return subject === 'routes' || rankOf(subject, value) < rankOf(subject, before);
}

/** True if a change reverts when the device leaves the network: a protocol, routes, or lower protection. */
export function isReturning({ subject, set, before }: { subject: Subject; set?: unknown; before?: unknown }): boolean {
  return isRanked(subject) ? isWeaker(subject, set, before) : subject !== 'killSwitch';
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

/** Returns a rule in the form that clients see. */
export function describe(rule: Rule, answers: ReadonlyMap<string, boolean>): NetworkRule {
  const proof = rule.match.beacon ? 'beacon' : 'copyable';
  const weakens = ruleValues(rule.effects).some(({ subject, value }) => isWeaker(subject, value));
  return { ...rule, proof, weakens, allowed: answers.get(keyOf(rule)) ?? null };
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
      const effect = rule && ruleValues(rule.effects).find(each => each.subject === subject);
      return rule && effect ? [{ rule, value: effect.value }] : [];
    });
    const [first, ...others] = wishes;
    if (!first) return [];
    const strongest = others.reduce(
      (best, each) => (rankOf(subject, each.value) > rankOf(subject, best.value) ? each : best),
      first,
    );
    const isCommon =
      wishes.length === places.length &&
      (subject !== 'routes' || wishes.every(({ value }) => value === strongest.value));
    return [judge(subject, { wishes, strongest, isCommon }, situation)];
  };
  return {
    links: places.map(({ link }, at) => ({ device: link.device, rule: chosen[at]?.name ?? null })),
    effects: RULE_SUBJECTS.flatMap(([subject]) => combine(subject)),
  };
}

/** @param isCommon true if every link has the wish */
function judge(
  subject: Subject,
  { wishes, strongest, isCommon }: { wishes: readonly Wish[]; strongest: Wish; isCommon: boolean },
  situation: Situation,
): DecidedEffect {
  const { managed, modeLocked, switchLocked, before, answers } = situation;
  const answerOf = ({ rule }: Wish) => (rule.match.beacon ? true : answers.get(keyOf(rule)));
  const undecided = wishes.find(wish => answerOf(wish) === undefined);
  const refused = wishes.find(wish => answerOf(wish) === false);
  // a pause counts as weaker even while WARP is off, because the user may connect at any time
  const compared = isRanked(subject) && subject !== 'connection' ? before(subject) : undefined;
  const lowers = isWeaker(subject, strongest.value, compared);
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

/** Returns a key of the networks and their rules: the user's own changes hold until the key changes. */
export function placeKey(places: readonly Placed[], rules: readonly Rule[]): string {
  const identities = places.map(place => {
    const { kind, name, uuid, security } = place.link;
    const rule = ruleFor(place, rules);
    return [kind, name, uuid, security, rule && keyOf(rule)];
  });
  return JSON.stringify(identities);
}
