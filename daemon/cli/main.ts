// The control commands: one process, one command, one exit code. bin/culvert starts it for
// subcommands and --help.
import { createClient } from '../api/client.ts';
import { paths } from '../paths.ts';
import type { Context } from './context.ts';
import { EXIT, judge, usage } from './exit.ts';
import { parse } from './program.ts';
import { createStyle, printable, wantsColour } from './terminal.ts';
import { createTransport } from './transport.ts';

const { argv, env, stdin, stdout, stderr } = process;
const ended = new AbortController();
/** Known before parsing, so that a parsing failure is told as asked for. */
const json = argv.includes('--json');
const GRACE_MS = 500;
const err = createStyle(wantsColour(stderr, env));

// a reader that went away has had enough: `culvert status --watch | head -1` is no failure
stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') complain(error);
  process.exit(error.code === 'EPIPE' ? EXIT.ok : EXIT.failure);
});
stderr.on('error', () => {});
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    if (ended.signal.aborted) process.exit(EXIT.interrupted); // asked twice
    ended.abort();
    setTimeout(() => process.exit(EXIT.interrupted), GRACE_MS).unref(); // for what waits for an answer, not for the signal
  });
}

main(argv.slice(2)).then(
  code => {
    process.exitCode = code;
  },
  error => {
    process.exitCode = complain(error);
  },
);

async function main(words: string[]): Promise<number> {
  if (words[0] === '__generate') {
    const { generate } = await import('./generate.ts');
    if (!words[1]) throw usage('__generate takes the directory to write to.');
    await generate(words[1]);
    return EXIT.ok;
  }
  if (words[0] === '__install' || words[0] === '__uninstall') {
    const { installCommand, uninstallCommand } = await import('./install.ts');
    const command = words[0] === '__install' ? installCommand : uninstallCommand;
    return command(words.slice(1), env, line => void stdout.write(`${line}\n`));
  }
  const style = createStyle(wantsColour(stdout, env));
  const { run, args, options } = await parse(words.length ? words : ['--help'], style);
  const where = paths(env);
  const context: Context = {
    client: createClient(createTransport(where.socket)),
    paths: where,
    env,
    json: options.json === true,
    signal: ended.signal,
    stdin,
    stdout,
    stderr,
    style,
    print: text => void stdout.write(`${text}\n`),
    say: text => void (options.json || stderr.write(`${text}\n`)),
  };
  return (await run(context, args, options)) ?? EXIT.ok;
}

/** Tells a failure on stderr; returns the exit code. */
function complain(error: unknown): number {
  if (isCommander(error)) {
    if (error.exitCode === 0) return EXIT.ok; // help was asked for
    if (error.code === 'commander.help') return EXIT.usage; // and here printed for want of a command
    const [message = '', ...suggestion] = error.message.replace(/^error: /, '').split('\n');
    const hint = suggestion.join(' ').replace(/^\((.*)\)$/, '$1');
    return complain(usage(`${message}.`, hint || `See: culvert help ${argv[2]}`));
  }
  const { exitCode, report } = judge(error);
  if (json) {
    stderr.write(`${JSON.stringify(report, null, 2)}\n`);
    return exitCode;
  }
  const lines = [`${err.red('culvert:')} ${printable(report.detail)}`];
  const output = 'stderr' in report ? (report.stderr ?? '').trim().split('\n').map(printable) : [];
  lines.push(...output.filter(line => line && !report.detail.includes(line)).map(line => `  ${line}`));
  if (report.hint) lines.push(printable(report.hint));
  stderr.write(`${lines.join('\n')}\n`);
  return exitCode;
}

function isCommander(error: unknown): error is { code: string; exitCode: number; message: string } {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('commander.');
}
