// Defines the command line of `culvert-wrap`, and runs the account commands that shims pass on.
import type { Command } from 'commander';
import { helpTexts } from '../../daemon/core/terminal.ts';
import { catalogOf } from '../catalog/catalog.ts';
import type { Context } from '../context.ts';
import { reportReplacedShims } from '../run/original.ts';
import { exitLike } from '../run/upstream/attempt.ts';
import { AUTH_WORDS, type Programs } from '../shims/shim.ts';
import { EXIT } from '../system/errors.ts';
import { accountWords, addAccounts } from './accounts/account-commands.ts';
import { listCatalog, newEntry, showCatalog, testCatalog } from './catalog/catalog.ts';
import { complete, completionScript } from './completion.ts';
import { doctor } from './doctor.ts';
import { explain } from './explain.ts';
import { joinPool, leavePool, resetAccount, showLeases, showPool } from './pool.ts';
import { add, HELP_AFTER, parse, root, taskHelp } from './program.ts';
import { dropQueued, runQueue, showQueue } from './queue.ts';
import { setTrust, showAudit, showConfig } from './settings.ts';
import { installShims, uninstallShims } from './shims.ts';
import { status } from './status.ts';

/**
 * Runs `culvert-wrap <argv>`.
 * @throws WrapError any error of a command
 */
export async function runCommands(
  argv: readonly string[],
  context: Context,
  programs: Programs,
  version: string,
): Promise<void> {
  const program = root()
    .enablePositionalOptions()
    .description('Several accounts for one command-line tool: when one fails, the next is used')
    .version(`culvert-wrap ${version}`, '-V, --version', 'print the version');

  add(
    program,
    'install [cli...]',
    'put shims in place of tools; by default, of each known tool in your own directories',
  )
    .option('--dir <directory>', 'put the shim here; the original stays where it is')
    .option('--force', 'also move a script that looks for files in its own directory')
    .action((names: string[], options) => installShims(names, options, context, programs));
  add(program, 'uninstall [cli...]', 'remove shims and restore the originals; by default, of all tools').action(
    (names: string[], options) => uninstallShims(names, options, context),
  );
  add(program, 'status [cli]', 'show the remaining quota of each account, and the total')
    .option('--watch [interval]', 'repeat at this interval; default: 30s')
    .option('--check', 'exit 3 with too few usable accounts or too little quota')
    .action((cli: string | undefined, options) => status(cli, options, context));
  add(program, 'doctor', 'find problems')
    .option('--probe', 'test each credential with its provider')
    .action(options => doctor(options, context, programs));
  program
    .command('run <cli> [args...]')
    .description('run a tool once with its accounts, without a shim: run firecrawl -- search x')
    .passThroughOptions()
    .exitOverride()
    .action(async (cli: string, args: string[]) => {
      const end = await (await import('./run.ts')).runTool(cli, args, context);
      exitLike(end.exit, end.signal);
    });
  add(program, 'explain <cli> [args...]', 'show which account a command would use, and why')
    .option('--verbose', 'show the rules as the catalog writes them')
    .passThroughOptions()
    .action((cli: string, args: string[], options) => {
      const own = args.filter(arg => arg !== '--json');
      return explain(cli, own, { ...options, json: options.json || own.length < args.length }, context);
    });
  addAccounts(program, context);
  addMcp(program, context);
  addServe(program, context, programs);
  addCatalog(program, context);
  addQueue(program, context, programs);
  addPool(program, context);
  add(program, 'config', 'show files and settings').action(options => showConfig(options, context));
  for (const trusted of [true, false]) {
    add(
      program,
      `${trusted ? 'trust' : 'distrust'} [directory]`,
      `${trusted ? 'let' : 'no longer let'} a directory choose accounts`,
    ).action((directory: string | undefined, options) => setTrust(directory, trusted, options, context));
  }
  add(program, 'audit', 'show which account ran which command')
    .option('--last <n>', 'number of entries', '50')
    .action(options => showAudit(options, context));
  program
    .command('metrics')
    .description('print accounts, pauses, switches and runs as metrics for Prometheus')
    .option('--out <file>', 'write to this file, for the textfile collector of a node exporter; all users can read it')
    .option('--hash-accounts', 'show hashes instead of account names')
    .exitOverride()
    .action(async options => (await import('./metrics.ts')).printMetrics(options, context));
  add(program, 'completion <shell>', 'print a completion script for bash, zsh or fish').action((shell: string) => {
    process.stdout.write(completionScript(shell, context));
  });
  program
    .command('__complete <program> [words...]', { hidden: true })
    .allowUnknownOption()
    .passThroughOptions()
    .action((name: string, words: string[]) => {
      process.stdout.write(
        completions(program, name, words, context)
          .map(word => `${word}\n`)
          .join(''),
      );
    });
  program
    .command('__help', { hidden: true })
    .description('prints the help of every command as JSON, for the manual page')
    .action(() => {
      process.stdout.write(JSON.stringify(Object.fromEntries(helpTexts(program))));
    });
  program.addHelpText('after', HELP_AFTER);
  switch (argv.join(' ')) {
    case '':
      process.stderr.write(taskHelp());
      process.exitCode = EXIT.usage;
      break;
    case '-h':
    case 'help':
    case '--help':
      process.stdout.write(taskHelp());
      break;
    case 'help --all':
    case '--all --help':
    case '--help --all':
      await parse(program, ['--help']);
      break;
    default:
      await parse(program, argv);
      if (!SILENT_ON_SHIMS.has(argv[0]!)) reportReplacedShims(context, true);
  }
}

