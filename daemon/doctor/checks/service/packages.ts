// Checks the vendor's package repository: the key that signs it, and the release that it is asked for.
import type { Message } from '../../../api/values.ts';
import { quote } from '../../../view/fix.ts';
import { N_ } from '../../../view/translator.ts';
import { SERVED_DEBIAN } from '../../../warp/cli/install-steps.ts';
import { type Check, type Finding, message, notApplicable, notice, ok, problem, quoted } from '../../check.ts';
import { adminCommands } from '../../world/facts.ts';
import { expiries } from '../../world/openpgp.ts';
import type { World } from '../../world/world.ts';

const HOST = 'pkg.cloudflareclient.com';
const DIRECTORY = '/etc/apt/sources.list.d';
/** The key was replaced; copies from before stopped working on 2025-12-04 (release notes of 2025.9.558). */
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

/** Why a keyring is of no use anymore, or null. */
async function keyProblem(world: World, path: string): Promise<Message | null> {
  const info = await world.files.stat(path);
  if (!info) return message('%s is missing', path);
  const keyring = await world.files.readBytes(path);
  try {
    const isValid = expiries(keyring ?? Buffer.alloc(0)).some(until => until > world.now());
    return isValid ? null : message('every key in it has expired');
  } catch {
    // keys in the form of text: only their age is known
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

/** `deb [signed-by=KEY] https://pkg.cloudflareclient.com/ bookworm main`: sources.list(5). */
function fromList(file: string, text: string): Repository[] {
  return text.split('\n').flatMap(line => {
    const [, options = '', suite] =
      /^\s*deb(?:\s+\[([^\]]*)\])?\s+https?:\/\/pkg\.cloudflareclient\.com\/?\S*\s+(\S+)/.exec(line) ?? [];
    if (!suite) return [];
    const keys = /signed-by=(\S+)/i.exec(options)?.[1]?.split(',') ?? [];
    return [{ file, keys, suites: [suite] }];
  });
}

/** The same as paragraphs of fields (deb822). */
function fromSources(file: string, text: string): Repository[] {
  return text.split(/\n[ \t]*\n/).flatMap(paragraph => {
    const field = (name: string) => new RegExp(`^${name}:[ \\t]*(.*)$`, 'im').exec(paragraph)?.[1]?.trim() ?? '';
    if (!field('URIs').includes(HOST) || /^no$/i.test(field('Enabled'))) return [];
    const words = (name: string) => field(name).split(/\s+/).filter(Boolean);
    return [{ file, keys: words('Signed-By'), suites: words('Suites') }];
  });
}
