// Replaces fixes by systemd, on a machine without it, by commands of its service manager or by advice.
import type { Fix } from '../api/doctor.ts';
import type { ServiceManager } from '../api/schema.ts';
import type { Message } from '../api/values.ts';
import { type ServiceVerb, serviceCommand, serviceCommands, serviceSentence } from '../view/client/service-words.ts';
import { quote } from '../view/fix.ts';
import { message, quoted } from '../view/message.ts';
import type { Finding } from './check.ts';

type CommandFix = Extract<Fix, { kind: 'commands' }>;

/** Programs of systemd, which do nothing where it does not run. */
const OF_SYSTEMD = ['systemctl', 'systemd-run', 'resolvectl', 'journalctl'];

/**
 * Returns a finding whose fix can be made on this machine.
 * @param manager what starts services instead of systemd; null where that runs, which leaves the finding as it is
 */
export function forThisMachine(finding: Finding, manager: ServiceManager | null): Finding {
  const { fix } = finding;
  if (!manager || !fix) return finding;
  if (fix.kind === 'file' && fix.restart)
    return {
      ...withAdvice(finding, message('Restart it yourself after that: %s', fix.restart)),
      fix: withoutRestart(fix),
    };
  const command = fix.kind === 'commands' && fix.commands.find(([program = '']) => OF_SYSTEMD.includes(program));
  if (!command) return finding;
  const verb = verbOf(fix as CommandFix);
  if (verb) return forWarp(finding, fix as CommandFix, { verb, manager });
  return { ...withAdvice(finding, adviceOn(command)), fix: null };
}

/** Returns the verb of a fix that only starts or restarts WARP's unit, or null. */
function verbOf({ commands }: CommandFix): ServiceVerb | null {
  const line = commands.length === 1 ? quote(commands[0]!) : '';
  const verbs: readonly ServiceVerb[] = ['start', 'restart'];
  return verbs.find(verb => line === quote(serviceCommands(verb, null)![0]!)) ?? null;
}

/** Takes the commands of the manager, where it knows WARP's service; else says what to do. */
function forWarp(
  finding: Finding,
  fix: CommandFix,
  { verb, manager }: { verb: ServiceVerb; manager: ServiceManager },
): Finding {
  const commands = serviceCommands(verb, manager);
  if (commands) {
    const { repair: _, ...rest } = fix; // root's side asks systemd
    const undo = verb === 'start' ? serviceCommands('stop', manager)! : [];
    return { ...finding, fix: { ...rest, commands: copies(commands), undo: copies(undo) } };
  }
  const advice = [serviceSentence(verb, manager), quoted(serviceCommand(verb, manager))];
  return { ...withAdvice(finding, ...advice), fix: null };
}

const copies = (commands: readonly (readonly string[])[]) => commands.map(words => [...words]);

/** Says what a command of systemd would do, without it. */
function adviceOn(command: readonly string[]): Message {
  const [program, ...words] = command;
  if (program === 'systemd-run') {
    const own = words.filter(word => !word.startsWith('--'));
    return message('Run this yourself: %s', quote(own));
  }
  const does = words.filter(word => !word.startsWith('-'));
  return message('systemd does not run here. Do this yourself, as root: %s', does.join(' '));
}

function withAdvice(finding: Finding, ...advice: Message[]): Finding {
  const { explanation } = finding;
  return { ...finding, explanation: [...(explanation ?? []), ...advice] };
}

function withoutRestart(fix: Extract<Fix, { kind: 'file' }>): Fix {
  const { restart: _, repair: __, ...rest } = fix; // root's side restarts the unit as well
  return rest;
}
