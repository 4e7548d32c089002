// Defines the argument table of `registration …`.
import type { Command } from '../command-line/grammar.ts';
import { consumer, leaf } from './build.ts';

export const REGISTRATION: Command = {
  name: 'registration',
  about: 'Registration settings',
  subcommands: [
    leaf('show', 'Show information about the current registration'),
    leaf('new', 'Register this client (Must be run before first connection!)', {
      name: 'ORGANIZATION',
      optional: true,
      about: 'Optional: a Zero Trust organization to join. Defaults to the organization configured via MDM',
    }),
    leaf('delete', 'Delete current registration'),
    { ...leaf('delete-all', 'Delete all registrations for all users and scopes'), hidden: true },
    leaf('organization', 'Get the name of the current Teams organization'),
    leaf('devices', consumer('Display the list of devices associated with the current registration')),
    leaf('license', consumer('Attach the current registration to a different account using a license key'), {
      name: 'KEY',
    }),
    {
      ...leaf('token', 'Used internally by callbacks to return tokens as part of registration', { name: 'URL' }),
      hidden: true,
    },
    {
      ...leaf('initialize-token-callback', 'Registers the browser token callback without actually registering'),
      hidden: true,
    },
  ],
};
