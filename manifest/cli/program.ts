// Defines the command line of `culvert-manifest`: options, help, and the exit status of each failure.
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { errno, Failure, reason } from '../../daemon/core/errors.ts';
import { helpTexts } from '../../daemon/core/terminal.ts';
import { EXIT, REFUSALS, Refusal } from '../errors.ts';
import { MANIFEST_NAME, SIDECAR_NAME } from '../schema.ts';
import { PURPOSES } from '../signatures.ts';
import * as commands from './commands.ts';
import type { Context } from './output.ts';
import * as signing from './signing-commands.ts';

/** Runs `culvert-manifest <argv>`. @returns the exit status */
export async function runCommandLine(argv: readonly string[], context: Context): Promise<number> {
  let status: number = EXIT.success;
  const end = (exit: number) => {
    status = exit;
  };
  try {
    await program(context, end).parseAsync([...argv], { from: 'user' });
    return status;
  } catch (error) {
    return fail(error, argv.includes('--json'), context);
  }
}

/** @param end receives the exit status of a command that completed but may have found faults */
function program(context: Context, end: (exit: number) => void): Command {
  const root = new Command('culvert-manifest')
    .configureOutput({ writeOut: text => context.stdout.write(text), writeErr: text => context.stderr.write(text) })
    .description('Makes, signs and verifies the manifest of a release: its artifacts with size and SHA-256.')
    .version(`culvert-manifest ${context.version}`, '-V, --version')
    .helpCommand(true)
    .addHelpText('after', `\n${EXAMPLES}\n\n${exitStatuses()}`);
  const add = (usage: string, description: string) =>
    root.command(usage).description(description).option('--json', 'print JSON');

  add('create <file...>', 'list files in a manifest; the same files and SOURCE_DATE_EPOCH give the same bytes')
    .requiredOption('--out <file>', `where to write it, usually ${MANIFEST_NAME}`)
    .option('--tag <tag>', "the release's tag, such as v1.2.3; needed to sign it")
    .action((files: string[], options) => commands.create(files, options, context));

  add('sign <manifest>', `sign a manifest: writes ${SIDECAR_NAME}, which an update needs`)
    .requiredOption('--key <file>', 'the private key, readable by its owner only; - reads it from stdin')
    .option(
      '--signer <command>',
      'sign with a shell command, for example one for a token: it gets the bytes on stdin and prints the raw signature; --key is then the public key',
    )
    .option(
      '--serial <n>',
      'a number that rises with every release of the channel, so that an old release is refused (default: the time in seconds)',
      whole,
    )
    .option('--expires <when>', 'when this release expires: a time (2027-01-31T00:00:00Z), or days from now', '90d')
    .addOption(
      new Option('--channel <channel>', 'the channel it is for, or catalog').choices(PURPOSES).default('stable'),
    )
    .option('--minimum-version <version>', 'the oldest installed version that can update to it in one step', '0.0.0')
    .option('--revoke <id>', 'revoke a pinned key that this key outranks; may be repeated', collect, [])
    .option('--force', 'revoke a key that this build does not pin, for example one that older versions pin')
    .option('--add', 'add a signature to the existing sidecar, for a threshold of keys')
    .option('--out <file>', 'where to write the sidecar (default: the manifest with .sig)')
    .action((manifest: string, options) => signing.sign(manifest, options, context));

  add('minisign <file...>', 'sign any files: writes FILE.minisig, which "minisign -V" checks')
    .requiredOption('--key <file>', 'the private key, readable by its owner only; - reads it from stdin')
    .option('--signer <command>', 'sign with a shell command, as for "sign"; --key is then the public key')
    .action((files: string[], options) => signing.signFiles(files, options, context));

  add('verify <manifest>', 'verify a manifest, its signature where there is one, and the files it lists')
    .option('--dir <directory>', "where the artifacts are (default: the manifest's directory)")
    .option('--no-artifacts', 'do not check the files')
    .option('--signature <file>', 'the sidecar (default: the manifest with .sig, if there is one)')
    .option('--no-signature', 'do not check the signature')
    .option('--require-signature', 'refuse an unsigned manifest; so does each option below')
    .option('--key <file>', 'trust this public key instead of the pinned ones; may be repeated', collect, [])
    .option('--threshold <n>', 'refuse a release that fewer of the trusted keys signed', whole)
    .addOption(new Option('--channel <channel>', 'refuse another channel').choices(PURPOSES))
    .option('--last-serial <n>', 'refuse a lower serial', whole)
    .option('--installed <version>', 'refuse a release that cannot be installed over this version')
    .action(async (manifest: string, options) => end(await commands.verify(manifest, options, context)));

  add('schema', "print the manifest's JSON Schema (draft 2020-12)").action(() => commands.schema(context));

  add('keygen <name>', 'make a key pair: <name>.key, which must stay secret, and <name>.pub').action(
    (name: string, options) => signing.keygen(name, options, context),
  );

  root
    .command('__help', { hidden: true })
    .description('prints the help of every command as JSON, for the manual page')
    .action(() => {
      context.stdout.write(JSON.stringify(Object.fromEntries(helpTexts(root))));
    });

  for (const command of [root, ...root.commands]) command.exitOverride().showSuggestionAfterError();
  return root;
}

const EXAMPLES = `Examples:
  culvert-manifest create --out dist/${MANIFEST_NAME} --tag v1.2.3 dist/culvert-*
  culvert-manifest sign dist/${MANIFEST_NAME} --key ~/keys/release.key
  culvert-manifest verify dist/${MANIFEST_NAME}`;

function exitStatuses(): string {
  const general = ['  0   success', '  1   unexpected failure', '  2   wrong usage'];
  const refusals = Object.entries(REFUSALS).map(([code, [exit]]) => `  ${String(exit).padEnd(3)} ${code}`);
  return `Exit status (verify: that of the first faulty artifact):\n${[...general, ...refusals].join('\n')}`;
}

function fail(error: unknown, json: boolean, { stdout, stderr }: Context): number {
  const { exit, code, message, hint } = failure(error);
  if (exit === EXIT.success) return exit;
  if (json) stdout.write(`${JSON.stringify({ ok: false, error: { code, message, hint } })}\n`);
  // commander has printed its own message
  else if (!(error instanceof CommanderError)) {
    stderr.write(`culvert-manifest: ${message}${hint ? `\n  ${hint}` : ''} [${code}]\n`);
  }
  return exit;
}

function failure(error: unknown): { exit: number; code: string; message: string; hint?: string } {
  const usage = { exit: EXIT.usage, code: 'usage', message: reason(error), hint: 'See "culvert-manifest --help".' };
  if (error instanceof CommanderError) return error.exitCode === 0 ? { ...usage, exit: EXIT.success } : usage;
  if (error instanceof Refusal) return error;
  if (error instanceof Failure) return usage;
  // a system error, such as a full disk or too many open files
  const system = errno(error);
  if (system !== undefined && error instanceof Error && 'syscall' in error)
    return { exit: EXIT.failure, code: system, message: `The system refused an operation: ${error.message}.` };
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
