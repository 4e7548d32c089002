// Lists the reading commands of the tunnel CLI, for a recording. None of them changes anything.
import { READ_NAMES, wordsOf } from '../cli/version.ts';

/** Form of a command: plain, with `-j`, or as a listener with `-j -l`, which the recording ends after a moment. */
type Form = 'text' | 'json' | 'listen';

export interface Reading {
  /** Arguments without the program. */
  argv: readonly string[];
  form: Form;
  /** True if the answer is private throughout, so that only its shape is recorded. */
  isPrivate?: true;
}

/**
 * Groups of commands. Their help is read because its list of commands shows what a new version adds (2026.4.1390.0 and its
 * completions). A command that acts without an argument is not among them: an old parser might overlook `--help`.
 */
const GROUPS = [
  'debug',
  'dns',
  'environment',
  'mdm',
  'mode',
  'override',
  'proxy',
  'registration',
  'settings',
  'stats',
  'status',
  'target',
  'trusted',
  'tunnel',
  'tunnel masque-options',
  'tunnel protocol',
  'vnet',
];

/** Further reading commands, which Culvert does not use (help of 2026.4.1390.0, and the commands that it replaced). */
const FURTHER = ['settings list', 'settings mode-switch-allowed', 'stats'];

/** The same, with certificates, hosts, codes, secrets and names in forms that no redaction is sure to know. */
const PRIVATE = [
  'certs',
  'debug dex',
  'debug network',
  'debug posture',
  'dns default-fallbacks',
  'dns fallback list',
  'dns stats',
  'mdm get-configs',
  'override show',
  'registration organization',
  'settings support-url',
  'target list',
];

const isSame = (a: readonly string[], b: readonly string[]) => a.join(' ') === b.join(' ');

/** Every reading command in the order of a recording: the version first. */
export function readings(): Reading[] {
  const words = READ_NAMES.map(wordsOf).filter((each, at, all) => all.findIndex(other => isSame(each, other)) === at);
  const commands = [...words, ...[...FURTHER, ...PRIVATE].map(text => text.split(' '))];
  return [
    { argv: ['--version'], form: 'text' },
    { argv: ['--help'], form: 'text' },
    ...GROUPS.map((group): Reading => ({ argv: [...group.split(' '), '--help'], form: 'text' })),
    ...commands.flatMap((argv): Reading[] => {
      const kind = PRIVATE.includes(argv.join(' ')) ? { isPrivate: true as const } : {};
      return [
        { argv, form: 'text', ...kind },
        // releases of 2026 refuse global options after the subcommand
        { argv: ['-j', ...argv], form: 'json', ...kind },
      ];
    }),
    { argv: ['-j', '-l', 'status'], form: 'listen' },
  ];
}
