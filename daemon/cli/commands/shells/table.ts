// Defines the commands of the tile, for the command table.
import type { CommandSpec } from '../../context.ts';

const WORDS = { gnome: 'GNOME Shell' };

export const SHELL_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'shell',
    summary: 'the tile for GNOME Shell',
    details:
      'Only for this user. With a package, the files are already there, and install only turns the tile on. Other desktops can show the same through the session bus: org.culvert.Client1(5).',
    fallback: 'list',
    commands: [
      {
        name: 'list',
        summary: 'list the shells, and what is installed',
        marksDemo: false,
        load: async () => (await import('./shell.ts')).listShells,
      },
      {
        name: 'install',
        summary: 'install the tile, and turn it on',
        arguments: [{ name: '<name>', summary: 'the shell', words: WORDS }],
        marksDemo: false,
        load: async () => (await import('./shell.ts')).installShell,
      },
      {
        name: 'remove',
        summary: 'turn it off, and remove the files that install wrote',
        arguments: [{ name: '[name]', summary: 'the shell; default: all', words: WORDS }],
        marksDemo: false,
        load: async () => (await import('./shell.ts')).removeShell,
      },
    ],
  },
];
