// Checks the management file of an organization, which the client reads from one place and in one form only.
import { SaxesParser } from 'saxes';
import type { Message } from '../../../api/schema/values.ts';
import { reason } from '../../../system/errno.ts';
import { N_ } from '../../../view/translator.ts';
import { type Check, message, notApplicable, ok, problem, quoted } from '../../check.ts';
import { vendorPage } from '../../world/facts.ts';

const MDM = '/var/lib/cloudflare-warp/mdm.xml';

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
    const { error, dictionaries } = parsePlist(text);
    if (error) return problem([error], message('The client ignores the whole file until it is well-formed.'));
    const wrong = dictionaries.flatMap(problemsOf);
    if (wrong.length > 0) return problem(wrong, message('Correct %s; the client does not use it as intended.', MDM));
    // each configuration of a list is one organization to choose
    const names = dictionaries.map(({ values }) => values.get('display_name') ?? values.get('organization') ?? '–');
    const [only] = dictionaries;
    return ok(dictionaries.length === 1 ? message('%d settings', only!.values.size) : quoted(names.join(', ')));
  },
};

interface Dictionary {
  /** Names and values. Values of secrets never leave this file. */
  values: Map<string, string>;
  /** The key in whose list it is; null for one that the file has itself. */
  inside: string | null;
}

interface Plist {
  error: Message | null;
  /** Those with values, in their order: a file has one, or a list of them. */
  dictionaries: Dictionary[];
}

/** The dictionaries of a property list, each on its own, or why it can't be read. */
function parsePlist(text: string): Plist {
  const all: Dictionary[] = [];
  const parser = new SaxesParser();
  const open: string[] = [];
  /** The dictionaries that are open, each with the key that was read last. */
  const stack: { dictionary: Dictionary; key: string | null }[] = [];
  let content = '';
  try {
    parser.on('error', error => {
      throw error;
    });
    parser.on('opentag', ({ name }) => {
      if (name === 'dict') {
        const dictionary = { values: new Map<string, string>(), inside: stack.at(-1)?.key ?? null };
        all.push(dictionary);
        stack.push({ dictionary, key: null });
      }
      open.push(name);
      content = '';
    });
    parser.on('text', piece => {
      content += piece;
    });
    parser.on('closetag', ({ name }) => {
      open.pop();
      if (name === 'dict') stack.pop();
      const present = stack.at(-1);
      if (!present || open.at(-1) !== 'dict') return;
      if (name === 'key') present.key = content.trim();
      else {
        const isList = name === 'array' || name === 'dict';
        if (present.key !== null && !isList)
          present.dictionary.values.set(present.key, name === 'true' || name === 'false' ? name : content.trim());
        present.key = null;
      }
    });
    parser.write(text).close();
  } catch (error) {
    return { error: quoted(`${MDM}: ${reason(error).split('\n')[0]}`), dictionaries: [] };
  }
  const dictionaries = all.filter(({ values }) => values.size > 0);
  if (dictionaries.length === 0) return { error: message('%s has no <dict> with settings', MDM), dictionaries };
  return { error: null, dictionaries };
}

/** Pairs that only work together, and names that the client does not know by another spelling. */
function problemsOf({ values, inside }: Dictionary): Message[] {
  const has = (name: string) => values.has(name);
  const wrong: Message[] = [];
  // Cloudflare, cloudflare-docs pull request 13658
  if (inside === 'configs') wrong.push(message('%s is a list that the client ignores in XML', 'configs'));
  for (const [name, value] of values)
    if (/\$\{\w+\}|\$[A-Z_]{2,}|\{\{.*\}\}/.test(value))
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
