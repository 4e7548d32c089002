// `culvert network`: the networks that this machine is on, the rules for them, and what these would do elsewhere.
import type {
  InvalidRule,
  NetworkDecision,
  NetworkLink,
  NetworkRule,
  Networks,
  NetworksAnswer,
  NetworksTried,
  SupposedNetwork,
} from '../../../api/networks.ts';
import type { Snapshot } from '../../../api/schema.ts';
import { printable } from '../../../system/printable.ts';
import { quote } from '../../../view/fix.ts';
import { effectText, matchText, networkTitle, ruleEffects, ruleStrength } from '../../../view/states/networks.ts';
import { english } from '../../../view/translator.ts';
import { type Context, type Options, type Run, show, showDocument } from '../../context.ts';
import { EXIT, Failure, usage } from '../../errors.ts';
import { columns } from '../../terminal/columns.ts';

export const print: Run = async context => {
  const networks = await context.client.call('GET /api/networks');
  const { options } = await context.client.call('GET /api/snapshot');
  show(context, networks, () =>
    [linkTable(context, networks), ...holdLines(context, networks), ...ownLines(options)].join('\n'),
  );
  for (const line of invalidLines(networks)) context.say(line);
  return EXIT.ok;
};

function linkTable({ style, width }: Context, { service, links }: Networks): string {
  if (service === null) return 'Neither NetworkManager nor systemd-networkd nor iwd runs, so no network is known.';
  if (links.length === 0) return 'No network: no physical link is up.';
  const rows = links.flatMap(link => [[`${link.device}: ${networkTitle(link, english)}`], ...factsOf(link)]);
  return columns(
    rows,
    (text, column, row) => (rows[row]!.length === 1 ? style.bold(text) : column === 0 ? style.dim(text) : text),
    width,
  );
}

function factsOf(link: NetworkLink): string[][] {
  const facts: [string, string | null][] = [
    ['security', link.security],
    ['gateway', [link.gateway, link.gatewayHardware].filter(Boolean).join(', ') || null],
    ['access point', link.bssid],
    ['connection', link.uuid],
    ['metered', link.metered === null ? null : link.metered ? 'yes' : 'no'],
    ['connectivity', link.connectivity],
  ];
  return facts.flatMap(([name, value]) => (value === null ? [] : [[name, value]]));
}

function holdLines({ style }: Context, { decision, reverted, problem }: Networks): string[] {
  return [
    ...decisionLines(decision),
    ...(reverted ? ['You reverted what the rules did. They do nothing until the network changes.'] : []),
    ...(problem === null ? [] : [style.red(`Failed: ${problem}`)]),
  ];
}

function decisionLines({ effects }: NetworkDecision): string[] {
  return effects.map(effect => {
    const ask = effect.state === 'asks' ? ` Allow it: culvert network allow ${quote([effect.rule])}` : '';
    return effectText(effect, english) + ask;
  });
}

/** WARP's own settings, which turn it off without a rule. */
function ownLines({ wifiTrusted, ethernetTrusted, trustedSsids }: Snapshot['options']): string[] {
  const trusted = [wifiTrusted && 'all Wi-Fi', ethernetTrusted && 'all Ethernet', ...(trustedSsids ?? [])];
  const names = trusted.filter(name => typeof name === 'string');
  return names.length ? [`WARP's own settings turn it off on: ${names.map(printable).join(', ')}`] : [];
}

const invalidLines = ({ invalid }: Pick<NetworksTried, 'invalid'>) =>
  invalid.map(each => `${invalidText(each)} The rules are not followed.`);

/** A mistake in a document, with its line. */
export function invalidText({ line, reason }: InvalidRule): string {
  return line === null ? reason : `Line ${line}: ${reason}`;
}

export const rules: Run = async context => {
  const networks = await context.client.call('GET /api/networks');
  show(context, networks, ({ rules: all }) => {
    if (all.length === 0) return 'There are no rules. Write some with: culvert network edit';
    const rows = all.flatMap(rule => [[rule.name], ...ruleRows(rule)]);
    return columns(rows, (text, _, row) => (rows[row]!.length === 1 ? context.style.bold(text) : text), context.width);
  });
  for (const line of invalidLines(networks)) context.say(line);
  return EXIT.ok;
};

