// Runs one control command and exits with its exit code. bin/culvert starts this module for
// subcommands and --help.
import type { Change } from '../api/changes.ts';
import { ApiError, createClient, Unreachable } from '../api/client.ts';
import { printable } from '../core/printable.ts';
import { createStyle, wantsColor } from '../core/terminal.ts';
import { runningInstance } from '../system/instance.ts';
import { type Paths, paths } from '../system/paths.ts';
import { type Chosen, parse } from './command-line/program.ts';
import type { Context } from './context.ts';
import { assertNotSuspended, detailAsTyped, EXIT, Failure, toExitReport, usage } from './errors.ts';
import { asciiJson, asciiText, isAsciiLocale, widthOf, wrapped, writeAscii } from './layout.ts';
import { createTransport, slowProgram } from './transport.ts';

const { argv, env, stdin, stdout, stderr } = process;
const ended = new AbortController();
/** Known before parsing, so that a parsing failure is printed in the requested form. */
const json = argv.includes('--json');
/** Stream for reports of failures. A script reads one document from the output, which `culvert run` leaves to its program. */
const reports = json && argv[2] !== 'run' ? stdout : stderr;
const GRACE_MS = 2_000;
const NOTHING_STAYS: Staying = { changes: [], lines: [] };
/** Words of other programs that resemble a wrong command here, with the right one. */
const GUESSES: ReadonlyMap<string, string> = new Map([
  ['start', 'culvert'],
  ['quit', 'culvert stop'],
  ['up', 'culvert connect'],
  ['down', 'culvert disconnect'],
  ['list', 'culvert help'],
  ['log', 'culvert logs'],
  ['dns', 'culvert mode'],
  ['ip', 'culvert status --long'],
  ['report', 'culvert diagnose'],
  ['uninstall', './culvert-tool uninstall in the clone, or the package manager that installed Culvert'],
  ['kill', 'culvert stop'],
  ['ks', 'culvert killswitch'],
  ['vpn', 'culvert status'],
  ['warp', 'culvert status'],
  ['reload', 'culvert restart'],
  ['-v', 'culvert --version'],
  ['-V', 'culvert --version'],
]);
const err = createStyle(wantsColor(stderr, env));
if (isAsciiLocale(env)) for (const stream of [stdout, stderr]) writeAscii(stream, json ? asciiJson : asciiText);

// a closed pipe is not a failure: `culvert status --watch | head -1`
stdout.on('error', (error: NodeJS.ErrnoException) => {
  // report failures such as ENOSPC: the launcher replaces a closed output by a full device
  if (error.code !== 'EPIPE') complain(new Failure("The output can't be written."), NOTHING_STAYS, stderr);
  process.exit(error.code === 'EPIPE' ? EXIT.ok : EXIT.failure);
});
stderr.on('error', () => {});
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    if (ended.signal.aborted) process.exit(EXIT.interrupted); // second signal
    ended.abort();
    setTimeout(() => process.exit(EXIT.interrupted), GRACE_MS).unref(); // for code that ignores the signal
  });
}

main(argv.slice(2)).then(
  code => {
    process.exitCode = code;
  },
  async error => {
    process.exitCode = complain(error, await stayingFor(error));
  },
);

async function main(words: string[]): Promise<number> {
  if (words[0] === '__generate') {
    const { generate } = await import('./command-line/manual.ts');
    if (!words[1]) throw usage('__generate takes the directory to write to.');
    await generate(words[1]);
    return EXIT.ok;
  }
  if (words[0] === '__install' || words[0] === '__uninstall') {
    const { installCommand, uninstallCommand } = await import('./commands/culvert/install.ts');
    const command = words[0] === '__install' ? installCommand : uninstallCommand;
    return command(words.slice(1), env, line => void stdout.write(`${line}\n`));
  }
  const style = createStyle(wantsColor(stdout, env));
  typed = await parse(words.length ? words : ['--help'], style);
  const { spec, run, args, options } = typed;
  const where = paths(env);
  const context: Context = {
    client: createClient(createTransport(where.socket, {}, isLong => sayWaiting(where, context, isLong))),
    paths: where,
    env,
    json: options.json === true,
    isDemo: () => runningInstance(where)?.demo === true,
    signal: ended.signal,
    stdin,
    stdout,
    stderr,
    style,
    width: widthOf(stdout),
    print: text => void stdout.write(`${options.json ? text : wrapped(text, widthOf(stdout))}\n`),
    printDocument: text => void stdout.write(Buffer.from(`${text}\n`)),
    say: text => void (options.json || stderr.write(`${wrapped(text, widthOf(stderr))}\n`)),
  };
  const isMarked = spec.marksDemo !== false && sayDemo(context);
  const code = (await run(context, args, options)) ?? EXIT.ok;
  if (spec.marksDemo !== false && !isMarked) sayDemo(context); // the command started the daemon, or waited for it
  return code;
}

