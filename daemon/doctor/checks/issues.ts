// Checks the installed version against the vendor's own list of bugs, and checks the knowledge files.
import type { CommandName, Snapshot } from '../../api/schema.ts';
import { isMember } from '../../view/states/registration.ts';
import { N_ } from '../../view/translator.ts';
import { unknownIn } from '../../warp/parse/unknown.ts';
import { type Check, inEnglish, message, NoVerdict, notApplicable, notice, ok, problem, quoted } from '../check.ts';
import { affects, type Condition, type Issue } from '../knowledge.ts';
import { connectivity, fallbackDomains, protocolOf, releaseNotes, tunnelOf } from '../world/facts.ts';
import { links, routes, uplink } from '../world/ip.ts';
import type { World } from '../world/world.ts';
import { restartsOf } from './registration.ts';

export const knownIssues: Check = {
  id: 'known-issues',
  title: N_('Known bugs of the installed version'),
  group: 'service',
  source: releaseNotes,
  async probe(world) {
    const { tunnelCli } = tunnelOf(world);
    if (!tunnelCli.available) return notApplicable(message('The tunnel CLI is not installed.'));
    if (tunnelCli.version === null) throw new NoVerdict(message('The version of the tunnel CLI is not known.'));
    const { issues } = world.knowledge;
    const version = tunnelCli.version;
    const hits: { issue: Issue; certain: boolean }[] = [];
    for (const issue of issues) {
      const affected = affects(issue, version);
      if (affected === 'no' || issue.checked_by) continue;
      if (issue.when ? await holds(issue.when, world) : issue.severity !== 'low')
        hits.push({ issue, certain: affected === 'yes' });
    }
    const serious = hits.filter(({ issue }) => issue.severity !== 'low');
    if (serious.length === 0) return ok(message('version %s: no known bug that matches your settings', version));
    const rank = { high: 0, medium: 1, low: 2 };
    serious.sort((a, b) => rank[a.issue.severity] - rank[b.issue.severity]);
    // the files contain the titles and advice in English, and users extend them
    const quotes = (sure: boolean) =>
      serious
        .filter(({ certain }) => certain === sure)
        .map(({ issue: { title, advice } }) => inEnglish(`${title}. ${advice}`));
    const possible = quotes(false);
    const evidence = [
      ...quotes(true),
      ...(possible.length ? [message('This version may be affected by:'), ...possible] : []),
    ];
    const newest = newestFix(serious.map(({ issue }) => issue));
    const high = serious.some(({ issue }) => issue.severity === 'high' && issue.when);
    return (high ? problem : notice)(evidence, [
      ...(serious.length === 1
        ? [message('One known bug may affect you.'), ...(newest ? [message('Version %s fixes it.', newest)] : [])]
        : [
            message('%d known bugs may affect you.', serious.length),
            ...(newest ? [message('Version %s fixes them.', newest)] : []),
          ]),
    ]);
  },
};

function newestFix(issues: readonly Issue[]): string | null {
  const versions = issues.flatMap(({ fixed }) => (fixed ? [fixed] : []));
  return versions.length < issues.length
    ? null
    : (versions.sort((a, b) => a.localeCompare(b, 'en', { numeric: true })).at(-1) ?? null);
}

/** Returns true if a condition holds. A part that can't be determined does not hold. */
async function holds(when: Condition, world: World): Promise<boolean> {
  const snapshot = tunnelOf(world);
  if (!matchesSettings(when, snapshot) || !matchesStatus(when, snapshot)) return false;
  if (when.distribution && !(await distributionOf(world)).some(id => when.distribution?.includes(id))) return false;
  if (when.restarts && !((await restartsOf(world)) ?? 0)) return false;
  if (when.portal && (await connectivity(world).catch(() => null)) !== 'portal') return false;
  if (when.uplink_mtu_below) {
    const link = await uplink(world).catch(() => undefined);
    if (!link || link.mtu >= when.uplink_mtu_below) return false;
  }
  return !when.ipv6_only || (await isIpv6Only(world));
}

function matchesSettings(when: Condition, snapshot: Snapshot): boolean {
  const { settings, splitTunnel } = snapshot;
  const fallback = fallbackDomains(snapshot);
  return (
    (!when.mode || when.mode.includes(settings.Mode ?? '')) &&
    (!when.protocol || protocolOf(snapshot) === when.protocol) &&
    (!when.split || splitTunnel.mode === when.split) &&
    (when.zero_trust === undefined || isMember(snapshot) === when.zero_trust) &&
    (!when.fallback ||
      fallback.some(entry => when.fallback === 'any' || entry.includes('->') === (when.fallback === 'with-server'))) &&
    Object.entries(when.setting ?? {}).every(([key, value]) =>
      typeof value === 'string' ? String(settings[key] ?? '').startsWith(value) : settings[key] === value,
    )
  );
}

function matchesStatus({ state, reason }: Condition, { status }: Snapshot): boolean {
  return (!state || state.includes(status.state)) && (!reason || reason.includes(status.reason?.code ?? ''));
}

async function distributionOf({ files }: World): Promise<string[]> {
  const text = (await files.readText('/etc/os-release').catch(() => null)) ?? '';
  return [...text.matchAll(/^ID(?:_LIKE)?="?([^"\n]*)"?$/gm)].flatMap(([, ids = '']) => ids.split(' '));
}

async function isIpv6Only(world: World): Promise<boolean> {
  const all = await Promise.all([links(world), routes(world)]).catch(() => null);
  return all !== null && !all[1].some(({ dst, gateway }) => dst === 'default' && gateway && !gateway.includes(':'));
}

export const unknownValues: Check = {
  id: 'unknown-values',
  title: N_('Values that Culvert does not know'),
  group: 'service',
  source: releaseNotes,
  async probe(world) {
    const { tunnelCli, commands } = tunnelOf(world);
    if (!tunnelCli.available) return notApplicable(message('The tunnel CLI is not installed.'));
    const version = tunnelCli.version ?? '?';
    const found = Object.entries(commands).flatMap(([command, output]) =>
      output?.ok ? unknownIn(command as CommandName, output.stdout).map(each => ({ ...each, argv: output.argv })) : [],
    );
    if (found.length === 0) return ok(message('version %s: Culvert knows every value that it reports', version));
    return notice(
      found.map(({ argv, name, value }) => quoted(`${argv.join(' ')}: ${name}: ${value}`)),
      [
        message('Version %s of WARP reports values that this version of Culvert does not know.', version),
        message('Culvert shows them as they are. Record a report with: %s', 'culvert diagnose record'),
      ],
    );
  },
};

export const knowledgeFiles: Check = {
  id: 'knowledge-files',
  title: N_('What Culvert knows about WARP'),
  group: 'culvert',
  source: null,
  async probe({ knowledge }) {
    const { issues, codes, limits, patterns, problems } = knowledge;
    const count = message(
      'knows %d bugs, %d codes, %d limits, %d lines of the journal',
      issues.length,
      codes.length,
      limits.length,
      patterns.length,
    );
    if (problems.length > 0)
      return notice(
        [count, ...problems.map(inEnglish)],
        message('These entries are not used until they are corrected.'),
      );
    if (issues.length === 0 && codes.length === 0 && patterns.length === 0)
      return notice([count], message('The files of the installation are missing. Install Culvert again.'));
    return ok(count);
  },
};
