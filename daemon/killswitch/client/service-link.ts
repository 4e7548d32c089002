// Calls the root service through short-lived busctl processes, and follows its published state. Calls are rare, so the daemon holds
// no bus connection.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { watchFile } from '../../config/watch-file.ts';
import { Problem } from '../../problem.ts';
import { PATIENCE_MS, retryMs } from '../pacing.ts';
import { BUS_NAME, OBJECT_PATH, parseReport, type Report, STATE_FILE } from '../report.ts';
import type { Endpoint } from '../rules/endpoints.ts';
import { type Message, message } from '../wording.ts';
import { isInstalled, readPublished, requireService, type ServicePaths, type Unreadable } from './published-state.ts';

export interface ServiceLink {
  isInstalled(): boolean;
  /** The published state, or a sentence that says why it can't be read. */
  published(): Report | Unreadable;
  /**
   * @param interactive whether the user may be asked for permission
   * @throws Problem killswitch-not-installed, killswitch-denied, killswitch-failed
   */
  ask(call: Call, interactive: boolean): Promise<Report>;
  /** Watches the published state, even before its directory exists. */
  follow(): void;
  close(): void;
}

/** @param changed called when the service may have published a new state */
export function createServiceLink(service: ServicePaths, changed: () => void): ServiceLink {
  let stopWatching: (() => void) | null = null;
  const follow = () => {
    const before = stopWatching;
    // begins again with each call, because a watch fails while no inotify watch is left
    stopWatching = watchFile(join(service.run, STATE_FILE), changed);
    before?.();
  };

  return {
    isInstalled: () => isInstalled(service),
    published() {
      const read = readPublished(service);
      if ('unreadable' in read) return read;
      const { version: _, pid: __, startTime: ___, ...report } = read;
      return report;
    },
    async ask(call, interactive) {
      requireService(service);
      const report = await callService(call, interactive, service);
      follow();
      return report;
    },
    follow,
    close() {
      stopWatching?.();
      stopWatching = null;
    },
  };
}

export type Call =
  | { method: 'Enable'; allowLan: boolean; endpoints: readonly Endpoint[] }
  | { method: 'TryEnable'; allowLan: boolean; endpoints: readonly Endpoint[]; seconds: number }
  | { method: 'SetEndpoints'; endpoints: readonly Endpoint[] }
  | {
      method: 'Disable' | 'Status' | 'Confirm' | 'Revert' | 'KeepInTunnel' | 'LeadOutside';
    }
  | { method: 'TryDisable'; seconds: number }
  | { method: 'Pause' | 'SignIn' | 'Blocked'; seconds: number };

/** Time limits of a call that may ask a person for a password, and of any other call. */
const ASKING_SECONDS = 125;
const SECONDS = 20;

/**
 * @param interactive whether the user may be asked for permission
 * @throws Problem killswitch-not-installed, killswitch-denied, killswitch-failed
 */
export async function callService(
  call: Call,
  interactive: boolean,
  service: Pick<ServicePaths, 'busctl' | 'bus' | 'install'>,
): Promise<Report> {
  const report = parseReport(await askService(call, interactive, service));
  if (!report) throw new Problem('killswitch-failed', message("The root service's answer can't be parsed."));
  return report;
}

/** The service's answer, unchecked. @throws as `callService` */
export async function askService(
  call: Call,
  interactive: boolean,
  { busctl, bus, install }: Pick<ServicePaths, 'busctl' | 'bus' | 'install'>,
): Promise<unknown> {
  const seconds = interactive ? ASKING_SECONDS : SECONDS;
  const options = [`--timeout=${seconds}`, `--allow-interactive-authorization=${interactive ? 'yes' : 'no'}`];
  const where = bus === null ? '--system' : `--address=${bus}`;
  const target = [BUS_NAME, OBJECT_PATH, BUS_NAME, call.method];
  const argv = [where, '--json=short', ...options, 'call', ...target, ...argumentsOf(call)];
  let { error, stdout, stderr } = await runBusctl(busctl, argv, (seconds + 5) * 1000);
  // the service was ending, or died and restarts: every call is safe to repeat
  if (error && /disconnected from message bus|without replying/.test(stderr))
    ({ error, stdout, stderr } = await runBusctl(busctl, argv, (seconds + 5) * 1000));
  if (error) throw problemOf(error, stderr, { install, call });
  return answerOf(stdout);
}

/** Arguments in busctl's notation: a signature, then the values, with the length before each array. */
function argumentsOf(call: Call): string[] {
  switch (call.method) {
    case 'Pause':
    case 'SignIn':
    case 'Blocked':
    case 'TryDisable':
      return ['u', String(call.seconds)];
    case 'Enable':
      return ['ba(ssaq)', String(call.allowLan), ...endpointWords(call.endpoints)];
    case 'TryEnable':
      return ['ba(ssaq)u', String(call.allowLan), ...endpointWords(call.endpoints), String(call.seconds)];
    case 'SetEndpoints':
      return ['a(ssaq)', ...endpointWords(call.endpoints)];
    default:
      return [];
  }
}

