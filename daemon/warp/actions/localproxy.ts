// Turns on the local proxy: sets protocol, mode and connection in the order that the CLI accepts, tests it, or reverts all.
import { setTimeout as delay } from 'node:timers/promises';
import { type ActionRequest, actionRequest } from '../../api/actions.ts';
import type { CommandOutput, Status } from '../../api/schema.ts';
import { Problem } from '../../problem.ts';
import type { State } from '../../state/store.ts';
import { modeName } from '../../view/client/labels.ts';
import { message } from '../../view/message.ts';
import { english } from '../../view/translator.ts';
import { blockedProblem } from '../cli/failures.ts';
import type { Capabilities } from '../cli/version.ts';
import { type Answers, type Listener, listeners, nameListener, probeProxy } from './ports.ts';

interface Parts {
  state: State;
  can: Capabilities;
  /** Runs a command of the tunnel CLI. @throws Problem */
  run(request: ActionRequest): Promise<CommandOutput>;
  /** Reads the settings again if they may have changed. */
  readSettings(): Promise<void>;
  /** True if the daemon is shutting down. */
  stopped(): boolean;
  /** Time limit for the proxy's answer. */
  limitMs: number;
}

/** Longest time neither connected nor connecting: `Unable` may be a phase between two attempts of the client. */
const HOPELESS_MS = 5000;
const PAUSE_MS = 100;
const PROBE_MS = 3000;
/** The documented port, used if the CLI does not report a port. */
const DEFAULT_PORT = 40_000;

/**
 * Resolves when 127.0.0.1:PORT answers as a proxy, with the output of the mode's command; null if it already did.
 * Reverts all changes after a failure.
 * @throws Problem `proxy-port-in-use`, `proxy-not-answering`, or a problem of the tunnel CLI's commands
 */
export async function enableLocalProxy(parts: Parts): Promise<CommandOutput | null> {
  const { state, run, readSettings } = parts;
  await readSettings();
  const { settings, tunnel, status } = state.snapshot();
  const up = status.state === 'connected' || status.state === 'connecting';
  const inMode = settings.Mode === 'proxy';
  if (inMode && status.state === 'connected' && suffices(await probeProxy(portOf(parts), PROBE_MS), parts)) return null;

  const before = await listeners();
  // in proxy mode with a connection, WARP itself listens on the port
  const foreign = (port: number) => (inMode && up ? undefined : before.get(port));
  if (tunnel.proxyPort !== null) await refuseTaken(tunnel.proxyPort, foreign(tunnel.proxyPort));

  const undo: ActionRequest[] = [];
  try {
    await useMasque(parts, undo);
    const output = await run({ action: 'enableLocalProxy' });
    if (!inMode && settings.Mode) undo.unshift(actionRequest('setMode', settings.Mode));
    await readSettings();
    checkMode(parts);
    // the CLI prints the port only in proxy mode
    await refuseTaken(portOf(parts), foreign(portOf(parts)));
    if (!up) {
      await run({ action: 'connect' });
      undo.unshift({ action: 'disconnect' });
    }
    await untilAnswering(parts);
    return output;
  } catch (cause) {
    throw await undone(cause, undo, parts);
  }
}

/** Sets the protocol to MASQUE if the CLI can, because proxy mode needs it in every release since 2025.8. */
async function useMasque({ state, can, run }: Parts, undo: ActionRequest[]): Promise<void> {
  const protocol = state.snapshot().settings['WARP tunnel protocol'];
  if (!can.protocol || protocol === 'MASQUE') return;
  try {
    await run({ action: 'setProtocol', value: 'MASQUE' });
    if (protocol === 'WireGuard') undo.unshift({ action: 'setProtocol', value: protocol });
  } catch (cause) {
    if (!(cause instanceof Problem && cause.code === 'unsupported-by-cli')) throw cause;
  }
}

