// Checks an organization's certificate and its management file, which the client reads from only one place and in only one
// form.
import type { TrustTool } from '../../api/trust.ts';
import type { Message } from '../../api/values.ts';
import { paths } from '../../system/paths.ts';
import { isMember } from '../../trust/organization.ts';
import { createTrust } from '../../trust/trust.ts';
import { N_ } from '../../view/translator.ts';
import { type Dictionary, isIgnored, POLICY_FILE as MDM, parsePlist } from '../../warp/parse/policy-file.ts';
import { type Check, type Finding, message, notApplicable, notice, ok, problem, quoted } from '../check.ts';
import { vendorPage } from '../world/facts.ts';

export const mdmFile: Check = {
  id: 'mdm-file',
  title: N_('Management file of the organization'),
  group: 'service',
  source: vendorPage('deployment/mdm-deployment/parameters/'),
  cheap: true,
  async probe({ files }) {
    const info = await files.stat(MDM);
    if (!info) return notApplicable(message('There is no %s.', MDM));
    const link = await files.readLink(MDM);
    if (link !== null)
      return problem(
        [message('%s is a symbolic link to %s', MDM, link)],
        message('The client ignores a link. Put the file itself there.'),
      );
    if (info.size === 0)
      return problem(
        [message('%s is empty', MDM)],
        message('Versions before 2026.3.846.0 take an empty file for a configuration. Remove it.'),
      );
    const text = (await files.readText(MDM)) ?? '';
    // text in UTF-8 has no zero bytes
    if (text.includes('\0'))
      return problem([message('%s is in UTF-16', MDM)], message('Save it as UTF-8, as in the examples of Cloudflare.'));
    const { error, dictionaries } = parsePlist(text);
    const unusable = error === null ? message('%s has no <dict> with settings', MDM) : quoted(`${MDM}: ${error}`);
    if (dictionaries.length === 0)
      return problem([unusable], message('The client ignores the whole file until it is well-formed.'));
    // each configuration of a list is one organization to choose
    const names = dictionaries.map(({ values }) => values.get('display_name') ?? values.get('organization') ?? '–');
    const wrong = dictionaries.flatMap((dictionary, i) => {
      const found = problemsOf(dictionary);
      const place = message('In configuration %d, %s:', i + 1, names[i]!);
      return found.length > 0 && dictionaries.length > 1 ? [place, ...found] : found;
    });
    if (wrong.length > 0) return problem(wrong, message('Correct %s; the client does not use it as intended.', MDM));
    const [only] = dictionaries;
    return ok(dictionaries.length === 1 ? message('%d settings', only!.values.size) : quoted(names.join(', ')));
  },
};

/** Returns the problems of a configuration, such as half of a pair or an unknown value. */
function problemsOf(dictionary: Dictionary): Message[] {
  const { values, repeated, strange } = dictionary;
  const has = (name: string) => values.has(name);
  const wrong: Message[] = [];
  if (isIgnored(dictionary)) wrong.push(message('%s is a list that the client ignores in XML', 'configs'));
  for (const name of repeated) wrong.push(message('%s appears twice', name));
  for (const [name, element] of strange)
    wrong.push(message('%s has the value <%s/>, which does not exist', name, element));
  for (const [name, value] of values)
    if (/\$\{\w+\}|\$[A-Z_]{2,}|%\w+%|\{\{.*\}\}/.test(value))
      wrong.push(message('%s has a placeholder that was not replaced', name));
  if (has('auth_client_id') !== has('auth_client_secret'))
    wrong.push(
      message(
        '%s is missing: a service token is a pair',
        has('auth_client_id') ? 'auth_client_secret' : 'auth_client_id',
      ),
    );
  if (has('auth_client_id') && !/\.access$/.test(values.get('auth_client_id') ?? ''))
    wrong.push(message('%s does not end in %s', 'auth_client_id', '.access'));
  if (has('auth_client_id') && !has('organization'))
    wrong.push(message('a service token needs %s as well', 'organization'));
  const organization = values.get('organization');
  if (organization !== undefined && !/^[A-Za-z0-9-]+$/.test(organization))
    wrong.push(message('%s is not the bare name of a team', 'organization'));
  const mode = values.get('service_mode');
  if (mode !== undefined && !['warp', '1dot1', 'proxy', 'postureonly', 'tunnelonly'].includes(mode))
    wrong.push(message('%s has a value that is not documented', 'service_mode'));
  if (mode === 'proxy' && !has('proxy_port'))
    wrong.push(message('%s is missing: %s needs it', 'proxy_port', 'service_mode proxy'));
  return wrong;
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
