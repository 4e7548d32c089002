// Lets chosen programs bypass the tunnel: links the network namespace that a program made for itself to the uplink, and keeps
// the links and their passage in step with the programs. It knows no bus, files or processes, which come in as `OutsideEdges`.
import { createQueue, createShared } from './pacing.ts';
import { createPassage, type Owner, type PassageEdges } from './passage.ts';
import type { OutsideRules } from './rules/outside.ts';
import { addressesOf, MAX_LINKS, MAX_LINKS_OF_USER, PREFIX, PREFIX_6 } from './rules/place.ts';
import { type Elements, EXCEPTIONS, quoted } from './rules/rules.ts';
import { ancestorsOf, type Process, type ProgramEdges, requireAsked } from './tunnel-only.ts';
import { messageOf, N_, SwitchError } from './wording.ts';

/** Wait after a failure. */
const AGAIN_SECONDS = 1;

/** Settings of the program’s side of its link. */
export interface Outside {
  address: string;
  gateway: string;
  /** null if the uplink has no IPv6, or if the kernel can't forward it. */
  address6: string | null;
  gateway6: string | null;
  /** False if only the kernel prevents IPv6. */
  complete: boolean;
  /** Address of the name server. */
  nameserver: string;
  /** True if the link stays off until an allowed program runs. */
  waits: boolean;
}

export interface OutsideEdges
  extends ExceptionEdges,
    PassageEdges,
    Pick<ProgramEdges, 'isSupported' | 'processOf' | 'hasAsked'> {
  /** True for a program that is kept in the tunnel. */
  isKept(pid: number): boolean;
  /** True if any rule of the kill switch is in force. */
  switchOn(): Promise<boolean>;
  /** True if an organization manages this machine's WARP; null if WARP did not say. */
  managed(): Promise<boolean | null>;
  /** True if an administrator allowed at least one program while the kill switch is on. */
  allowsAny(): boolean;
  /** Makes a link with its other end in the network namespace of a process, not in this namespace. @throws Error */
  addLink(number: number, owner: Owner, mtu: number): Promise<void>;
  isRemembered(): boolean;
  /** Calls `ring` after some seconds, in place of an earlier alarm; null sets no alarm. */
  alarm(seconds: number | null, ring: () => void): void;
}

export interface OutsidePrograms {
  /** Adopts programs that outlived an earlier service, and removes leftovers of ended programs. Never throws. */
  start(): Promise<void>;
  /**
   * Gives a link to the network namespace of the caller's parent, which prepares a program, and of the caller's grandparent,
   * the shell that becomes the program. Callers can't name a process.
   * @throws SwitchError InvalidArgument, LimitsExceeded, Failed
   */
  place(caller: { uid: number; pid: number }): Promise<Outside>;
  /** Brings everything in step with the programs. Never throws. */
  check(): Promise<void>;
  /** True if there is no program, so the process may end. */
  idle(): boolean;
}

