// The emulator's answers from the process of the test. A start of Node takes ten times as long as a start of Perl, and the
// tests of the daemon ask for thousands of answers. The program itself is held by test/daemon/emulator.
import { createServer, type Server } from 'node:net';
import { respond } from '../../../daemon/emulator/answer.ts';
import { answer, type Command, settingOf, understand } from '../../../daemon/emulator/command.ts';
import { effectiveMode } from '../../../daemon/emulator/connection.ts';
import { control } from '../../../daemon/emulator/control.ts';
import { load } from '../../../daemon/emulator/state.ts';

/** Variable with the address of the service. The daemon passes on variables with this prefix. */
export const SERVICE = 'CULVERT_EMULATOR_SERVICE';

/** As in the headers of Linux: to load Perl's module Socket takes four times as long as all else that the client does. */
const [AF_UNIX, SOCK_STREAM] = [1, 1];

/**
 * The text of an executable that asks the service, and becomes the program where an answer takes a process.
 * @param program its executable or script, and the interpreter before it; without a quote in it
 */
export const client = (...program: string[]) => `#!/usr/bin/perl
use strict;
$| = 1;
$SIG{PIPE} = sub { exit 101 };
my @env = map "$_=$ENV{$_}", grep /^(CULVERT_EMULATOR_|HOME$|XDG_STATE_HOME$)/, keys %ENV;
socket(my $service, ${AF_UNIX}, ${SOCK_STREAM}, 0);
connect($service, pack('Sa108', ${AF_UNIX}, $ENV{${SERVICE}})) or die "The test has ended.\\n";
syswrite($service, join("\\0", scalar(@env), @env, @ARGV));
shutdown($service, 1);
my $reply = do { local $/; <$service> };
exec(${program.map(word => `'${word}', `).join('')}@ARGV) if $reply eq 'process';
$reply =~ /^(\\d+) (\\d+)\\n/ or die "The test has ended.\\n";
print STDOUT substr($reply, $+[0], $2);
print STDERR substr($reply, $+[0] + $2);
exit $1;
`;

/** Answers `client`. Close it with the test. @param socket path to listen on, at most 107 bytes */
export function serve(socket: string): Server {
  const server = createServer({ allowHalfOpen: true }, connection => {
    const parts: Buffer[] = [];
    connection.on('data', part => parts.push(part));
    connection.on('end', () => connection.end(reply(Buffer.concat(parts).toString())));
    connection.on('error', () => {}); // a client that was killed
  });
  return server.listen(socket).unref();
}

function reply(request: string): string | Buffer {
  const [count = '', ...words] = request.split('\0');
  const env = Object.fromEntries(words.slice(0, Number(count)).map(pair => pair.split(/=(.*)/s, 2)));
  const output = answered(words.slice(Number(count)), env);
  if (output === null) return 'process';
  const [stdout, stderr] = [Buffer.from(output.stdout), Buffer.from(output.stderr)];
  return Buffer.concat([Buffer.from(`${output.exitCode} ${stdout.length}\n`), stdout, stderr]);
}

/** @returns null for what takes a process */
function answered(argv: string[], env: Record<string, string>) {
  if (argv[0] === '--host-proxy') return null;
  try {
    if (argv[0] === '--emulate') {
      const { file } = settingOf(env);
      const output = control(argv.slice(1), file);
      // the program carries the words out again, and starts what proxy mode takes
      return effectiveMode(load(file)) === 'proxy' ? null : output;
    }
    const command = understand(argv, env);
    if ('exitCode' in command) return command;
    if (takesProcess(command)) return null;
    return respond(answer(command), command.words, command.globals.json, command.faults);
  } catch {
    return null; // the program says what is wrong
  }
}

/** True for a command that goes on, asks at a terminal, misbehaves as a process, or starts one. */
function takesProcess({ words, globals, faults, state }: Command): boolean {
  if (globals.listen) return true;
  if (
    (['grandchild', 'slow', 'hang', 'hang-deaf', 'terms'] as const).some(name => faults.strikes(name, words) !== null)
  )
    return true;
  return faults.has('proxy-silent') === null && (effectiveMode(state) === 'proxy' || words === 'mode');
}
