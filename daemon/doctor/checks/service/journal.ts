// Looks in the journal of the WARP service for the reason why there is no tunnel: the tunnel client itself often gives none.
import { N_ } from '../../../view/translator.ts';
import { type Check, message, notApplicable, notice, ok, problem } from '../../check.ts';
import { tunnelOf } from '../../world/facts.ts';
import { causeInJournal, readServiceJournal } from '../../world/journal.ts';
import type { World } from '../../world/world.ts';

/** The journal is read once for all checks of a run. */
export const journalOf = (world: World): Promise<string[]> =>
  world.once('service-journal', () => readServiceJournal(world.tools));

const IGNORED = N_('WARP accepts each request to connect, but does not connect.');
const NO_JOURNAL = N_('Its journal could not be read, or has no line. As root, see: journalctl -u warp-svc');
const NO_CAUSE = N_('Its journal has no error that Culvert knows. As root, see: journalctl -u warp-svc');

export const serviceJournal: Check = {
  id: 'service-journal',
  title: N_('Journal of the WARP service'),
  group: 'service',
  source: 'https://github.com/NixOS/nixpkgs/issues/560833',
  cheap: true,
  limitMs: 10_000,
  async probe(world) {
    const { status, tunnelCli } = tunnelOf(world);
    if (!tunnelCli.available) return notApplicable(message('The tunnel CLI is not installed.'));
    if (status.state === 'connected') return notApplicable(message('The tunnel is connected.'));
    const isIgnored = status.reason?.code === 'ConnectIgnored';
    const lines = await journalOf(world).catch((error: unknown) => {
      if (!isIgnored) throw error;
      return [];
    });
    if (isIgnored && lines.length === 0) return problem([message(IGNORED)], message(NO_JOURNAL));
    // journalctl prints nothing as well where there is no journal, or another program started the service
    if (lines.length === 0) return notApplicable(message('It has no line of the service of the last ten minutes.'));
    const cause = causeInJournal(lines);
    if (!cause && isIgnored) return problem([message(IGNORED)], message(NO_CAUSE));
    if (!cause) return ok(message('no error that Culvert knows, in the last ten minutes'));
    // a tunnel that was turned off may have had the error before
    const isWanted = status.state !== 'disconnected' || isIgnored;
    return (isWanted ? problem : notice)([message('journal: %s', cause.line.slice(0, 240))], cause.meaning);
  },
};
