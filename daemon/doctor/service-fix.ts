// Replaces fixes by systemd, on a machine without it, by commands of its service manager or by advice.
import type { Fix } from '../api/doctor.ts';
import type { ServiceManager } from '../api/schema.ts';
import type { Message } from '../api/values.ts';
import { serviceCommand, serviceCommands, serviceSentence } from '../view/client/service-words.ts';
import { quote } from '../view/fix.ts';
import { message, quoted } from '../view/message.ts';
import type { Finding } from './check.ts';

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
  if (fix.kind !== 'commands' || !fix.commands.some(isOfSystemd)) return finding;
  const { repair: _, ...rest } = fix; // culvert-repair asks systemd
  const commands = fix.commands.flatMap(each => inItsPlace(each, manager));
  const undo = fix.undo.flatMap(each => inItsPlace(each, manager));
  const advice = fix.commands.flatMap(each => adviceOn(each, manager));
  return { ...withAdvice(finding, ...advice), fix: commands.length > 0 ? { ...rest, commands, undo } : null };
}

const isOfSystemd = ([program = '']: readonly string[]) => OF_SYSTEMD.includes(program);

const VERBS = ['start', 'restart', 'stop'] as const;
type Verb = (typeof VERBS)[number];

/** Returns what a command of systemd does with WARP's unit; null for any other command. */
function verbOf(command: readonly string[]): Verb | null {
  const line = quote(command);
  return VERBS.find(verb => line === quote(serviceCommands(verb, null)![0]!)) ?? null;
}

/** Returns the commands of the manager for one of systemd, an empty list if it lacks them; any other command stays as it is. */
function inItsPlace(command: readonly string[], manager: ServiceManager): string[][] {
  if (!isOfSystemd(command)) return [[...command]];
  const verb = verbOf(command);
  return ((verb && serviceCommands(verb, manager)) ?? []).map(words => [...words]);
}

/** Says what a command of systemd would do, if the manager has none for it. */
function adviceOn(command: readonly string[], manager: ServiceManager): Message[] {
  if (!isOfSystemd(command)) return [];
  const verb = verbOf(command);
  if (verb && serviceCommands(verb, manager)) return [];
  if (verb === 'start' || verb === 'restart')
    return [serviceSentence(verb, manager), quoted(serviceCommand(verb, manager))];
  return [adviceOnOther(command)];
}

/** Says what a command of systemd would do, without it. */
function adviceOnOther(command: readonly string[]): Message {
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
  const { restart: _, repair: __, ...rest } = fix; // culvert-repair restarts the unit as well
  return rest;
}