/** Commands that inspect shims themselves, or print output for programs. */
const SILENT_ON_SHIMS = new Set([
  'doctor',
  'status',
  'install',
  'uninstall',
  'mcp',
  'completion',
  '__complete',
  '__help',
]);

function addMcp(program: Command, context: Context): void {
  const mcp = program
    .command('mcp')
    .enablePositionalOptions()
    .description('run an MCP server on stdio with accounts: mcp -- npx -y tavily-mcp');
  mcp
    .command('run <server...>', { isDefault: true })
    .description('run a server; it stands in place of the command in the configuration of a client')
    .option('--cli <cli>', 'the tool whose accounts it uses; by default, that of the catalog')
    .option('--env <name>', 'with --cli: any other server, which reads its key in this variable')
    .passThroughOptions()
    .exitOverride()
    .action(async (server: string[], options: { cli?: string; env?: string }) => {
      const { runServer } = await import('../mcp/run.ts');
      const end = await runServer(server, options, context);
      exitLike(end.exit, end.signal);
    });
  for (const put of [true, false]) {
    const command = add(
      mcp,
      put ? 'install' : 'uninstall',
      put ? 'have MCP clients use their servers with accounts' : 'have MCP clients use their servers as before',
    )
      .option('--yes', 'change the files without asking')
      .option('--check', 'show the changes, and make none');
    if (put) {
      command.option('--file', 'store the keys of the clients in a file that only you can read');
      command.option(
        '--server <name...>',
        "give accounts to this server of a project's files as well, as NAME or FILE:NAME",
      );
    }
    command.action(async options => (await import('./mcp.ts')).changeClients(put, options, context));
  }
}

function addServe(program: Command, context: Context, programs: Programs): void {
  const serve = program
    .command('serve')
    .enablePositionalOptions()
    .description('let programs use the accounts and hold no key: "serve firecrawl -- node app.js"');
  serve
    .command('run <cli> [command...]', { isDefault: true })
    .description('run a program that uses the accounts; without one, serve programs with a token until Ctrl+C')
    .option('--port <port>', 'listen on this port of 127.0.0.1, now and later')
    .option('--env', 'print variables for `eval`, with a token for this shell')
    .option('--expires <duration>', 'with --env: how long the token can be used; default: 12h')
    .option('--install', 'have systemd listen on the port, and start the gateway with the first connection')
    .option('--uninstall', 'no longer have systemd start it')
    .option('--idle <duration>', 'when systemd started it: end after this time without a connection; default: 1m')
    .exitOverride()
    .action(async (cli: string, command: string[], options) => {
      const own = await import('./serve.ts');
      await own.serve(cli, command, options, { context, programs });
    });
  add(serve, 'status [cli]', 'show gateways, their programs, and what these have used').action(
    async (cli: string | undefined, options) => (await import('./serve.ts')).gatewayStatus(cli, options, context),
  );
  const token = serve.command('token').enablePositionalOptions().description('tokens of programs that use a gateway');
  add(token, 'add <cli> <name>', 'make a token, and print its placeholder once')
    .option('--expires <duration>', 'how long it can be used, for example 30d; default: until it is revoked')
    .option('--budget <amount>', "the most that its requests may cost, in the provider's unit")
    .action(async (cli: string, name: string, options) => {
      await (await import('./serve.ts')).newToken(cli, name, options, context);
    });
  add(token, 'list [cli]', 'list the tokens and what they have used', true).action(
    async (cli: string | undefined, options) => (await import('./serve.ts')).listTokens(cli, options, context),
  );
  add(token, 'revoke <cli> <name>', 'refuse a token from now on').action(async (cli: string, name: string, options) =>
    (await import('./serve.ts')).revokeToken(cli, name, options, context),
  );
}

