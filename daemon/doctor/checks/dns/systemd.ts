// Checks the version of systemd, because some of them and the tunnel client do not understand each other.
import { N_ } from '../../../view/translator.ts';
import { type Check, labeled, message, notApplicable, notice, ok, problem, quoted, Unknown } from '../../check.ts';
import { handlesDns, isConnected, modeOf, modeWord } from '../../world/facts.ts';
import { LOCAL_PROXY } from '../../world/resolv-conf.ts';
import type { World } from '../../world/world.ts';
import { journalOf } from '../service/journal.ts';
import { describeResolved, resolvedServers } from './dns.ts';

/** The client did not understand the version, and writes /etc/resolv.conf instead. */
const FILE_BASED = /file[- ]based dns|falling back to (?:the )?(?:resolv\.conf|file)/i;
const ISSUE = 'https://github.com/Bad3r/nixos/issues/504';

export const systemdVersion: Check = {
  id: 'systemd-version',
  title: N_('Version of systemd and systemd-resolved'),
  group: 'dns',
  source: ISSUE,
  appliesTo: { systems: 'systemd-resolved' },
  async probe(world) {
    const servers = await resolvedServers(world);
    if (servers === null) return notApplicable(message('systemd-resolved does not run.'));
    const { major, minor, text } = await versionOf(world);
    if (major >= 261) return checkNewest(world, servers, text);
    if (major < 252 || (major === 252 && minor < 3))
      return notice(
        [quoted(`systemd ${text}`)],
        message(
          'Before version 252.3 the client sets DNS for the whole system instead of one link. Names of other links, such as those of a company, may fail. Update systemd.',
        ),
      );
    return ok(quoted(`systemd ${text}`));
  },
};

async function checkNewest(world: World, servers: readonly string[], text: string) {
  const used = servers.some(server => LOCAL_PROXY.has(server));
  if (used) return ok(quoted(`systemd ${text}`), message('systemd-resolved uses the DNS server of WARP'));
  if (!isConnected(world) || !handlesDns(modeOf(world)))
    return notice(
      [quoted(`systemd ${text}`)],
      message('WARP may not recognize systemd 261 and later. Connect, then run this check again.'),
    );
  const journal = await journalLine(world);
  const seen =
    journal === null
      ? message('the journal of warp-svc has no line about it, or you may not read it')
      : message('journal: %s', journal);
  return problem(
    [quoted(`systemd ${text}`), describeResolved(servers), seen],
    message(
      'WARP does not recognize systemd 261 and later, and writes /etc/resolv.conf instead of asking systemd-resolved. Update WARP; until then use the mode “%s”, or make /etc/resolv.conf a regular file.',
      modeWord('tunnel_only'),
    ),
    {
      kind: 'action',
      ...labeled(message('Leave DNS to the system')),
      actions: [{ action: 'setMode', value: 'tunnel_only' }],
      undo: [{ action: 'setMode', value: modeOf(world) }],
    },
  );
}

/** `systemd 252 (252.39-1~deb12u2)`. */
async function versionOf(world: World): Promise<{ major: number; minor: number; text: string }> {
  const { stdout } = await world.tools.run('systemctl', ['--version']);
  const [, major, text = ''] = /^systemd (\d{1,4})(?: \(([^)\n]{1,60})\))?/.exec(stdout) ?? [];
  if (!major) throw new Unknown(message('The output of %s was not understood.', 'systemctl --version'));
  const minor = /^v?\d+\.(\d+)/.exec(text)?.[1] ?? '0';
  return { major: Number(major), minor: Number(minor), text: text || major };
}

async function journalLine(world: World): Promise<string | null> {
  const lines = await journalOf(world).catch(() => []);
  return lines.findLast(line => FILE_BASED.test(line)) ?? null;
}
