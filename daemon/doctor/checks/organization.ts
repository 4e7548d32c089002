// Checks an organization's certificate and its management file, which the client reads from only one place and in only one
// form.
import type { TrustTool } from '../../api/trust.ts';
import type { Message } from '../../api/values.ts';
import { paths } from '../../system/paths.ts';
import { createTrust } from '../../trust/trust.ts';
import { causeMessages, isMember } from '../../view/states/registration.ts';
import { N_ } from '../../view/translator.ts';
import {
  type Dictionary,
  faultsOf,
  isListed,
  judgePolicy,
  POLICY_FILE as MDM,
  nameOf,
  tracesOfWindows,
} from '../../warp/parse/policy-file.ts';
import { type Check, type Finding, message, NoVerdict, notApplicable, notice, ok, problem, quoted } from '../check.ts';
import { policyFileOf, vendorPage } from '../world/facts.ts';

export const mdmFile: Check = {
  id: 'mdm-file',
  title: N_('Management file of the organization'),
  group: 'service',
  source: vendorPage('deployment/mdm-deployment/parameters/'),
  cheap: true,
  async probe(world) {
    const file = policyFileOf(world);
    if (!file) return notApplicable(message('There is no %s.', MDM));
    const { faults, configurations } = judgePolicy(file, world.owner, world.tunnel?.tunnelCli.version ?? null);
    const [fault] = faults;
    if (fault?.code === 'policy-hidden') throw new NoVerdict(fault.seen);
    if (fault)
      return problem(
        [fault.seen, ...tracesOfWindows(file)],
        causeMessages({ ...NO_FACTS, code: fault.code! }).sentence,
      );
    // each configuration of a list is one organization to choose
    const names = configurations.map(nameOf);
    const wrong = configurations.flatMap((configuration, i) => {
      const found = faultsOf(configuration).map(({ seen }) => seen);
      const place = message('In configuration %d, %s:', i + 1, names[i]!);
      return found.length > 0 && configurations.length > 1 ? [place, ...found] : found;
    });
    const isCertain = wrong.length > 0;
    if (configurations.some(isListed) && world.tunnel && isMember(world.tunnel) !== true)
      wrong.push(message('%s is a list that the client ignores in XML, at least in versions of 2024', 'configs'));
    if (wrong.length > 0)
      return problem(
        [...wrong, ...tracesOfWindows(file)],
        isCertain
          ? message('Correct %s; the client does not use it as intended.', MDM)
          : causeMessages({ ...NO_FACTS, code: 'policy-configs' }).sentence,
      );
    const [only] = configurations;
    return ok(
      configurations.length === 1 ? message('%d settings', only!.values.size) : quoted(names.join(', ')),
      ...endpoints(configurations),
      ...tracesOfWindows(file),
    );
  },
};

/** Facts of a file that say nothing about this device. */
const NO_FACTS = { managed: true, organization: null, host: null };

/** Names the servers that a configuration uses in place of the usual ones, such as those of a partner in China. */
function endpoints(configurations: readonly Dictionary[]): Message[] {
  return configurations.flatMap(configuration =>
    [...configuration.values]
      .filter(([key]) => /^override_(?:api|doh|warp)_endpoint$/.test(key))
      .map(([key, value]) => message('%s sets %s to %s', nameOf(configuration), key, value)),
  );
}

export const organizationCertificate: Check = {
  id: 'organization-certificate',
  title: N_('Certificate of the organization'),
  group: 'service',
  source: 'https://developers.cloudflare.com/cloudflare-one/team-and-resources/devices/user-side-certificates/',
  // time for each tool to start and connect to this machine
  limitMs: 50_000,
  async probe({ env, tunnel, files, owner }, signal) {
    const place = { root: files.locate(''), owner };
    const trust = createTrust({ env, paths: paths(env), signal, isMember: tunnel && isMember(tunnel), place });
    const { certificates, refused, removalDue, applied } = trust.summary();
    if (certificates.length + refused.length + applied.length === 0)
      return notApplicable(message('WARP has installed no certificate of an organization.'));
    if (removalDue)
      return problem(
        [message('No certificate is valid, but tools were changed for one: %s', applied.join(', '))],
        message('The certificate has expired, or the organization withdrew it. Undo the changes with: %s', UNDO),
      );
    if (refused.length > 0)
      return problem(
        refused.map(({ wording }) => wording),
        message('Let root alone change these files. See: %s', 'culvert trust'),
      );
    const isValid = certificates.some(({ state }) => state === 'valid');
    return findingOf((await trust.report()).tools, isValid);
  },
};

const UNDO = 'culvert trust undo';

function findingOf(tools: readonly TrustTool[], isValid: boolean): Finding {
  const having = (wanted: TrustTool['verdict']) => tools.filter(({ verdict }) => verdict === wanted);
  const [excess, missing, trusting] = [having('trusts-too-much'), having('does-not-trust'), having('trusts')];
  const evidence: Message[] = [
    ...excess.flatMap(tool => [message('%s trusts too much', titleOf(tool)), ...tool.wording]),
    ...missing.map(tool => message('%s does not trust the certificate', titleOf(tool))),
  ];
  const apply = missing.some(({ changes }) => changes.length > 0)
    ? [message('Make tools trust it with: %s', 'culvert trust apply')]
    : [];
  const details = message('The reason for each tool is in: %s', 'culvert trust');
  if (excess.length > 0) return problem(evidence, [message('Correct the settings of these tools.'), ...apply, details]);
  if (missing.length > 0)
    return notice(evidence, [message('These tools fail on sites that the organization inspects.'), ...apply, details]);
  if (!isValid) return ok(message('No certificate of the organization is valid, and no tool trusts one.'));
  return ok(message('Tools that trust it: %d', trusting.length));
}

/** Returns the title, which is not translated for a program. */
const titleOf = ({ title, program }: TrustTool) => (program === null ? { word: title } : title);