function addCatalog(program: Command, context: Context): void {
  const catalog = program.command('catalog').description('list, test, update and extend the known tools');
  add(catalog, 'list', 'list the entries', true).action(options => listCatalog(options, context));
  add(catalog, 'show <cli>', 'show one entry').action((cli: string, options) => showCatalog(cli, options, context));
  add(catalog, 'test <cli>', 'run the installed tool against a fake of its API, and report changes').action(
    (cli: string, options) => testCatalog(cli, options, context),
  );
  add(catalog, 'update [source]', 'take newer rules, from a file or an address; shows what changes, and asks')
    .option('--yes', 'take them without asking')
    .option('--revert', 'revert the last update')
    .action(async (source: string | undefined, options) =>
      (await import('./catalog/update.ts')).updateCatalog(source, options, context),
    );
  add(catalog, 'new <name>', 'write an entry for another tool')
    .option('--bin <command>', 'the command on PATH')
    .option('--inject <variable...>', 'environment variables with the credential')
    .option('--auth-command <word>', 'the word for account commands')
    .option('--passthrough <word...>', 'commands and options that need no account; "" for no arguments')
    .option('--http <address>', "the provider's address, for programs behind `serve`; without --bin there is no tool")
    .option('--key-header <name>', 'with --http: the header that carries the key; default: authorization')
    .action((name: string, options) => newEntry(name, options, context));
}

function addQueue(program: Command, context: Context, programs: Programs): void {
  const queue = program.command('queue').description('commands that wait for quota');
  add(queue, 'list', 'list queued commands', true).action(options => showQueue(options, context));
  add(queue, 'run [id...]', 'run queued commands').action((ids: string[], options) =>
    runQueue(ids, options, context, programs),
  );
  add(queue, 'drop [id...]', 'delete queued commands')
    .option('--all', 'all of them')
    .action((ids: string[], options) => dropQueued(ids, options, context));
}

/** Completes words of `culvert-wrap`, or the words after the account command of a wrapped CLI. */
function completions(program: Command, name: string, words: string[], context: Context): string[] {
  if (name === 'culvert-wrap') return complete(program, words, context);
  const { providers } = catalogOf(context);
  const cli = Object.hasOwn(providers, name) ? name : undefined;
  if (!cli || words.length < 2 || words[0] !== providers[cli]!.auth_command) return [];
  const [, word, ...rest] = words;
  if (rest.length === 0) return AUTH_WORDS.filter(each => each.startsWith(word!));
  return complete(program, accountWords(cli, [word!, ...rest]), context);
}

/** Runs an account command of `cli`: `list`, `add team-b`, … */
export async function runAuth(cli: string, argv: readonly string[], context: Context): Promise<void> {
  const program = root();
  addAccounts(program, context);
  await parse(program, accountWords(cli, argv));
}

function addPool(program: Command, context: Context): void {
  const pool = program.command('pool').description('share accounts with other machines through Valkey or Redis');
  add(pool, 'join <url>', 'use the store at valkey://HOST:PORT/DATABASE; also valkeys:// (TLS), valkey+unix:///PATH')
    .option('--user <name>', 'the ACL user')
    .option('--password <source>', 'source of the password: env:NAME, file:PATH#KEY, pass:, command:, keyring: (asks)')
    .option('--sentinel-user <name>', 'the ACL user of the Sentinels, if they need a login')
    .option('--sentinel-password <source>', 'source of their password, like --password')
    .option('--ca <file>', 'trusted certificate authorities, in PEM')
    .option('--machine <name>', 'name of this machine in `pool leases`')
    .option('--offline <policy>', 'without the store: refuse (exit 69), or local (the share of the reserve)')
    .option('--machines <n>', 'number of machines that share the reserve')
    .action((url: string, options) => joinPool(url, options, context));
  add(pool, 'leave', 'stop sharing accounts, and forget the password of the store').action(options =>
    leavePool(options, context),
  );
  add(pool, 'status', 'show the store and the remaining quota of its accounts', true).action(options =>
    showPool(options, context),
  );
  add(pool, 'leases', 'show which machine uses which account').action(options => showLeases(options, context));
  add(pool, 'reset <account>', 'use a paused account again on all machines, and ask its provider')
    .option('--cli <cli>', 'only this tool')
    .action((name: string, options) => resetAccount(name, options, context));
}
