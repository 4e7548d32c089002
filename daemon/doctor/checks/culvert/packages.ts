// Checks the package repository of Culvert: the keys that sign it, and until when the list that apt has of it holds.
import { N_ } from '../../../view/translator.ts';
import { type Check, message, notApplicable, notice, ok, problem, Unknown } from '../../check.ts';
import { adminCommands } from '../../world/facts.ts';
import { expiries } from '../../world/openpgp.ts';
import type { World } from '../../world/world.ts';

const APT_SOURCE = '/etc/apt/sources.list.d/culvert.sources';
const DNF_SOURCE = '/etc/yum.repos.d/culvert.repo';
const LISTS = '/var/lib/apt/lists';
/** A new key is fetched well before. */
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
  /** Path of the file of keys: of packets for apt, of text for dnf. */
  keyring: string;
}

/** The repository as apt or dnf knows it; null if neither does. */
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
  throw new Unknown(message('%s names no address, suite or file of keys.', source));
}

/** The address of dnf ends in the suite. */
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

/** One key that is valid is enough. */
function lastExpiry(keyring: Buffer, path: string): number {
  try {
    return Math.max(...expiries(keyring));
  } catch (error) {
    throw new Unknown(message('%s holds no key that can be read.', path), error);
  }
}

/** The signed index says until when it holds; apt keeps the last one that it accepted, under the address as a name. */
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
