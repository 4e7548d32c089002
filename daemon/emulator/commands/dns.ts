// Defines the argument table of `dns …`.
import type { Command } from '../command-line/grammar.ts';
import { leaf, listOf, overridable, SWITCH } from './build.ts';

export const DNS: Command = {
  name: 'dns',
  about: 'Configure DNS settings',
  subcommands: [
    { name: 'fallback', about: 'Configure fallback domains', subcommands: listOf('DOMAIN') },
    leaf('families', 'Configure Families Mode settings (Consumer only)', {
      name: 'MODE',
      values: [{ name: 'full' }, { name: 'malware' }, { name: 'off' }],
    }),
    {
      name: 'gateway-id',
      about: 'Force the app to use the specified Gateway ID for DNS queries',
      subcommands: overridable({ name: 'PARAM' }),
    },
    leaf('log', 'Enable/Disable DNS logging', ...SWITCH),
    leaf('stats', 'Retrieve DNS stats for the current connection'),
    leaf('default-fallbacks', 'Display which DNS servers are being used for default fallback'),
  ],
};
