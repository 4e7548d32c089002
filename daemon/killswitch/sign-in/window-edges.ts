// Defines the surroundings of the window of a sign-in: its helper, the link, the user's session, the kernel and a clock.
import type { Elements } from '../rules/elements.ts';
import type { Link } from './link.ts';
import type { SignInReports } from './reports.ts';

export interface Helper {
  /** A user that systemd made up for it. */
  uid: number;
  /** Gives it its work, once it is let out. @throws Error */
  begin(work: HelperWork): Promise<void>;
  /** Hears its last totals, for half a second at most. */
  lastWords(): Promise<void>;
  stop(): void;
}

/** Task of a helper. */
export interface HelperWork {
  /** The only user served; null for a test of the network. */
  uid: number | null;
  servers: readonly string[];
}

export interface HelperEvents {
  /** It lives, and so does the command of the user. */
  beat(): void;
  /** The result of a test, or the total of a host. */
  reported(value: unknown): void;
  /** The command of the user let go of it. */
  released(): void;
  ended(): void;
}

/**
 * Presence of a user at the screen: `away` while it is locked or another user is at it, `elsewhere` with sessions at no screen, such as
 * one over SSH, and `gone` without a session.
 */
export type Presence = 'active' | 'away' | 'elsewhere' | 'gone';

export interface WindowEdges {
  /** Replaces the elements of the sets. The kernel forgets them after some seconds. @throws Error */
  fill(elements: Elements): Promise<void>;
  /** The link to the internet outside the tunnel; null without one. */
  link(): Link | null;
  /** The internet is reached over IPv6 alone, which the helper does not speak. */
  isIpv6Only(): boolean;
  /** IPv4 addresses of the name servers that the link's network named. */
  servers(link: Link): Promise<readonly string[]>;
  hasTunnel(): boolean;
  /** The kill switch is on, and not paused. */
  isBlocking(): boolean;
  /** Null if that is not known. */
  presence(uid: number): Promise<Presence | null>;
  /** Starts the helper. @throws Error */
  startHelper(events: HelperEvents): Promise<Helper>;
  /** Seconds of a clock that also counts while the machine sleeps. */
  now(): number;
  /** Calls back after some seconds; replaces the alarm before. null: no alarm. */
  alarm(seconds: number | null, ring: () => void): void;
  reports: SignInReports;
  report(what: string): void;
}
