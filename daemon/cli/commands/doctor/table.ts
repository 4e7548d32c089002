// Defines the commands that find and explain problems, for the command table.
import type { CommandSpec } from '../../context.ts';

export const DOCTOR_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'doctor',
    summary: 'find what is wrong with the tunnel, this machine or Culvert, and repair it',
    fallback: 'check',
    commands: [
      {
        name: 'check',
        summary: 'run the checks',
        details:
          'Problems come first, each with the evidence and what to do. Nothing leaves this machine without --online. The exit status is 1 if there is a problem, 7 if there is none but a check could not be completed, and 0 otherwise.',
        options: [
          { flags: '-v, --verbose', summary: 'also list checks that do not apply, with sources and times' },
          { flags: '--only <ids>', summary: 'run only these checks, separated by commas' },
          { flags: '--online', summary: 'also contact Cloudflare and the page that detects login pages' },
        ],
        load: async () => (await import('./doctor.ts')).doctor,
      },
      {
        name: 'list',
        summary: 'list the checks',
        marksDemo: false,
        load: async () => (await import('./doctor.ts')).doctorList,
      },
      {
        name: 'fix',
        summary: 'show the fix of a check, and apply it',
        details:
          'At a terminal, a fix that needs root asks for a password, if a package installed culvert-repair and it can make the change. Otherwise the commands are printed.',
        arguments: [{ name: '<id>', summary: 'the check, as listed by culvert doctor list' }],
        options: [
          { flags: '-y, --yes', summary: 'do not ask first' },
          { flags: '--online', summary: 'let the check contact other machines' },
        ],
        load: async () => (await import('./doctor.ts')).doctorFix,
      },
      {
        name: 'undo',
        summary: 'undo the last fix',
        options: [{ flags: '-y, --yes', summary: 'do not ask first' }],
        load: async () => (await import('./doctor.ts')).doctorUndo,
      },
    ],
  },
  {
    name: 'diagnose',
    summary: 'write a report that can be shared, read an archive of warp-diag, or record the answers of WARP',
    fallback: 'write',
    commands: [
      {
        name: 'write',
        summary: 'write a report of this machine as a ZIP archive',
        details:
          'Contains the results of the checks, versions, settings, configuration, the log of commands and the history of fixes. Names, addresses, identifiers and keys are replaced by placeholders that stay the same within the report. The contents and the replacements are listed first.',
        options: [
          { flags: '-o, --out <file>', summary: 'the file to write; an existing one is not replaced' },
          { flags: '--dry-run', summary: 'print what would be written' },
        ],
        load: async () => (await import('./diagnose.ts')).diagnose,
      },
      {
        name: 'read',
        summary: 'explain an archive of warp-diag: causes, codes and a timeline',
        details: 'Needs neither a network nor the daemon, and unpacks nothing.',
        arguments: [{ name: '<file>', summary: 'an archive of warp-diag', files: true }],
        marksDemo: false,
        load: async () => (await import('./diagnose.ts')).diagnoseRead,
      },
      {
        name: 'record',
        summary: 'record the answers of the installed WARP, so that Culvert learns a version that it does not know',
        details:
          'Runs every reading command of warp-cli, and nothing that changes anything. Writes a redacted transcript as JSON lines, and says where to send it. With --try it asks, then also connects, disconnects, changes the mode and proves the kill switch by its counters. Each change reverts by itself unless it is confirmed, and none is confirmed, so that everything is put back even if the command or the daemon is killed.',
        arguments: [
          {
            name: '[file]',
            summary: 'the file to write; an existing one is not replaced; default: warp-cli-VERSION.jsonl',
            files: true,
          },
        ],
        options: [
          { flags: '--try', summary: 'also change the connection, the mode and the kill switch, and put them back' },
          { flags: '-y, --yes', summary: 'do not ask first' },
          {
            flags: '--confirm-within <seconds>',
            summary: 'with --try: put a change back after this time at the latest; default: 60',
          },
        ],
        load: async () => (await import('./record.ts')).record,
      },
    ],
  },
  {
    name: 'explain',
    summary: 'explain a code or a reason that WARP reports',
    details: 'Needs neither a network nor the daemon. Without a code it lists all of them.',
    arguments: [{ name: '[words...]', summary: 'a code such as CF_HOST_UNREACHABLE_CHECK, or a line of output' }],
    marksDemo: false,
    load: async () => (await import('./diagnose.ts')).explainCode,
  },
  {
    name: 'trust',
    summary: "the organization's certificate, for every tool on this machine",
    details:
      'An organization can inspect TLS in WARP. The system then has its certificate, but many tools keep a list of authorities of their own. Each installed tool is tested with a connection to this machine. No tool is ever told to stop verifying.',
    fallback: 'show',
    commands: [
      {
        name: 'show',
        summary: 'list the certificates and whether each tool trusts them',
        arguments: [{ name: '[tool...]', summary: 'only these tools; default: all' }],
        details:
          'Exit status 1 if a tool does not trust them, or trusts too much. Without a certificate, only tools that you name are tested. With --online, each tool connects with its certificates and without your other settings, so that the host gets none of your credentials.',
        options: [
          {
            flags: '--online <host>',
            summary: 'also have each tool connect to this host, such as www.example.com:443',
          },
        ],
        marksDemo: false,
        load: async () => (await import('./trust.ts')).trust,
      },
      {
        name: 'apply',
        summary: 'make tools trust the certificates, after showing each change',
        details: 'Only files and settings of this user are changed. A setting that is yours is never replaced.',
        arguments: [
          { name: '[tool...]', summary: 'tools, as listed by culvert trust; default: all that can be changed' },
        ],
        options: [
          {
            flags: '--certificate <file>',
            summary: 'trust this one too, which WARP did not install; its fingerprint is read from a prompt or a pipe',
          },
          { flags: '-y, --yes', summary: 'do not ask first' },
        ],
        marksDemo: false,
        load: async () => (await import('./trust.ts')).trustApply,
      },
      {
        name: 'undo',
        summary: 'undo the changes; files are restored byte for byte',
        arguments: [{ name: '[tool...]', summary: 'tools, as listed by culvert trust; default: all' }],
        options: [{ flags: '-y, --yes', summary: 'do not ask first' }],
        marksDemo: false,
        load: async () => (await import('./trust.ts')).trustUndo,
      },
    ],
  },
];
