// Checks the package repository of Culvert: the keys that sign it, and until when what apt knows of it holds.
import { N_ } from '../../../view/translator.ts';
import { type Check, message, notApplicable, notice, ok, problem, Unknown } from '../../check.ts';
import { adminCommands } from '../../world/facts.ts';
import { expiries } from '../../world/openpgp.ts';
import type { World } from '../../world/world.ts';

const SOURCE = '/etc/apt/sources.list.d/culvert.sources';
const LISTS = '/var/lib/apt/lists';
/** A new key is fetched well before. */
const EXPIRES_SOON_MS = 30 * 24 * 3_600_000;

export const culvertPackages: Check = {
  id: 'culvert-packages',
  title: N_('Package repository of Culvert'),
  group: 'culvert',
  source: null,
  appliesTo: { systems: 'Debian and its derivatives' },
  async probe(world) {
    const text = await world.files.readText(SOURCE);
    if (text === null) return notApplicable(message('There is no %s.', SOURCE));
    const field = (name: string) => new RegExp(`^${name}:[ \\t]*(\\S+)`, 'm').exec(text)?.[1];
    const [address, suite, keyring] = [field('URIs')?.replace(/\/+$/, ''), field('Suites'), field('Signed-By')];
    if (!address || !suite || !keyring?.startsWith('/'))
      throw new Unknown(message('%s names no address, suite or file of keys.', SOURCE));
    const keys = await judgeKeys(world, address, keyring);
    if (keys.verdict === 'problem') return keys;
    const list = await judgeList(world, address, suite);
    return list.verdict === 'ok' ? { ...keys, evidence: [...keys.evidence, ...list.evidence] } : list;
  },
};

async function judgeKeys({ files, now }: World, address: string, keyring: string) {
  const bytes = await files.readBytes(keyring);
  const fetch = adminCommands(message('Fetch the new key'), [
    ['curl', '-fsSL', '--proto', '=https', '-o', keyring, `${address}/culvert-archive-keyring.pgp`],
  ]);
  const refused = message('apt refuses updates of Culvert until you fetch the new key.');
  if (!bytes) return problem([message('%s is missing', keyring)], refused, fetch);
  const until = lastExpiry(bytes, keyring);
  if (until === Infinity) return ok();
  const time = new Date(until).toISOString();
  if (until <= now()) return problem([message('the keys in %s expired at %s', keyring, { time })], refused, fetch);
  const evidence = [message('the keys in %s expire at %s', keyring, { time })];
  if (until - now() > EXPIRES_SOON_MS) return ok(...evidence);
  return notice(evidence, message('Fetch the new key before that: apt then refuses updates of Culvert.'), fetch);
}

/** One key that is valid is enough for apt. */
function lastExpiry(keyring: Buffer, path: string): number {
  try {
    return Math.max(...expiries(keyring));
  } catch (error) {
    throw new Unknown(message('%s holds no key that can be read.', path), error);
  }
}

/** The signed index says until when it holds; apt keeps the last one that it accepted, under the address as a name. */
async function judgeList({ files, now }: World, address: string, suite: string) {
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
