// Defines the argument table of `override …`.
import type { Command } from '../command-line/grammar.ts';
import { leaf } from './build.ts';

export const OVERRIDE: Command = {
  name: 'override',
  about: 'Allow temporary overrides of administrative settings',
  argsOrSubcommand: true,
  args: [{ name: 'CODE' }],
  subcommands: [
    leaf('show', 'Return information about any currently applied administrative override'),
    leaf('unlock', 'Temporarily override policies that require the client to stay enabled', { name: 'CODE' }),
    {
      ...leaf('generate', 'Generate admin override code for Teams account (requires admin permissions)', {
        name: 'HOURS',
        format: 'number',
      }),
      hidden: true,
    },
    {
      name: 'local-network',
      about: 'Override settings to access the local area network',
      subcommands: [
        leaf('allow', 'Allow access to the local network, if permitted by settings'),
        leaf('show', 'Return information about any currently applied local network access'),
        leaf('stop', 'Stop any current local network access'),
      ],
    },
  ],
};