const ruleRows = (rule: NetworkRule): string[][] => [
  ['on', matchText(rule, english)],
  ['holds', ruleEffects(rule, english)],
  ...(rule.weakens ? [['strength', ruleStrength(rule, english)]] : []),
];

export const exportRules: Run = async context => {
  const networks = await context.client.call('GET /api/networks');
  showDocument(context, networks, ({ document }) => document.trimEnd());
  return EXIT.ok;
};

export const whatIf: Run = async (context, _, options) => {
  const network = supposed(options);
  const tried = await context.client.call('POST /api/networks/what-if', { body: network ? { network } : {} });
  show(context, tried, ({ decision, rules: all }) => triedText(decision, all));
  for (const line of invalidLines(tried)) context.say(line);
  return EXIT.ok;
};

/** The decision in words, with the rules behind it. */
export function triedText(decision: NetworkDecision, all: readonly NetworkRule[]): string {
  const names = [...new Set(decision.links.flatMap(({ rule }) => rule ?? []))];
  if (names.length === 0) return 'No rule is for this network: everything stays as it is.';
  const chosen = names.map(name => `Rule ${name}: ${matchText(all.find(each => each.name === name)!, english)}`);
  return [...chosen, ...decisionLines(decision)].join('\n');
}

/** The network that the options describe; null for the present one. @throws Failure */
function supposed(options: Options): SupposedNetwork | null {
  const { ssid, unknown, ethernet, security, uuid, gateway, bssid, beacon } = options;
  if ([ssid, unknown, ethernet, security, uuid, gateway, bssid, beacon].every(each => each === undefined)) return null;
  if (ethernet && (ssid !== undefined || unknown || bssid !== undefined))
    throw usage('A wired network has no SSID and no access point.');
  const network: SupposedNetwork = { kind: ethernet ? 'ethernet' : 'wifi' };
  if (typeof ssid === 'string') network.name = ssid;
  if (typeof security === 'string') network.security = securityOf(security);
  if (typeof uuid === 'string') network.uuid = uuid;
  if (typeof gateway === 'string') network.gatewayHardware = hardwareOf(gateway);
  if (typeof bssid === 'string') network.bssid = hardwareOf(bssid);
  if (beacon !== undefined) network.beacon = typeof beacon === 'string' ? beaconAddress(beacon) : beacon;
  return network;
}

function securityOf(text: string): NonNullable<SupposedNetwork['security']> {
  const security = (['open', 'wep', 'psk', 'enterprise'] as const).find(each => each === text);
  if (!security) throw usage(`--security is open, wep, psk or enterprise; not "${text}".`);
  return security;
}

function hardwareOf(text: string): string {
  const address = text.toLowerCase();
  if (!/^[\da-f]{2}(:[\da-f]{2}){5}$/.test(address)) throw usage(`"${text}" is not a hardware address.`);
  return address;
}

/** @throws Failure */
export function beaconAddress(text: string): string {
  if (!/^(\[[\da-fA-F:.]+\]|[\w.-]+):\d{1,5}$/.test(text))
    throw usage(`"${text}" is not a host and port.`, 'Example: 192.168.1.2:8443');
  return text;
}

const answer =
  (choose: (options: Options) => NetworksAnswer['answer']): Run =>
  async (context, [rule = ''], options) => {
    const networks = await context.client.call('POST /api/networks/answer', {
      body: { rule, answer: choose(options) },
    });
    show(context, networks, () => holdLines(context, networks).join('\n') || 'Nothing changes here.');
    return EXIT.ok;
  };

export const allow = answer(({ once }) => (once ? 'once' : 'always'));
export const refuse = answer(() => 'never');

export const revert: Run = async context => {
  const networks = await context.client.call('POST /api/networks/revert', { body: {} });
  if (networks.problem !== null) throw new Failure(networks.problem);
  show(context, networks, () => 'The rules do nothing more until the network changes.');
  return EXIT.ok;
};