function checkMode({ state }: Parts): void {
  const { Mode } = state.snapshot().settings;
  if (Mode === undefined || Mode === 'proxy') return;
  throw new Problem(
    'proxy-not-answering',
    `The tunnel CLI accepted proxy mode, but its mode is still “${modeName(Mode, english).title}”.`,
    {
      hint: 'A policy of your organization may keep it.',
    },
  );
}

async function refuseTaken(port: number, listener: Listener | undefined): Promise<void> {
  if (listener) throw portInUse(port, await nameListener(listener));
}

/** @param program name of the program; null if unknown */
function portInUse(port: number, program: string | null): Problem {
  const said =
    program === null
      ? message('Port %s of the local proxy is in use by another program.', String(port))
      : message('Port %s of the local proxy is in use by %s.', String(port), program);
  const problem = new Problem('proxy-port-in-use', said, {
    hint: `End that program, or choose another port with the action setProxyPort, such as ${port + 1}.`,
  });
  problem.uncertain = false; // the port is checked before the first change, or the changes are reverted
  return problem;
}

async function untilAnswering(parts: Parts): Promise<void> {
  const { state, stopped, limitMs } = parts;
  const deadline = performance.now() + limitMs;
  let hopeSince = performance.now();
  let answers: Answers = { open: false, socks5: false, http: false };
  for (;;) {
    const now = performance.now();
    const { status } = state.snapshot();
    const port = portOf(parts);
    if (stopped()) throw new Problem('internal-error', 'The daemon is shutting down.');
    if (status.blocked) throw blockedProblem(status.blocked, state.snapshot());
    if (status.reason?.code === 'ProxyAddressBound') {
      const listener = (await listeners()).get(port);
      throw portInUse(port, listener ? await nameListener(listener) : null);
    }
    if (status.state === 'connected' || status.state === 'connecting') hopeSince = now;
    if (now - hopeSince > HOPELESS_MS || now > deadline) throw notAnswering(port, answers, status);
    answers = await probeProxy(port, Math.min(PROBE_MS, Math.max(deadline - now, 1)));
    if (suffices(answers, parts)) return;
    await delay(PAUSE_MS);
  }
}

/** True if the answers suffice: releases before 2025.8 promise only SOCKS5. */
function suffices({ socks5, http }: Answers, { can }: Parts): boolean {
  return socks5 && (http || !can.httpProxy);
}

function notAnswering(port: number, { open, socks5, http }: Answers, status: Status): Problem {
  const seen = !open
    ? 'nothing listens there'
    : !socks5 && !http
      ? 'it accepts connections, but speaks neither SOCKS5 nor HTTP'
      : `it speaks ${socks5 ? 'SOCKS5, but not HTTP' : 'HTTP, but not SOCKS5'}`;
  const reason = status.reason ? ` (${status.reason.text})` : '';
  return new Problem(
    'proxy-not-answering',
    `The local proxy does not answer on 127.0.0.1:${port}: ${seen}. The tunnel is ${status.state}${reason}.`,
    {
      hint: 'A registration from the time before MASQUE has this effect as well: delete it and register again.',
    },
  );
}

function portOf({ state }: Parts): number {
  return state.snapshot().tunnel.proxyPort ?? DEFAULT_PORT;
}

/** Reverts the changes, and returns the failure with a hint that names the changes that could not be reverted. */
async function undone(cause: unknown, undo: ActionRequest[], { run, readSettings, stopped }: Parts) {
  const left: string[] = [];
  for (const request of stopped() ? [] : undo)
    await run(request).catch(() => left.push([request.action, request.value].filter(Boolean).join(' ')));
  if (undo.length > 0 && !stopped()) await readSettings();
  if (!(cause instanceof Problem)) return cause;
  cause.uncertain = stopped() || (cause.uncertain ?? false);
  if (left.length === 0) return cause;
  const hint = [cause.extras.hint, `This could not be reverted: ${left.join(', ')}.`].filter(Boolean).join(' ');
  const problem = new Problem(cause.code, cause.said, { ...cause.extras, hint }, cause);
  problem.uncertain = true;
  return problem;
}
