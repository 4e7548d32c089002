// Words how WARP's service is started, restarted and read on this machine, in one table by what starts services here.
// Sources, read in 2026-11: openrc-run(8), rc-update(8), sv(8) of runit, s6-svc(8), and the manuals of docker and podman.
import type { ServiceManager } from '../../api/schema.ts';
import type { Message } from '../../api/values.ts';
import { message } from '../message.ts';

export type ServiceVerb = 'start' | 'restart';

/** The manager of this machine; null or absent where systemd runs. */
export type Manager = ServiceManager | null | undefined;

type Kind = ServiceManager['kind'] | 'systemd';

/** Commands of a manager, as arguments; root runs them. */
interface Way {
  start: readonly string[][];
  restart: readonly string[][];
  /** Commands that undo the start. */
  stop: readonly string[][];
}

const WAYS: Partial<Record<Kind, Way>> = {
  systemd: {
    start: [['systemctl', 'enable', '--now', 'warp-svc']],
    restart: [['systemctl', 'restart', 'warp-svc']],
    stop: [['systemctl', 'disable', '--now', 'warp-svc']],
  },
  openrc: {
    start: [
      ['rc-update', 'add', 'warp-svc'],
      ['rc-service', 'warp-svc', 'start'],
    ],
    restart: [['rc-service', 'warp-svc', 'restart']],
    stop: [
      ['rc-update', 'delete', 'warp-svc'],
      ['rc-service', 'warp-svc', 'stop'],
    ],
  },
  runit: {
    start: [['sv', 'up', 'warp-svc']],
    restart: [['sv', 'restart', 'warp-svc']],
    stop: [['sv', 'down', 'warp-svc']],
  },
  s6: {
    start: [['s6-svc', '-u', '/run/service/warp-svc']],
    restart: [['s6-svc', '-r', '/run/service/warp-svc']],
    stop: [['s6-svc', '-d', '/run/service/warp-svc']],
  },
};

/** Names of managers for people. */
const NAMES = { openrc: 'OpenRC', runit: 'runit', s6: 's6' } as const;

/** True for containers and gVisor, where sudo is rarely installed. */
const isContainer = (kind: Kind) => kind === 'docker' || kind === 'podman' || kind === 'container' || kind === 'gvisor';

/** Returns the commands of this machine's service manager for WARP's service; null if it has none. */
export function serviceCommands(verb: ServiceVerb | 'stop', manager: Manager): readonly string[][] | null {
  if (!manager) return WAYS.systemd![verb];
  return (manager.startsWarp && WAYS[manager.kind]?.[verb]) || null;
}

/** True for a command that restarts WARP's service, with any manager. */
export function isRestart(argv: readonly string[]): boolean {
  const isSame = (words: readonly string[]) => words.join('\0') === argv.join('\0');
  return Object.values(WAYS).some(({ restart }) => restart.some(isSame));
}

/** Returns a line for a terminal that starts or restarts WARP's service. */
export function serviceCommand(verb: ServiceVerb, manager: Manager): string {
  const commands = serviceCommands(verb, manager);
  if (commands) return commands.map(words => `sudo ${words.join(' ')}`).join(' && ');
  const { kind } = manager!;
  if (verb === 'restart' && (kind === 'docker' || kind === 'podman')) return `${kind} restart CONTAINER`;
  return isContainer(kind) ? 'warp-svc' : 'sudo warp-svc';
}

/** Says what `serviceCommand` does here, to stand before the command; ends with a colon. */
export function serviceSentence(verb: ServiceVerb, manager: Manager): Message {
  const isStart = verb === 'start';
  if (!manager || manager.startsWarp) return isStart ? message('Start it with:') : message('Restart it with:');
  switch (manager.kind) {
    case 'openrc':
    case 'runit':
    case 's6': {
      const name = NAMES[manager.kind];
      return isStart
        ? message('%s has no service “warp-svc” here. Start the program as root:', name)
        : message('%s has no service “warp-svc” here. End the program, and start it again as root:', name);
    }
    case 'docker':
    case 'podman':
      return isStart
        ? ENTRYPOINT
        : message('No service manager was found in this container. Restart the container on its host:');
    case 'container':
      return isStart
        ? ENTRYPOINT
        : message('No service manager was found in this container. End the program, and start it again as root:');
    case 'gvisor':
      return isStart
        ? message('gVisor runs this machine, where only the local proxy works. Start the program as root:')
        : message('gVisor runs this machine. End the program, and start it again as root:');
    case 'none':
      return isStart
        ? message('systemd does not run here. Start the program as root:')
        : message('systemd does not run here. End the program, and start it again as root:');
  }
}

const ENTRYPOINT = message(
  'No service manager was found in this container, so its entrypoint has to start WARP’s service. To start it now, as root:',
);

/** Returns the command or the place that shows the messages of WARP's service. */
export function serviceLog(manager: Manager): string {
  if (!manager) return 'journalctl -u warp-svc';
  const { kind } = manager;
  return kind === 'docker' || kind === 'podman' ? `${kind} logs CONTAINER` : '/var/log/cloudflare-warp';
}

/** Returns a command that shows whether WARP's service runs. */
export function serviceState(manager: Manager): string {
  if (!manager) return 'systemctl is-active warp-svc';
  if (!manager.startsWarp) return 'pgrep warp-svc';
  const states: Partial<Record<Kind, string>> = {
    openrc: 'rc-service warp-svc status',
    runit: 'sv status warp-svc',
    s6: 's6-svstat /run/service/warp-svc',
  };
  return states[manager.kind] ?? 'pgrep warp-svc';
}

/** Words in the files of knowledge that stand for a command of this machine. */
const PLACEHOLDERS: Record<string, (manager: Manager) => string> = {
  '{start warp-svc}': manager => serviceCommand('start', manager),
  '{restart warp-svc}': manager => serviceCommand('restart', manager),
  '{log of warp-svc}': serviceLog,
  '{state of warp-svc}': serviceState,
};

/** Replaces `{start warp-svc}` and the like in a text of the knowledge by what holds on this machine. */
export function withServiceWords(text: string, manager: Manager): string {
  return text.replace(/\{[a-z]+ (?:of )?warp-svc\}/g, name => PLACEHOLDERS[name]?.(manager) ?? name);
}
