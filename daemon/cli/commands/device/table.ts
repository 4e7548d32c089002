// Defines the commands of the registration and of single actions, for the command table.
import { ACTION_NAMES, ACTIONS, argumentOf } from '../../../api/actions.ts';
import type { CommandSpec } from '../../context.ts';
import { KEEP } from '../../keep.ts';

/** The values of actions that take only a few; empty for others. */
const ACTION_VALUES = Object.fromEntries(ACTION_NAMES.map(name => [name, argumentOf(name)?.values ?? []]));

export const DEVICE_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'account',
    summary: 'the registration of this device',
    details: 'License keys and tokens come from a hidden prompt or a pipe, never from the command line.',
    fallback: 'show',
    commands: [
      {
        name: 'show',
        summary: 'show account and devices',
        load: async () => (await import('./device.ts')).account,
      },
      {
        name: 'register',
        summary: 'register this device',
        options: [
          {
            flags: '--organization <name>',
            summary: 'join the organization (Zero Trust) with this team name or domain',
          },
        ],
        load: async () => (await import('./device.ts')).register,
      },
      {
        name: 'delete',
        summary: 'delete the registration',
        options: [{ flags: '-y, --yes', summary: 'do not ask first' }],
        load: async () => (await import('./device.ts')).deleteRegistration,
      },
      {
        name: 'license',
        summary: 'apply a license key',
        load: async () => (await import('./device.ts')).license,
      },
      {
        name: 'token',
        summary: 'finish a registration with the token from the browser',
        load: async () => (await import('./device.ts')).registrationToken,
      },
      {
        name: 'sign-in',
        summary: 'finish a sign-in that was started here (for browsers)',
        load: async () => (await import('./device.ts')).signIn,
      },
      {
        name: 'accept-terms',
        summary: "accept Cloudflare's terms of service",
        load: async () => (await import('./device.ts')).acceptTerms,
      },
    ],
  },
  {
    name: 'actions',
    summary: 'list every action of the API',
    marksDemo: false,
    load: async () => (await import('./device.ts')).listActions,
  },
  {
    name: 'action',
    summary: 'run an action of the API by its name',
    details:
      'At a terminal, a setting of the tunnel reverts after 30 seconds unless you keep it; --yes keeps it without asking.',
    arguments: [
      {
        name: '<name>',
        summary: 'the action',
        words: Object.fromEntries(Object.entries(ACTIONS).map(([name, { summary }]) => [name, summary])),
      },
      { name: '[value]', summary: 'its value', wordsAfter: ACTION_VALUES },
    ],
    options: KEEP,
    load: async () => (await import('./device.ts')).action,
  },
];