/** Reports an emulator that answers. @returns true if one does */
function sayDemo({ isDemo, say }: Context): boolean {
  const demo = isDemo();
  if (demo) say('Demo: this is the embedded emulator, not this machine; nothing is tunneled.');
  return demo;
}

/** Reports once which program a slow request waits for. @throws Failure if the daemon is suspended */
function sayWaiting(where: Paths, context: Context, isLong: boolean): void {
  assertNotSuspended(where);
  if (waiting) return;
  waiting = true;
  if (isLong) context.say('This can take minutes. Ctrl+C ends the wait; the daemon keeps running.');
  else
    void slowProgram(context).then(name =>
      context.say(`${name} has not answered yet; still waiting. Ctrl+C ends the wait.`),
    );
}

let waiting = false;
let typed: Chosen | null = null;

/** Returns the changes that stay because no daemon runs. Never rejects. */
async function stayingFor(error: unknown): Promise<Staying> {
  if (!(error instanceof Unreachable) || error.daemon === 'silent') return NOTHING_STAYS;
  const { pendingChanges, stayingText } = await import('./pending.ts');
  const changes = await pendingChanges(env).catch(() => []);
  return { changes, lines: stayingText(changes) };
}

interface Staying {
  changes: readonly Change[];
  /** The changes in words for people. */
  lines: readonly string[];
}

/** Prints a failure; returns the exit code. @param staying changes that stay because no daemon runs @param to for JSON */
function complain(error: unknown, staying: Staying = NOTHING_STAYS, to = reports): number {
  if (isCommander(error)) {
    if (error.exitCode === 0) return EXIT.ok; // the user asked for help
    if (error.code === 'commander.help') return EXIT.usage; // commander printed the help without a command
    const [first = '', ...suggestion] = error.message.replace(/^error: /, '').split('\n');
    const message = first.replace(/\.$/, '');
    const hint = suggestion.join(' ').replace(/^\((.*)\)$/, '$1');
    const guess = GUESSES.get(/^unknown (?:command|option) '(-?\w+)'/.exec(message)?.[1] ?? '');
    if (guess) return complain(usage(`${message}.`, `Use: ${guess}`));
    const isLikely = firstLetter(hint, /mean (?:one of )?-*(\w)/) === firstLetter(message, /'-*(\w)/);
    return complain(usage(`${message}.`, hint && isLikely ? hint : `See: culvert help${helpTopic(message)}`));
  }
  const { exitCode, report: answered } = toExitReport(error);
  if (json) {
    const pending = staying.changes.length ? { pending: staying.changes } : {};
    to.write(`${JSON.stringify({ ok: false, ...answered, ...pending })}\n`);
    return exitCode;
  }
  const isTyped = typed !== null && error instanceof ApiError;
  const report = isTyped ? { ...answered, detail: detailAsTyped(error.problem, typed!) } : answered;
  const lines = [`${err.red('culvert:')} ${printable(report.detail)}`];
  const output = 'stderr' in report ? (report.stderr ?? '').trim().split('\n').map(printable) : [];
  lines.push(...output.filter(line => line && !report.detail.includes(line)).map(line => `  ${line}`));
  lines.push(...staying.lines);
  if (report.hint) lines.push(printable(report.hint));
  stderr.write(`${wrapped(lines.join('\n'), widthOf(stderr))}\n`);
  return exitCode;
}

/** Returns ` COMMAND` if the failure concerns an existing command, else nothing. */
function helpTopic(message: string): string {
  const [, , word = ''] = argv;
  return word.startsWith('-') || word === 'help' || message === `unknown command '${word}'` ? '' : ` ${word}`;
}

function isCommander(error: unknown): error is { code: string; exitCode: number; message: string } {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('commander.');
}

/** Returns the first letter. Typos rarely change it, but commander ignores it: it suggests "logs" for "bogus". */
function firstLetter(text: string, pattern: RegExp): string | undefined {
  return pattern.exec(text)?.[1]?.toLowerCase();
}
