// Defines the connection, registration and action commands for the command table.
import { ACTION_NAMES, ACTIONS, argumentOf, SUBJECTS } from '../../../api/actions.ts';
import { BAR_FORMATS } from '../../../view/bars.ts';
import type { ArgumentSpec, CommandSpec, OptionSpec } from '../../context.ts';
import { KEEP, UNTIL } from '../../keep.ts';
import { MASQUE_OPTIONS, MODES, PROTOCOLS } from '../../labels.ts';

const subject: ArgumentSpec = {
  name: '[subject]',
  summary: 'what was changed; by default everything',
  words: Object.fromEntries(SUBJECTS.map(name => [name, ''])),
};

const WAIT: readonly OptionSpec[] = [
  { flags: '-w, --wait', summary: 'wait until it is done, showing each phase' },
  { flags: '--timeout <seconds>', summary: 'how long to wait (60)' },
];

export const CONNECTION_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'status',
    summary: 'show the connection status',
    details:
      'Prints one line. With --check, the exit status is 3 unless the tunnel is connected, also while WARP does not answer. With --watch, it prints a line for each change until Ctrl+C, even across a restart of the daemon. With --format, it prints the line for a status bar, even when the daemon is not running.',
    options: [
      { flags: '-w, --watch', summary: 'print a line for each change' },
      { flags: '--format <bar>', summary: `the line for a status bar: ${BAR_FORMATS.join(', ')}` },
      { flags: '-c, --check', summary: 'exit 3 unless connected' },
      { flags: '-l, --long', summary: 'also show endpoint, latency, account and more' },
      { flags: '--fresh', summary: 'ask warp-cli again first' },
    ],
    marksDemo: false,
    load: async () => (await import('./status.ts')).status,
  },
  {
    name: 'connect',
    summary: 'connect the tunnel',
    details:
      'Over SSH, it says whether your session survives, and why. If it does not, it offers on a terminal to exclude your address first (the preset ssh of culvert routes), and asks whether the tunnel stays: if nobody answers within 30 seconds, both are reverted.',
    options: [...UNTIL, ...WAIT, ...KEEP],
    load: async () => (await import('./connect.ts')).connect,
  },
  {
    name: 'disconnect',
    summary: 'disconnect the tunnel',
    details: 'In an SSH session that comes through the tunnel, on a terminal, it asks whether the tunnel stays off.',
    options: [...UNTIL, ...WAIT, ...KEEP],
    load: async () => (await import('./connect.ts')).disconnect,
  },
  { name: 'on', summary: 'alias of connect', aliasOf: 'connect' },
  { name: 'off', summary: 'alias of disconnect; to pause: culvert off --for 15m', aliasOf: 'disconnect' },
  {
    name: 'extend',
    summary: 'change when a timed change ends',
    details: 'The time counts from now: culvert extend 30m.',
    arguments: [{ name: '<duration>', summary: 'for example 15m, 2h or 1d' }, subject],
    load: async () => (await import('./connect.ts')).extend,
  },
  {
    name: 'keep',
    summary: 'keep a change that would be reverted',
    arguments: [subject],
    load: async () => (await import('./connect.ts')).keep,
  },
  {
    name: 'revert',
    summary: 'revert a change now that would be reverted later',
    arguments: [subject],
    load: async () => (await import('./connect.ts')).revert,
  },
  {
    name: 'toggle',
    summary: 'connect, or disconnect when connected or connecting',
    options: [...WAIT, ...KEEP],
    load: async () => (await import('./connect.ts')).toggle,
  },
  {
    name: 'wait',
    summary: 'wait until the tunnel is up',
    details:
      'For scripts: also waits for a daemon that is starting. A state that could not be read again does not count. With --proof, a request to warp.traceUrl must come back as warp=on. After the timeout, the exit status says what was missing: 1 the daemon does not answer, 3 not connected, 4 not authorized, 5 no daemon, 6 no warp-cli, 8 connected but no proof.',
    options: [
      { flags: '--proof', summary: 'wait until a request has come through the tunnel' },
      { flags: '--timeout <seconds>', summary: 'how long to wait (30)' },
    ],
    load: async () => (await import('./wait.ts')).wait,
  },
  {
    name: 'mode',
    summary: 'show or set the mode',
    arguments: [{ name: '[name]', summary: 'the mode to set', words: MODES }],
    options: [...UNTIL, ...KEEP],
    load: async () => (await import('./mode.ts')).mode,
  },
  {
    name: 'protocol',
    summary: 'show or set the tunnel protocol; h2-only where UDP is blocked',
    details:
      'MASQUE uses HTTP/3 over UDP, or HTTP/2 over TCP 443 from WARP 2025.4.929 on. With h2-only it needs no UDP.',
    arguments: [{ name: '[name]', summary: 'the protocol to set', words: { ...PROTOCOLS, ...MASQUE_OPTIONS } }],
    options: [...UNTIL, ...KEEP],
    load: async () => (await import('./mode.ts')).protocol,
  },
  {
    name: 'proxy',
    summary: 'the local proxy on 127.0.0.1',
    fallback: 'status',
    commands: [
      {
        name: 'status',
        summary: 'show whether the local proxy is on, and its address',
        load: async () => (await import('./mode.ts')).proxyStatus,
      },
      {
        name: 'on',
        summary: 'switch to proxy mode, connect, and wait until the proxy answers',
        details:
          'This changes the mode of the whole machine, so it asks first, and scripts need --yes. If the proxy does not answer, mode, protocol and connection are reverted.',
        options: [{ flags: '--port <n>', summary: 'set the port of the proxy first' }, ...KEEP],
        load: async () => (await import('./mode.ts')).proxyOn,
      },
      {
        name: 'off',
        summary: 'switch back from proxy mode to the mode warp',
        details: 'This changes the mode of the whole machine, so it asks first, and scripts need --yes.',
        options: KEEP,
        load: async () => (await import('./mode.ts')).proxyOff,
      },
    ],
  },
];

/** The fixed values of each action's argument; empty for actions without fixed values. */
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
