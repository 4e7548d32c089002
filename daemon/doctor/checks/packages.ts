// Checks the package repositories of the vendor and of Culvert: the signing key, its expiry, and the release in the subscription.
import type { Message } from '../../api/values.ts';
import { APT_SOURCE, DNF_SOURCE } from '../../update/report.ts';
import { quote } from '../../view/fix.ts';
import { N_ } from '../../view/translator.ts';
import { SERVED_DEBIAN } from '../../warp/cli/install-steps.ts';
import { type Check, type Finding, message, NoVerdict, notApplicable, notice, ok, problem, quoted } from '../check.ts';
import { adminCommands } from '../world/facts.ts';
import type { World } from '../world/world.ts';

const HOST = 'pkg.cloudflareclient.com';
const DIRECTORY = '/etc/apt/sources.list.d';
/** Time of the key's replacement; older copies stopped working on 2025-12-04 (release notes of 2025.9.558). */
const KEY_CHANGED = Date.UTC(2025, 8, 12);

interface Repository {
  file: string;
  keys: string[];
  suites: string[];
}

export const packageRepository: Check = {
  id: 'package-repository',
  title: N_('Package repository of Cloudflare WARP'),
  group: 'service',
  source: `https://${HOST}`,
  appliesTo: { systems: 'Debian and its derivatives' },
  async probe(world) {
    const repositories = await findRepositories(world);
    if (repositories.length === 0) return notApplicable(message('No list in %s names %s.', DIRECTORY, HOST));
    const release = (await world.files.readText('/etc/os-release')) ?? '';
    const codename = /^VERSION_CODENAME="?([a-z]+)"?$/m.exec(release)?.[1] ?? null;
    const findings = await Promise.all(repositories.map(repository => checkOne(world, repository, codename)));
    return (
      findings.find(({ verdict }) => verdict === 'problem') ??
      findings.find(({ verdict }) => verdict === 'notice') ??
      findings[0] ??
      ok()
    );
  },
};

async function checkOne(world: World, { file, keys, suites }: Repository, codename: string | null): Promise<Finding> {
  const key = keys.find(path => path.startsWith('/')) ?? null;
  const list = `${file}: ${suites.join(', ')}`;
  const evidence = [key ? message('%s, signed by %s', list, key) : quoted(list)];
  const bad = key && (await keyProblem(world, key));
  if (bad)
    return problem(
      [...evidence, bad],
      message('Cloudflare has replaced the key of its packages. apt refuses updates until you fetch the new one.'),
      renewKey(key),
    );
  if (!key) evidence.push(message('no key is named, so apt trusts any of its own'));
  const unserved = suites.find(suite => !SERVED_DEBIAN.has(suite));
  if (unserved)
    return problem(
      [...evidence, message('the repository does not serve %s', unserved)],
      message(
        'There are no packages for this release, so WARP gets no updates. Use the nearest release that has packages.',
      ),
    );
  if (codename && suites.length > 0 && !suites.includes(codename))
    return notice(
      [...evidence, message('this system is %s', codename)],
      message('The list is for another release of the system. Change it after a system upgrade.'),
    );
  return ok(...evidence);
}

function renewKey(path: string) {
  return adminCommands(
    message('Fetch the new key'),
    [
      ['cp', '-a', path, `${path}.before-culvert`],
      ['sh', '-c', `curl -fsSL https://${HOST}/pubkey.gpg | gpg --yes --dearmor --output ${quote([path])}`],
    ],
    { undo: [['mv', '-T', `${path}.before-culvert`, path]] },
  );
}

/** Returns the reason that a keyring can't verify packages, or null. */
async function keyProblem(world: World, path: string): Promise<Message | null> {
  const info = await world.files.stat(path);
  if (!info) return message('%s is missing', path);
  const keyring = await world.files.readBytes(path);
  try {
    const isValid = expiries(keyring ?? Buffer.alloc(0)).some(until => until > world.now());
    return isValid ? null : message('every key in it has expired');
  } catch {
    // armored keys: only their age is known
  }
  return info.mtimeMs < KEY_CHANGED
    ? message('it is from %s, before the change', new Date(info.mtimeMs).toISOString().slice(0, 10))
    : null;
}

async function findRepositories({ files }: World): Promise<Repository[]> {
  const repositories: Repository[] = [];
  for (const name of await files.list(DIRECTORY)) {
    const path = `${DIRECTORY}/${name}`;
    const text = /\.(list|sources)$/.test(name) ? await files.readText(path).catch(() => null) : null;
    if (!text?.includes(HOST)) continue;
    repositories.push(...(name.endsWith('.list') ? fromList(path, text) : fromSources(path, text)));
  }
  return repositories;
}

