// The command line of `culvert-manifest`: its words, its help, and how a failure ends the process.
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import * as commands from './commands.ts';
import { EXIT, REFUSALS, Refusal, reason, UsageError } from './refusals.ts';
import { MANIFEST_NAME, SIDECAR_NAME } from './schema.ts';
import { CHANNELS } from './sidecar.ts';

/** What the commands take from the process they run in. */
export interface Context {
  env: NodeJS.ProcessEnv;
  /** Milliseconds since 1970. */
  now: () => number;
  /** The program's own file, which hashing threads run again. */
  worker: string;
  version: string;
}

/** Runs `culvert-manifest <argv>` and sets the process's exit status. */
export async function run(argv: readonly string[], context: Context): Promise<void> {
  // a reader that has seen enough (head, less) is no failure
  process.stdout.on('error', error =>
    process.exit('code' in error && error.code === 'EPIPE' ? EXIT.success : EXIT.failure),
  );
  try {
    await program(context).parseAsync([...argv], { from: 'user' });
  } catch (error) {
    process.exitCode = fail(error, argv.includes('--json'));
  }
}

function program(context: Context): Command {
  const root = new Command('culvert-manifest')
    .description('Makes, signs and verifies the manifest of a release: its artifacts with size and SHA-256.')
    .version(context.version, '-V, --version')
    .helpCommand(true)
    .addHelpText('after', `\n${EXAMPLES}\n\n${exitStatuses()}`);
  const add = (usage: string, description: string) =>
    root.command(usage).description(description).option('--json', 'print JSON');

  add('create <file...>', 'list files in a manifest; reproducible: same files and SOURCE_DATE_EPOCH, same bytes')
    .requiredOption('--out <file>', `where to write it, usually ${MANIFEST_NAME}`)
    .option('--tag <tag>', "the release's tag, such as v1.2.3; needed to sign it")
    .action((files: string[], options) => commands.create(files, options, context));

  add('sign <manifest>', `sign a manifest: writes ${SIDECAR_NAME}, which an update needs`)
    .requiredOption('--key <file>', 'the private key, readable by its owner only; - reads it from stdin')
    .requiredOption(
      '--serial <n>',
      'rises with every release of the channel, so that an old one can not come back',
      whole,
    )
    .requiredOption(
      '--expires <when>',
      'until when this release may be taken for the newest: 2027-01-31T00:00:00Z, or 90d',
    )
    .addOption(new Option('--channel <channel>', 'the channel it is for').choices(CHANNELS).default('stable'))
    .option('--minimum-version <version>', 'the oldest installed version that can update to it in one step', '0.0.0')
    .option('--out <file>', 'where to write the sidecar (default: the manifest with .sig)')
    .action((manifest: string, options) => commands.sign(manifest, options, context));

  add('verify <manifest>', 'verify a manifest, its signature where there is one, and the files it lists')
    .option('--dir <directory>', "where the artifacts are (default: the manifest's directory)")
    .option('--no-artifacts', 'leave the files alone')
    .option('--signature <file>', 'the sidecar (default: the manifest with .sig, if there is one)')
    .option('--no-signature', 'leave the signature alone')
    .option('--require-signature', 'refuse an unsigned manifest; so does each option below')
    .option('--key <file>', "trust this public key instead of the release's pinned ones; may stand twice", collect, [])
    .addOption(new Option('--channel <channel>', 'refuse another channel').choices(CHANNELS))
    .option('--last-serial <n>', 'refuse a lower serial', whole)
    .option('--installed <version>', 'refuse what can not be installed over this version')
    .action((manifest: string, options) => commands.verify(manifest, options, context));

  add('schema', "print the manifest's JSON Schema (draft 2020-12)").action(() => commands.schema());

  add('keygen <name>', 'make a key pair: <name>.key, which stays secret, and <name>.pub').action(
    (name: string, options) => commands.keygen(name, options),
  );

  for (const command of [root, ...root.commands]) command.exitOverride().showSuggestionAfterError();
  return root;
}

const EXAMPLES = `Examples:
  culvert-manifest create --out dist/${MANIFEST_NAME} --tag v1.2.3 dist/culvert-*
  culvert-manifest sign dist/${MANIFEST_NAME} --key ~/keys/release.key --serial 12 --expires 90d
  culvert-manifest verify dist/${MANIFEST_NAME}`;

function exitStatuses(): string {
  const own = ['  0   success', '  1   unexpected failure', '  2   wrong usage'];
  const refusals = Object.entries(REFUSALS).map(([code, [exit]]) => `  ${String(exit).padEnd(3)} ${code}`);
  return `Exit status (verify: that of the first faulty artifact):\n${[...own, ...refusals].join('\n')}`;
}

function fail(error: unknown, json: boolean): number {
  const { exit, code, message, hint } = failure(error);
  if (exit === EXIT.success) return exit;
  if (json) process.stdout.write(`${JSON.stringify({ ok: false, error: { code, message, hint } })}\n`);
  // commander has printed its own
  else if (!(error instanceof CommanderError)) {
    process.stderr.write(`culvert-manifest: ${message}${hint ? `\n  ${hint}` : ''} [${code}]\n`);
  }
  return exit;
}

function failure(error: unknown): { exit: number; code: string; message: string; hint?: string } {
  const usage = { exit: EXIT.usage, code: 'usage', message: reason(error), hint: 'See "culvert-manifest --help".' };
  if (error instanceof CommanderError) return error.exitCode === 0 ? { ...usage, exit: EXIT.success } : usage;
  if (error instanceof UsageError) return usage;
  if (error instanceof Refusal) return error;
  const trace = error instanceof Error ? error.stack : String(error);
  return { exit: EXIT.failure, code: 'internal', message: `Unexpected: ${trace}` };
}

function whole(text: string): number {
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(value) && value >= 1) return value;
  throw new InvalidArgumentError('It must be a whole number, at least 1.');
}

function collect(value: string, all: string[]): string[] {
  return [...all, value];
}
