// Proofs of the check of an organization's file.
import { mdmFile } from '../../../../daemon/doctor/checks/organization.ts';
import { proofs } from './cases.ts';

const MDM = '/var/lib/cloudflare-warp/mdm.xml';
const plist = (entries: string) => ({ [MDM]: `<dict>\n${entries}\n</dict>\n` });
const configurations = (...entries: string[]) =>
  `<array>${entries.map(each => `<dict>${each}</dict>`).join('')}</array>`;
const text = (name: string, value: string) => `<key>${name}</key><string>${value}</string>`;

export const ORGANIZATION_CASES = proofs(mdmFile, 'files', [
  {
    title: 'a symbolic link',
    verdict: 'problem',
    shows: /symbolic link to \/etc\/mdm\.xml/,
    files: { [MDM]: { link: '/etc/mdm.xml' } },
  },
  { title: 'an empty file', verdict: 'problem', files: { [MDM]: '' } },
  {
    title: 'a file with an open element',
    verdict: 'problem',
    shows: /mdm\.xml: \d+:\d+: /,
    files: { [MDM]: '<dict><key>organization</key><string>a</dict>' },
  },
  {
    title: 'half a service token',
    verdict: 'problem',
    shows: /auth_client_secret is missing/,
    files: plist(text('organization', 'example') + text('auth_client_id', 'abc.access')),
  },
  {
    title: 'a list of configurations, of which one has half a service token',
    verdict: 'problem',
    shows: /^(?!.*configs).*In configuration 1, a:.*auth_client_secret is missing/s,
    files: {
      [MDM]: configurations(
        text('organization', 'a') + text('auth_client_id', 'abc.access'),
        text('organization', 'b') + text('auth_client_secret', 's'),
      ),
    },
  },
  {
    title: 'a key that appears twice',
    verdict: 'problem',
    shows: /organization appears twice/,
    files: plist(text('organization', 'a') + text('organization', 'b')),
  },
  {
    title: 'a value that is misspelled',
    verdict: 'problem',
    shows: /onboarding has the value <flase\/>/,
    files: plist(`${text('organization', 'a')}<key>onboarding</key><flase/>`),
  },
  {
    title: 'a placeholder between percent signs',
    verdict: 'problem',
    shows: /organization has a placeholder/,
    files: plist(text('organization', '%ORG%')),
  },
  {
    title: 'a file in UTF-16',
    verdict: 'problem',
    shows: /is in UTF-16/,
    files: { [MDM]: Buffer.from('\ufeff<dict></dict>', 'utf16le').toString('latin1') },
  },
  {
    title: 'a file from an editor of Windows',
    verdict: 'ok',
    shows: /1 settings.*byte order mark.*line ends of Windows/s,
    files: { [MDM]: `\ufeff<dict>\r\n${text('organization', 'a')}\r\n</dict>\r\n` },
  },
  {
    title: 'a list of configurations by their names',
    verdict: 'ok',
    shows: /Production environment, Cloudflare China network, test-org/,
    files: {
      [MDM]: configurations(
        text('organization', 'a') + text('display_name', 'Production environment'),
        text('organization', 'a') + text('display_name', 'Cloudflare China network'),
        text('organization', 'test-org'),
      ),
    },
  },
  {
    title: 'a list under a key that XML does not have, which WARP did not use',
    verdict: 'problem',
    shows:
      /configs is a list that the client ignores.*\n.*which versions of 2024 ignore in XML\. Write them as a list without that key\./,
    files: plist(`<key>configs</key>${configurations(text('organization', 'a'), text('organization', 'b'))}`),
  },
  {
    title: 'such a list, and a fault in every version',
    verdict: 'problem',
    shows: /configs is a list that the client ignores.*\nCorrect \S+; the client does not use it as intended\./,
    files: plist(`<key>configs</key>${configurations(text('organization', 'a'), text('organization', '$B'))}`),
  },
  {
    title: 'the same list on a device of one of its organizations',
    verdict: 'ok',
    shows: /a, b/,
    files: plist(`<key>configs</key>${configurations(text('organization', 'a'), text('organization', 'b'))}`),
    tunnel: { account: { registered: true, type: 'Team', organization: 'a', managed: true } },
  },
  {
    title: 'other servers for one of the configurations',
    verdict: 'ok',
    shows: /China sets override_warp_endpoint to 203\.0\.113\.0:2408/,
    files: {
      [MDM]: configurations(
        text('organization', 'a'),
        text('organization', 'a') + text('display_name', 'China') + text('override_warp_endpoint', '203.0.113.0:2408'),
      ),
    },
  },
  {
    title: 'a placeholder that was not replaced',
    verdict: 'problem',
    shows: /display_name has a placeholder(?!.*\{ORG)/s,
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the text of the file
    files: plist(text('organization', 'a') + text('display_name', '${ORG}')),
  },
  {
    title: 'a whole file',
    verdict: 'ok',
    files: plist(
      text('organization', 'example') + text('auth_client_id', 'abc.access') + text('auth_client_secret', 's3cret'),
    ),
  },
]);