/** Reads `deb [signed-by=KEY] https://pkg.cloudflareclient.com/ bookworm main` (sources.list(5)). */
function fromList(file: string, text: string): Repository[] {
  return text.split('\n').flatMap(line => {
    const [, options = '', suite] =
      /^\s*deb(?:\s+\[([^\]]*)\])?\s+https?:\/\/pkg\.cloudflareclient\.com\/?\S*\s+(\S+)/.exec(line) ?? [];
    if (!suite) return [];
    const keys = /signed-by=(\S+)/i.exec(options)?.[1]?.split(',') ?? [];
    return [{ file, keys, suites: [suite] }];
  });
}

/** Reads repositories from paragraphs of fields (deb822). */
function fromSources(file: string, text: string): Repository[] {
  return text.split(/\n[ \t]*\n/).flatMap(paragraph => {
    const field = (name: string) => new RegExp(`^${name}:[ \\t]*(.*)$`, 'im').exec(paragraph)?.[1]?.trim() ?? '';
    if (!field('URIs').includes(HOST) || /^no$/i.test(field('Enabled'))) return [];
    const words = (name: string) => field(name).split(/\s+/).filter(Boolean);
    return [{ file, keys: words('Signed-By'), suites: words('Suites') }];
  });
}

const LISTS = '/var/lib/apt/lists';
/** Time to fetch a new key before the old one expires. */
const EXPIRES_SOON_MS = 30 * 24 * 3_600_000;

export const culvertPackages: Check = {
  id: 'culvert-packages',
  title: N_('Package repository of Culvert'),
  group: 'culvert',
  source: null,
  appliesTo: { systems: 'apt and dnf' },
  async probe(world) {
    const subscription = await subscriptionOf(world);
    if (!subscription) return notApplicable(message('There is neither %s nor %s.', APT_SOURCE, DNF_SOURCE));
    const keys = await judgeKeys(world, subscription);
    // the index of dnf does not expire
    if (keys.verdict === 'problem' || subscription.program === 'dnf') return keys;
    const list = await judgeList(world, subscription);
    return list.verdict === 'ok' ? { ...keys, evidence: [...keys.evidence, ...list.evidence] } : list;
  },
};

interface Subscription {
  program: 'apt' | 'dnf';
  address: string;
  suite: string;
  /** Path of the keyring: packets for apt, text for dnf. */
  keyring: string;
}

