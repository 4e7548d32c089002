// Checks whether the tools of this machine trust the certificate with which an organization inspects TLS.
import type { TrustTool } from '../../../api/trust.ts';
import type { Message } from '../../../api/values.ts';
import { paths } from '../../../system/paths.ts';
import { isMember } from '../../../trust/organization.ts';
import { createTrust } from '../../../trust/trust.ts';
import { N_ } from '../../../view/translator.ts';
import { type Check, type Finding, message, notApplicable, notice, ok, problem } from '../../check.ts';

export const organizationCertificate: Check = {
  id: 'organization-certificate',
  title: N_('Certificate of the organization'),
  group: 'service',
  source: 'https://developers.cloudflare.com/cloudflare-one/team-and-resources/devices/user-side-certificates/',
  // each tool starts, and connects to this machine
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

/** Names of programs are the same in every language. */
const titleOf = ({ title, program }: TrustTool) => (program === null ? { word: title } : title);
