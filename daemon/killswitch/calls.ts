// Calls of the root service, each by a short-lived busctl: the daemon holds no bus connection for what is rarely asked.
import { execFile } from 'node:child_process';
import { Problem } from '../problem.ts';
import type { Places } from './published.ts';
import { BUS_NAME, OBJECT_PATH, parsePublished, type Report } from './report.ts';
import type { Endpoint } from './rules.ts';

export type Call =
  | { method: 'Enable'; allowLan: boolean; endpoints: readonly Endpoint[] }
  | { method: 'Disable' | 'Status' }
  | { method: 'Pause'; seconds: number };

/** A person may have to find a password. */
const ASKING_SECONDS = 125;
const SECONDS = 20;

/**
 * @param interactive whether the user may be asked for permission
 * @throws Problem killswitch-not-installed, killswitch-denied, killswitch-failed
 */
export async function callService(
  call: Call,
  interactive: boolean,
  { busctl, bus, install }: Pick<Places, 'busctl' | 'bus' | 'install'>,
): Promise<Report> {
  const seconds = interactive ? ASKING_SECONDS : SECONDS;
  const options = [`--timeout=${seconds}`, `--allow-interactive-authorization=${interactive ? 'yes' : 'no'}`];
  const where = bus === null ? '--system' : `--address=${bus}`;
  const target = [BUS_NAME, OBJECT_PATH, BUS_NAME, call.method];
  const argv = [where, '--json=short', ...options, 'call', ...target, ...argumentsOf(call)];
  let { error, stdout, stderr } = await run(busctl, argv, (seconds + 5) * 1000);
  // it was ending, with nothing to guard, or died and is started again: every call may be made twice
  if (error && /disconnected from message bus|without replying/.test(stderr))
    ({ error, stdout, stderr } = await run(busctl, argv, (seconds + 5) * 1000));
  if (error) throw problemOf(error, stderr, install);
  const report = reportOf(stdout);
  if (!report) throw new Problem('killswitch-failed', 'The root service answered in words that are not understood.');
  return report;
}

/** As busctl wants them: a signature, then the values, an array led by its length. */
function argumentsOf(call: Call): string[] {
  if (call.method === 'Pause') return ['u', String(call.seconds)];
  if (call.method !== 'Enable') return [];
  const endpoints = call.endpoints.flatMap(({ cidr, protocol, ports }) => [
    cidr,
    protocol,
    String(ports.length),
    ...ports.map(String),
  ]);
  return ['ba(ssaq)', String(call.allowLan), String(call.endpoints.length), ...endpoints];
}

type Finished = { error: NodeJS.ErrnoException | null; stdout: string; stderr: string };

function run(file: string, argv: readonly string[], timeout: number): Promise<Finished> {
  const env = { PATH: process.env.PATH, LC_ALL: 'C' };
  return new Promise(resolve => {
    execFile(file, [...argv], { env, timeout, killSignal: 'SIGKILL', maxBuffer: 1 << 20 }, (error, stdout, stderr) =>
      resolve({ error: error as NodeJS.ErrnoException | null, stdout, stderr }),
    );
  });
}

function reportOf(stdout: string): Report | null {
  try {
    const [text] = (JSON.parse(stdout) as { data: [string] }).data;
    const report = JSON.parse(text) as Report;
    return parsePublished(JSON.stringify({ ...report, version: 1, pid: null, startTime: null })) ? report : null;
  } catch {
    return null;
  }
}

function problemOf(error: NodeJS.ErrnoException & { killed?: boolean }, stderr: string, install: string): Problem {
  if (error.code === 'ENOENT')
    return new Problem('killswitch-failed', 'busctl is missing, without which the root service can not be asked.', {
      hint: 'It is part of systemd.',
    });
  const said = stderr.trim().replace(/^Call failed: /, '');
  const [, code, message] = /^(Denied|InvalidArgument|LimitsExceeded|NotEnabled|Failed): (.*)/s.exec(said) ?? [];
  if (code === 'Denied' || /interactive authentication required|^access denied/i.test(said))
    return new Problem('killswitch-denied', message ?? 'The system does not permit it.', {
      hint: 'Try again and answer the question for a password, or do it as an administrator.',
    });
  if (/not provided by any \.service files|ServiceUnknown/.test(said))
    return new Problem('killswitch-not-installed', 'The kill switch is not installed on this machine.', {
      hint: `Install it with: ${install}`,
    });
  if (error.killed || /timed out|did not receive a reply/i.test(said))
    return new Problem('killswitch-failed', 'The root service did not answer in time.', {
      hint: 'See: systemctl status culvert-killswitch',
    });
  return code
    ? new Problem('killswitch-failed', message!)
    : new Problem('killswitch-failed', `The root service can't be reached: ${said || error.message}`, {
        hint: 'See: systemctl status culvert-killswitch',
      });
}