export function createOutside(edges: OutsideEdges): OutsidePrograms {
  const inTurn = createQueue();
  const passage = createPassage(edges);
  const exceptions = createExceptions(edges);
  const reportTrouble = (error: unknown) =>
    edges.report(`programs outside the tunnel may have no network: ${messageOf(error)}`);

  async function settle(): Promise<void> {
    for (const [number, owner] of edges.links()) if (owner === null) await edges.removeLink(number);
    if (edges.links().size) await passage.open(await passage.uplinks());
    else if (passage.isOpen() || edges.isRemembered()) await passage.close();
    await checkExceptions();
  }

  async function checkExceptions(): Promise<void> {
    const seconds = await exceptions.check(passage.devices()).catch(error => {
      reportTrouble(error);
      return AGAIN_SECONDS;
    });
    edges.alarm(seconds, () => void inTurn(checkExceptions));
  }

  const check = createShared(inTurn, settle);
  const checkQuietly = () => check().catch(reportTrouble);

  async function place(caller: { uid: number; pid: number }): Promise<Outside> {
    const { shell, waits } = await checkRequest(edges, caller);
    const found = await passage.uplinks();
    const mtu = Math.min(...[found[4], found[6]].flatMap(uplink => uplink?.mtu ?? []));
    if (!Number.isFinite(mtu)) throw new SwitchError('Refused', N_('There is no network outside the tunnel.'));
    const number = freeNumber(edges.links(), caller.uid);
    try {
      await edges.addLink(number, { ...shell, uid: caller.uid }, mtu);
      // by now another process may have the number
      if (edges.processOf(shell.pid)?.startTime !== shell.startTime) throw new Error('the process has ended');
      const uplinks = await passage.open(found);
      if (!waits) await edges.startLink(number);
      await checkExceptions();
      return { ...outsideOf(number, uplinks, found[6] !== null), waits };
    } catch (error) {
      await edges.removeLink(number).catch(() => {});
      await settle().catch(() => {});
      if (error instanceof SwitchError) throw error;
      throw new SwitchError('Failed', `The program could not be run outside the tunnel: ${messageOf(error)}`, error);
    }
  }

  return {
    start: checkQuietly,
    place: caller => inTurn(() => place(caller)),
    check: checkQuietly,
    idle: () => edges.links().size === 0 && !passage.isOpen(),
  };
}

/** @throws SwitchError LimitsExceeded */
function freeNumber(links: ReadonlyMap<number, Owner | null>, uid: number): number {
  const own = [...links.values()].filter(owner => owner?.uid === uid).length;
  const free = Array.from({ length: MAX_LINKS }, (_, number) => number).find(number => !links.has(number));
  if (own >= MAX_LINKS_OF_USER || free === undefined)
    throw new SwitchError(
      'LimitsExceeded',
      N_('At most 16 programs of a user, and 64 of all users, can be outside the tunnel. End one of them first.'),
    );
  return free;
}

/** @throws SwitchError */
async function checkRequest(
  edges: OutsideEdges,
  { uid, pid }: { uid: number; pid: number },
): Promise<{ shell: Process; waits: boolean }> {
  if (!edges.isSupported())
    throw new SwitchError('Refused', N_('This needs systemd, and the program "ip" of iproute2.'));
  const processes = ancestorsOf(edges.processOf, { uid, pid });
  if (!processes) throw new SwitchError('Refused', N_('Only a process of your own can bypass the tunnel.'));
  if ([pid, ...processes.map(process => process.pid)].some(edges.isKept))
    throw new SwitchError('Refused', N_('A program that uses the tunnel only can’t start one outside it.'));
  requireAsked(edges, processes);
  const waits = await edges.switchOn();
  if (waits && !edges.allowsAny())
    throw new SwitchError('Refused', N_('The kill switch is on, so no program may send outside the tunnel.'));
  const managed = await edges.managed();
  if (managed !== false)
    throw new SwitchError(
      'Refused',
      managed
        ? N_('An organization manages WARP on this machine, so no program may bypass the tunnel.')
        : N_('WARP did not say whether an organization manages it, so no program may bypass the tunnel.'),
    );
  return { shell: processes[1]!, waits };
}

function outsideOf(number: number, uplinks: OutsideRules['uplinks'], has6: boolean): Omit<Outside, 'waits'> {
  const { address, gateway, address6, gateway6 } = addressesOf(number);
  if (!uplinks[4] && !uplinks[6])
    throw new SwitchError(
      'Refused',
      N_('This kernel can’t forward IPv6 for one link alone, and the uplink has nothing else.'),
    );
  const six = uplinks[6] !== null;
  return {
    address: `${address}/${PREFIX}`,
    gateway,
    address6: six ? `${address6}/${PREFIX_6}` : null,
    gateway6: six ? gateway6 : null,
    complete: six || !has6,
    nameserver: uplinks[4]?.resolver || !uplinks[6]?.resolver ? gateway : gateway6,
  };
}

