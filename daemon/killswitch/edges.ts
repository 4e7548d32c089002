// Defines what the kill switch works with (kernel, files, clock, bus). Tests replace each to fail at each step.
import type { Protection, Report } from './report.ts';
import type { RuleOptions } from './rules/rules.ts';
import type { Listing } from './rules/ruleset-diff.ts';

/** A table of the packet filter. */
export interface Kernel<Options = RuleOptions> {
  /** Enforcing program and version: `nftables 1.0.6`. */
  readonly backend: string | null;
  /** Replaces the table in one transaction and lists it. @throws Error with nft's message; nothing has changed then */
  replace(options: Options): Promise<Listing | null>;
  /** @throws Error with nft's message */
  remove(): Promise<void>;
  /** The present table, or null. @throws Error when the kernel can't be asked */
  list(): Promise<Listing | null>;
  /** Protection of a listed table from foreign changes. */
  protection(listing: Listing | null): Protection;
  /** Begins or ends to report foreign changes. */
  watch(on: boolean): void;
}

export interface Files<Name extends string = FileName> {
  /** @returns null if there is no such file. @throws Error when it can't be read */
  read(name: Name): string | null;
  /** Atomic and durable. @throws Error */
  write(name: Name, text: string): void;
  /** No file is fine. @throws Error */
  remove(name: Name): void;
}
/** `pause.json` is only read, as services up to 0.2.7 wrote it. */
export type FileName = 'rules.nft' | 'trial.json' | 'pause.json';

export interface Edges {
  kernel: Kernel;
  files: Files;
  clock: {
    bootId: string;
    /** Seconds since boot, suspend included. */
    uptime(): number;
    /** Milliseconds since the epoch. */
    now(): number;
  };
  /** Calls back after some seconds; replaces the alarm before. null: no alarm. */
  alarm(seconds: number | null, ring: () => void): void;
  /** Has systemd load the rules file after some seconds, even if this process dies. @throws Error */
  arm(seconds: number): Promise<void>;
  disarm(): Promise<void>;
  /** True while the boot guard is installed and not masked. */
  bootGuard(): boolean;
  /** A user signs in to a network: a helper may send outside the tunnel. */
  isSigningIn(): boolean;
  publish(report: Report): void;
  /** Rules to block with where the stored ones can't be read. */
  fallback: RuleOptions;
}