/** Returns the repository in the sources of apt or dnf; null without one. */
async function subscriptionOf({ files }: World): Promise<Subscription | null> {
  const apt = await files.readText(APT_SOURCE);
  const text = apt ?? (await files.readText(DNF_SOURCE));
  if (text === null) return null;
  const field = (name: string) => new RegExp(`^${name}[:=][ \\t]*(\\S+)`, 'm').exec(text)?.[1];
  const known: Partial<Subscription> =
    apt !== null
      ? { program: 'apt', address: field('URIs'), suite: field('Suites'), keyring: field('Signed-By') }
      : { program: 'dnf', ...inPath(field('baseurl')), keyring: field('gpgkey')?.replace(/^file:\/\//, '') };
  const { program, address, suite, keyring } = known;
  if (program && address && suite && keyring?.startsWith('/'))
    return { program, address: address.replace(/\/+$/, ''), suite, keyring };
  const source = apt !== null ? APT_SOURCE : DNF_SOURCE;
  throw new NoVerdict(message('%s names no address, suite or file of keys.', source));
}

/** Splits an address of dnf, which ends in the suite. */
function inPath(url = '') {
  const [, address, suite] = /^(.*)\/rpm\/([^/]+)/.exec(url) ?? [];
  return { address, suite };
}

async function judgeKeys({ files, now }: World, { program, address, keyring }: Subscription) {
  const bytes = await files.readBytes(keyring);
  const published = `${address}/culvert-archive-keyring.${program === 'apt' ? 'pgp' : 'asc'}`;
  const fetch = adminCommands(message('Fetch the new key'), [
    ['curl', '-fsSL', '--proto', '=https', '-o', keyring, published],
  ]);
  const refused = message('%s refuses updates of Culvert until you fetch the new key.', program);
  if (!bytes) return problem([message('%s is missing', keyring)], refused, fetch);
  const until = lastExpiry(bytes, keyring);
  if (until === Infinity) return ok();
  const time = new Date(until).toISOString();
  if (until <= now()) return problem([message('the keys in %s expired at %s', keyring, { time })], refused, fetch);
  const evidence = [message('the keys in %s expire at %s', keyring, { time })];
  if (until - now() > EXPIRES_SOON_MS) return ok(...evidence);
  const why = message('Fetch the new key before that: %s then refuses updates of Culvert.', program);
  return notice(evidence, why, fetch);
}

/** Returns the latest expiry: one valid key is enough. */
function lastExpiry(keyring: Buffer, path: string): number {
  try {
    return Math.max(...expiries(keyring));
  } catch (error) {
    throw new NoVerdict(message('%s holds no key that can be read.', path), error);
  }
}

/** Checks the expiry in the signed index. apt keeps the last accepted index in a file named after the address. */
async function judgeList({ files, now }: World, { address, suite }: Subscription) {
  const name = `${address}/dists/${suite}/InRelease`.replace(/^\w+:\/\//, '').replace(/[_~]/g, encode);
  const index = await files.readText(`${LISTS}/${name.replaceAll('/', '_')}`);
  const until = Date.parse(/^Valid-Until: (.*)$/m.exec(index ?? '')?.[1] ?? '');
  if (Number.isNaN(until)) return ok();
  const time = new Date(until).toISOString();
  if (until > now()) return ok(message('the list of packages holds until %s', { time }));
  return problem(
    [message('the list of packages from %s expired at %s', address, { time })],
    [
      message('No update can come until apt gets a newer list. Try: %s', 'sudo apt update'),
      message('If apt says that the repository has expired, its maintainer has to sign it again.'),
    ],
  );
}

const encode = (character: string) => `%${character.charCodeAt(0).toString(16)}`;

const SIGNATURE = 2;
const PRIMARY_KEY = 6;
/** Kinds of signatures that announce the lifetime of a key. */
const OWN = new Set([0x10, 0x11, 0x12, 0x13, 0x1f]);
const REVOCATION = 0x20;
/** Kinds of subpackets: the time of a signature, and the lifetime of the key in seconds. */
const MADE = 2;
const LIFETIME = 9;

/**
 * Returns the expiry of each primary key (RFC 9580, with the same packets as RFC 4880), in milliseconds since 1970: Infinity
 * without an expiry, 0 for a revoked key.
 * @param keyring packets, or armored text that contains them
 * @throws RangeError for anything else
 */
function expiries(keyring: Buffer): number[] {
  const keys: { created: number; expires: number; saidAt: number }[] = [];
  for (const { tag, body } of packets(unarmored(keyring))) {
    const key = keys.at(-1);
    if (tag === PRIMARY_KEY) keys.push({ created: body.readUInt32BE(1), expires: Infinity, saidAt: 0 });
    if (tag !== SIGNATURE || !key || body.readUInt8(0) !== 4) continue;
    const kind = body.readUInt8(1);
    const facts = subpackets(body.subarray(6, 6 + body.readUInt16BE(4)));
    const saidAt = kind === REVOCATION ? Infinity : (facts.get(MADE) ?? 0);
    if ((kind !== REVOCATION && !OWN.has(kind)) || saidAt < key.saidAt) continue;
    const lifetime = facts.get(LIFETIME);
    const expires = lifetime ? key.created + lifetime : Infinity;
    Object.assign(key, { saidAt, expires: kind === REVOCATION ? 0 : expires });
  }
  if (keys.length === 0) throw new RangeError('There is no key.');
  return keys.map(({ expires }) => expires * 1000);
}

/** Decodes blocks of armored text (section 6), with an empty line after the headers and a checksum at the end. */
function unarmored(keyring: Buffer): Buffer {
  const blocks = [...keyring.toString('latin1').matchAll(/^-----BEGIN PGP [\s\S]*?\n\r?\n([\s\S]*?)\r?\n[=-]/gm)];
  return blocks.length === 0 ? keyring : Buffer.concat(blocks.map(([, body]) => Buffer.from(body!, 'base64')));
}

function* packets(bytes: Buffer): Generator<{ tag: number; body: Buffer }> {
  for (let at = 0; at < bytes.length; ) {
    const header = bytes.readUInt8(at);
    if (!(header & 0x80)) throw new RangeError('There is no packet.');
    // the older form stores the size of the length field in two bits
    const isOld = !(header & 0x40);
    const size = 1 << (header & 3);
    const [length, start] = isOld ? [bytes.readUIntBE(at + 1, size), at + 1 + size] : lengthAt(bytes, at + 1);
    yield { tag: isOld ? (header >> 2) & 15 : header & 63, body: bytes.subarray(start, start + length) };
    at = start + length;
  }
}

/** Returns the numbers in subpackets of four bytes, by kind. */
function subpackets(bytes: Buffer): Map<number, number> {
  const numbers = new Map<number, number>();
  for (let at = 0; at < bytes.length; ) {
    const [length, start] = lengthAt(bytes, at);
    if (length === 5) numbers.set(bytes.readUInt8(start) & 0x7f, bytes.readUInt32BE(start + 1));
    at = start + length;
  }
  return numbers;
}

/** Returns a length and the offset of the bytes after it. */
function lengthAt(bytes: Buffer, at: number): [length: number, start: number] {
  const first = bytes.readUInt8(at);
  if (first < 192) return [first, at + 1];
  if (first === 255) return [bytes.readUInt32BE(at + 1), at + 5];
  return [((first - 192) << 8) + bytes.readUInt8(at + 1) + 192, at + 2];
}