export interface ExceptionEdges extends Pick<PassageEdges, 'links'> {
  /**
   * Says, for the log, why the link of a process is blocked. null: the process, and every other process in its network, runs a
   * program that an administrator allowed.
   */
  refusalOf(owner: Owner): string | null;
  /** True if the kill switch is on, paused or on trial. */
  isGuarded(): boolean;
  /** True if the rules of the kill switch are in force. */
  isBlocking(): boolean;
  /** Replaces elements of the kill switch's table. @throws Error */
  fill(elements: Elements): Promise<void>;
  isStarted(number: number): boolean;
  /** @throws Error */
  startLink(number: number): Promise<void>;
  /** @throws Error */
  removeLink(number: number): Promise<void>;
  /** Monotonic time, in seconds. */
  now(): number;
  report(trouble: string): void;
}

interface Exceptions {
  /**
   * Brings links and the kill switch in step with the programs.
   * @param uplinks devices that lead outside the tunnel
   * @returns seconds until the next call is due; null if there is no link. @throws Error
   */
  check(uplinks: readonly string[]): Promise<number | null>;
}

/** Time for which a link waits for its program. */
const WAIT_SECONDS = 10;
/** Seconds between checks; the kernel forgets an element after five seconds. */
const EVERY = { waiting: 0.02, running: 1 };

function createExceptions(edges: ExceptionEdges): Exceptions {
  /** Links that wait for their program, each with the time when it was first seen. */
  const waiting = new Map<number, number>();
  /** The last report about each started link that is now blocked. */
  const reported = new Map<number, string>();
  let isFilled = false;

  async function fill(numbers: readonly number[], uplinks: readonly string[]): Promise<void> {
    if (!edges.isBlocking() || (!numbers.length && !isFilled)) return;
    const pairs = numbers.flatMap(number => uplinks.map(uplink => [addressesOf(number).device, uplink] as const));
    const elements = pairs.flatMap(([a, b]) => [`${quoted(a)} . ${quoted(b)}`, `${quoted(b)} . ${quoted(a)}`]);
    await edges.fill({ [EXCEPTIONS]: elements });
    isFilled = elements.length > 0;
  }

  async function giveUp(number: number, since: number, refusal: string): Promise<void> {
    if (edges.now() - since < WAIT_SECONDS) return;
    waiting.delete(number);
    edges.report(`link ${number} is removed: ${refusal}`);
    await edges.removeLink(number);
  }

  /** Reports started links that are now blocked, once for each reason. */
  function reportBlocked(refusals: ReadonlyMap<number, string>): void {
    for (const number of reported.keys()) if (!refusals.has(number)) reported.delete(number);
    for (const [number, refusal] of refusals) {
      if (!edges.isStarted(number) || reported.get(number) === refusal) continue;
      reported.set(number, refusal);
      edges.report(`link ${number} is blocked: ${refusal}`);
    }
  }

  async function check(uplinks: readonly string[]): Promise<number | null> {
    const links = [...edges.links()].flatMap(([number, owner]) => (owner ? [{ number, owner }] : []));
    const isFree = !edges.isGuarded();
    const refusals = new Map<number, string>();
    if (!isFree)
      for (const { number, owner } of links) {
        const refusal = edges.refusalOf(owner);
        if (refusal !== null) refusals.set(number, refusal);
      }
    const isAllowed = (number: number) => !refusals.has(number);
    await fill(isFree ? [] : links.map(({ number }) => number).filter(isAllowed), uplinks);
    reportBlocked(refusals);
    for (const { number } of links) {
      if (edges.isStarted(number)) continue;
      if (isAllowed(number)) await edges.startLink(number);
      else waiting.set(number, waiting.get(number) ?? edges.now());
    }
    for (const [number, since] of waiting) {
      if (!links.some(link => link.number === number) || edges.isStarted(number)) waiting.delete(number);
      else await giveUp(number, since, refusals.get(number)!);
    }
    return links.length ? (waiting.size ? EVERY.waiting : EVERY.running) : null;
  }

  return { check };
}