/** Endpoints as an argument of type `a(ssaq)` in busctl's notation. */
export function endpointWords(endpoints: readonly Endpoint[]): string[] {
  const words = endpoints.flatMap(({ cidr, protocol, ports }) => [
    cidr,
    protocol,
    String(ports.length),
    ...ports.map(String),
  ]);
  return [String(endpoints.length), ...words];
}

type Finished = { error: NodeJS.ErrnoException | null; stdout: string; stderr: string };

function runBusctl(busctl: string, argv: readonly string[], timeout: number): Promise<Finished> {
  const env = { PATH: process.env.PATH, LC_ALL: 'C' };
  return new Promise(resolve => {
    // 1 << 20 here would keep gettext 0.21 from finding the texts below
    execFile(busctl, [...argv], { env, timeout, killSignal: 'SIGKILL', maxBuffer: 2 ** 20 }, (error, stdout, stderr) =>
      resolve({ error: error as NodeJS.ErrnoException | null, stdout, stderr }),
    );
  });
}

/** null if it can't be parsed. */
function answerOf(stdout: string): unknown {
  try {
    const { data } = JSON.parse(stdout) as { data?: unknown };
    const [text] = Array.isArray(data) ? data : [];
    return typeof text === 'string' ? JSON.parse(text) : null;
  } catch {
    return null;
  }
}

/** Errors whose messages quote other programs, so that the catalogs can't translate them. */
const COMPOSED = new Set(['Failed', 'InvalidArgument']);

/** Messages of the service, each after a code from its list. */
const CODES = /^(Denied|InvalidArgument|LimitsExceeded|NotEnabled|NothingPending|Refused|Unconfirmed|Failed): (.*)/s;

/** Sentences for methods that an older root service lacks. */
const TOO_OLD: Partial<Record<Call['method'], Message>> = {
  SignIn: message('The installed root service is older than this program, and cannot let a login page through.'),
  Blocked: message('The installed root service is older than this program, and cannot say what was blocked.'),
  KeepInTunnel: message(
    'The installed root service is older than this program, and cannot keep a program in the tunnel.',
  ),
  LeadOutside: message(
    'The installed root service is older than this program, and cannot run a program outside the tunnel.',
  ),
};

/** A whole sentence of the root service, which the catalogs translate. */
function told(text: string): Message {
  return { text, values: [] };
}

function problemOf(
  error: NodeJS.ErrnoException & { killed?: boolean },
  stderr: string,
  { install, call }: { install: string; call: Call },
): Problem {
  if (error.code === 'ENOENT')
    return new Problem('killswitch-failed', message('busctl is missing. Culvert needs it to reach the root service.'), {
      hint: 'It is part of systemd.',
    });
  const said = stderr.trim().replace(/^Call failed: /, '');
  const [, code, text] = CODES.exec(said) ?? [];
  if (code === 'Denied' || /interactive authentication required|^access denied|^rejected send message/i.test(said))
    return new Problem('killswitch-denied', text ? told(text) : message('The system does not permit it.'), {
      hint: 'Try again in a session on this machine and answer the question for a password, or do it as an administrator.',
    });
  if (code === 'NothingPending') return new Problem('nothing-pending', told(text!));
  if (/no such method|unknown method/i.test(said))
    return new Problem(
      'killswitch-failed',
      TOO_OLD[call.method] ??
        message('The installed root service is older than this program, and cannot revert a change automatically.'),
      { hint: `Replace it with: ${install}` },
    );
  if (/not provided by any \.service files|ServiceUnknown/.test(said))
    return new Problem('killswitch-not-installed', message('The kill switch is not installed on this machine.'), {
      hint: `Install it with: ${install}`,
    });
  if (error.killed || /timed out|did not receive a reply/i.test(said))
    return new Problem('killswitch-failed', message('The root service did not answer in time.'), {
      hint: 'See: systemctl status culvert-killswitch',
    });
  return code
    ? new Problem('killswitch-failed', COMPOSED.has(code) ? text! : told(text!))
    : new Problem('killswitch-failed', message("The root service can't be reached: %s", said || error.message), {
        hint: 'See: systemctl status culvert-killswitch',
      });
}

/** Start of the service's answer to a user who calls too often. */
const BUSY = /^(?:Too many calls|Other requests of this user)/;

/** Repeats the call while the service is busy. @throws Problem as `askService` */
export async function askPatiently(method: 'KeepInTunnel' | 'LeadOutside', service: ServicePaths): Promise<unknown> {
  const deadline = performance.now() + PATIENCE_MS;
  for (let attempt = 1; ; attempt++) {
    try {
      return await askService({ method }, true, service);
    } catch (error) {
      if (!(error instanceof Problem) || !BUSY.test(error.message) || performance.now() > deadline) throw error;
      await delay(retryMs(attempt, Math.random()));
    }
  }
}
