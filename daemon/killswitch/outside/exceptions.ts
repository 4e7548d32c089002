// Lets programs outside the tunnel through the kill switch where an administrator allowed exactly them: a link is turned on once the process
// that it was made for has become such a program. Its packets are blocked again when that process ends, and while any other program shares
// its network.
import type { Elements } from '../rules/elements.ts';
import { EXCEPTIONS, quoted } from '../rules/rules.ts';
import { addressesOf } from './addresses.ts';

/** The process that a link was made for. */
export interface Owner {
  uid: number;
  pid: number;
  startTime: string;
}

export interface ExceptionEdges {
  /** The links that there are, by number; null: one that was not finished. */
  links(): ReadonlyMap<number, Owner | null>;
  /**
   * Words for the log that say why the link of a process is blocked. null: the process, and every other one in its network, runs a
   * program that an administrator allowed.
   */
  refusalOf(owner: Owner): string | null;
  /** The kill switch is on, paused or on trial. */
  isGuarded(): boolean;
  /** Its rules are in force. */
  isBlocking(): boolean;
  /** Replaces elements of the kill switch's table. @throws Error */
  fill(elements: Elements): Promise<void>;
  isStarted(number: number): boolean;
  /** @throws Error */
  startLink(number: number): Promise<void>;
  /** @throws Error */
  removeLink(number: number): Promise<void>;
  /** Seconds of a clock that only goes forward. */
  now(): number;
  report(trouble: string): void;
}

export interface Exceptions {
  /**
   * Brings links and the kill switch in step with the programs.
   * @param uplinks devices that lead outside the tunnel
   * @returns seconds until it has to be called again; null: there is no link. @throws Error
   */
  check(uplinks: readonly string[]): Promise<number | null>;
}

/** A program is waited for after its place was made. */
const WAIT_SECONDS = 10;
/** The kernel forgets an element after five seconds. */
const EVERY = { waiting: 0.02, running: 1 };

export function createExceptions(edges: ExceptionEdges): Exceptions {
  /** Links that wait for their program, each with the time when it was first seen. */
  const waiting = new Map<number, number>();
  /** Last report about each link that was let through before. */
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

  /** Reports links that were let through before, each once for a reason. */
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
