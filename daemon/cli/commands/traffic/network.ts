// Runs `culvert network`, which shows this machine's networks, sets and tries the rules for them, and makes and checks beacons.
import { execFile } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { chmodSync, existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import type {
  InvalidRule,
  NetworkDecision,
  NetworkRule,
  Networks,
  NetworksAnswer,
  NetworksRequest,
  NetworksTried,
  SupposedNetwork,
} from '../../../api/networks.ts';
import type { Snapshot } from '../../../api/schema.ts';
import { reason } from '../../../core/errors.ts';
import { makeDirectory } from '../../../core/files.ts';
import { printable } from '../../../core/printable.ts';
import { quote } from '../../../view/fix.ts';
import { effectText, linkText, matchText, ruleEffects, ruleStrength } from '../../../view/states/networks.ts';
import { english } from '../../../view/translator.ts';
import { type Context, type Options, type Run, show, showDocument } from '../../context.ts';
import { confirm, isAttended } from '../../dialog.ts';
import { editDocument, readDocument, writeDocument } from '../../document.ts';
import { EXIT, Failure, sayOld, usage } from '../../errors.ts';
import { askToKeep, type Keeping, keepingOf, limited } from '../../keep.ts';
import { columns } from '../../layout.ts';

export const print: Run = async context => {
  const networks = await context.client.call('GET /api/networks');
  const snapshot = await context.client.call('GET /api/snapshot');
  const old = sayOld(context, { settings: 'settings of WARP', options: 'trusted networks of WARP' }, snapshot);
  show(context, { ...networks, ...old }, () =>
    [linkTable(context, networks), ...holdLines(context, networks), ...ownLines(snapshot.options)].join('\n'),
  );
  for (const line of invalidLines(networks)) context.say(line);
  return EXIT.ok;
};

function linkTable({ style, width }: Context, { service, links }: Networks): string {
  if (service === null) return 'Neither NetworkManager nor systemd-networkd nor iwd runs, so no network is known.';
  if (links.length === 0) return 'No network: no physical link is up.';
  const rows = links.flatMap(link => {
    const { title, facts } = linkText(link, english);
    return [[`${link.device}: ${title}`], ...facts];
  });
  return columns(
    rows,
    (text, column, row) => (rows[row]!.length === 1 ? style.bold(text) : column === 0 ? style.dim(text) : text),
    width,
  );
}

function holdLines({ style }: Context, { decision, reverted, reverting, problem }: Networks): string[] {
  return [
    ...decisionLines(decision),
    ...(reverting ? [style.yellow('The rules could not be reverted yet. Culvert tries again.')] : []),
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

/** Describes WARP's own settings for networks, which turn WARP off without a rule. */
function ownLines({ wifiTrusted, ethernetTrusted, trustedSsids }: Snapshot['options']): string[] {
  const trusted = [wifiTrusted && 'all Wi-Fi', ethernetTrusted && 'all Ethernet', ...(trustedSsids ?? [])];
  const names = trusted.filter(name => typeof name === 'string');
  return names.length ? [`WARP's own settings turn it off on: ${names.map(printable).join(', ')}`] : [];
}

const invalidLines = ({ invalid }: Pick<NetworksTried, 'invalid'>) =>
  invalid.map(each => `${invalidText(each)} The rules are not followed.`);

/** Describes an error in a document, with its line. */
const invalidText = ({ line, reason }: InvalidRule) => (line === null ? reason : `Line ${line}: ${reason}`);

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

/** Describes a decision and its rules. */
function triedText(decision: NetworkDecision, all: readonly NetworkRule[]): string {
  const names = [...new Set(decision.links.flatMap(({ rule }) => rule ?? []))];
  if (names.length === 0) return 'No rule is for this network: everything stays as it is.';
  const chosen = names.map(name => `Rule ${name}: ${matchText(all.find(each => each.name === name)!, english)}`);
  return [...chosen, ...decisionLines(decision)].join('\n');
}

/** Returns the network that the options describe; null for the present network. @throws Failure */
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
function beaconAddress(text: string): string {
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

export const edit: Run = async (context, _, options) => {
  if (!isAttended(context))
    throw usage('An editor needs a terminal.', 'Give the rules as a file instead: culvert network apply FILE');
  const keeping = keepingOf(context, options);
  const { document, revision } = await context.client.call('GET /api/networks');
  return editDocument(context, {
    document,
    file: ['networks', 'toml'],
    command: 'culvert network apply',
    async apply(text) {
      const { invalid, decision, rules } = await context.client.call('POST /api/networks/what-if', {
        body: { document: text },
      });
      for (const each of invalid) context.say(invalidText(each));
      if (invalid.length > 0) return null;
      context.say(`Here: ${triedText(decision, rules)}`);
      if (!(await confirm(context, 'Set these rules?'))) throw new Failure('Nothing was changed.');
      return apply(context, { document: text, ifRevision: revision }, keeping);
    },
  });
};

export const applyFile: Run = async (context, [file], options) =>
  apply(context, { document: await readDocument(context, file) }, keepingOf(context, options));

async function apply(context: Context, request: NetworksRequest, keeping: Keeping): Promise<number> {
  const body = { ...request, ...limited(keeping) };
  const networks = await context.client.call('POST /api/networks', { body });
  if (context.json) show(context, networks, () => '');
  const count = networks.rules.length;
  context.say(count === 1 ? '1 rule is set.' : `${count} rules are set.`);
  if (networks.problem !== null) throw new Failure(networks.problem);
  return askToKeep(context, undefined, keeping);
}

const run = promisify(execFile);
const PORT = '8443';
/** Ten years: the rule names the certificate, so a new certificate needs a new rule. */
const DAYS = '3650';
/** Directory of the beacon on the machine that serves it. */
const INSTALLED = '/etc/culvert-beacon';

export const beacon: Run = async (context, words, options) => {
  if (options.make === undefined) return check(context, words);
  if (words.length > 0) throw usage('Give either an address, or --make and a directory.');
  return make(context, String(options.make), options);
};

async function make(context: Context, given: string, options: Options): Promise<number> {
  const port = options.port === undefined ? PORT : String(options.port);
  if (!/^\d{1,5}$/.test(port) || Number(port) < 1 || Number(port) > 65_535)
    throw usage(`--port is a port from 1 to 65535; not "${port}".`);
  const directory = resolve(given);
  const [key, certificate] = [join(directory, 'key.pem'), join(directory, 'certificate.pem')];
  if (existsSync(key)) throw new Failure(`${key} already exists, and was left as it is.`);
  const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', DAYS];
  const names = ['-subj', '/CN=culvert-beacon', '-addext', 'subjectAltName=DNS:culvert-beacon'];
  try {
    makeDirectory(directory);
    await run('openssl', ['req', ...kind, ...names, '-keyout', key, '-out', certificate]);
    chmodSync(key, 0o600);
  } catch (error) {
    throw new Failure(`The certificate could not be made: ${reason(error).split('\n')[0]}`, { cause: error });
  }
  const unit = join(directory, 'culvert-beacon.service');
  writeDocument(unit, unitOf(port), { mode: 0o644, force: true });
  const sha256 = new X509Certificate(readFileSync(certificate)).fingerprint256.replaceAll(':', '').toLowerCase();
  show(context, { sha256, key, certificate, unit }, () =>
    [
      `Made ${key}, ${certificate} and ${unit}.`,
      'Install them on a machine of your network that is always on and has openssl and systemd:',
      `  sudo install -D -m 600 -t ${INSTALLED} key.pem certificate.pem`,
      '  sudo install -m 644 -t /etc/systemd/system culvert-beacon.service',
      '  sudo systemctl enable --now culvert-beacon',
      `Check it from here: culvert network beacon ADDRESS:${port} ${sha256}`,
      'Put into your rule:',
      `  beacon = {address = "ADDRESS:${port}", sha256 = "${sha256}"}`,
    ].join('\n'),
  );
  return EXIT.ok;
}

/**
 * Returns the unit of a server that presents the certificate. It serves one connection at a time, and restarts every five
 * minutes, so that an open connection does not block it for long.
 */
function unitOf(port: string): string {
  return `[Unit]
Description=Proves this network to Culvert
After=network.target

[Service]
ExecStart=/usr/bin/openssl s_server -accept ${port} -cert %d/certificate -key %d/key -www -quiet -min_protocol TLSv1.2
LoadCredential=certificate:${INSTALLED}/certificate.pem
LoadCredential=key:${INSTALLED}/key.pem
Restart=always
RuntimeMaxSec=300
DynamicUser=yes
CapabilityBoundingSet=
NoNewPrivileges=yes
ProtectSystem=strict
ProtectHome=yes
PrivateDevices=yes
RestrictAddressFamilies=AF_INET AF_INET6
SystemCallFilter=@system-service
MemoryMax=64M

[Install]
WantedBy=multi-user.target
`;
}

async function check(context: Context, [host = '', given]: readonly string[]): Promise<number> {
  const address = beaconAddress(host);
  const expected = given?.replaceAll(':', '').toLowerCase();
  if (expected !== undefined && !/^[\da-f]{64}$/.test(expected)) throw usage('A SHA-256 has 64 hexadecimal digits.');
  const { fingerprintOf } = await import('../../../networks/rules/beacon.ts');
  const sha256 = await fingerprintOf(address).catch(error => {
    throw new Failure(`No beacon answers at ${address}: ${reason(error)}`, { cause: error });
  });
  const matches = expected === undefined ? null : sha256 === expected;
  show(context, { ok: matches !== false, address, sha256, matches }, () =>
    [
      `sha256 = "${sha256}"`,
      ...(matches === null ? [] : [matches ? 'This is the certificate.' : 'This is another certificate.']),
    ].join('\n'),
  );
  return matches === false ? EXIT.failure : EXIT.ok;
}
