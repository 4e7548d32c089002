// Keeps the hosts and bytes of ended sign-ins until the daemon of the user takes them. Files hold them, so that they outlive the root service.
import type { HistorySignIn, PassedHost, SignInEnd } from '../../api/killswitch.ts';
import type { Files } from '../keeper.ts';
import { SIGN_INS_FILE } from '../report.ts';
import { messageOf } from '../wording.ts';

/** The running totals of a sign-in, in the directory of the published state. */
const RUNNING = 'sign-in.json';
/** Reports that are kept; the oldest are dropped. */
const MAX_REPORTS = 16;

export type ReportFiles = Files<typeof RUNNING | typeof SIGN_INS_FILE>;

interface Running {
  uid: number;
  hosts: PassedHost[];
}
type Ended = HistorySignIn & { uid: number };

export interface SignInReports {
  /** Keeps the running totals of a sign-in. */
  keep(running: Running): void;
  /** Turns them into a report. */
  end(running: Running, ended: SignInEnd): void;
  /** Removes and returns the reports of a user. */
  take(uid: number): HistorySignIn[];
}

/** Never throws: a sign-in does not depend on its report. @param now ms since the epoch @param report called with the reason of a failure */
export function createReports(files: ReportFiles, now: () => number, report: (trouble: string) => void): SignInReports {
  function tolerate<T>(act: () => T, otherwise: T): T {
    try {
      return act();
    } catch (error) {
      report(`what a sign-in let through can't be kept: ${messageOf(error)}`);
      return otherwise;
    }
  }

  const ended = (): Ended[] => tolerate(() => JSON.parse(files.read(SIGN_INS_FILE) ?? '[]') as Ended[], []);

  const reports: SignInReports = {
    keep: running => tolerate(() => files.write(RUNNING, JSON.stringify(running)), undefined),
    end({ uid, hosts }, why) {
      const signIn = { uid, ended: why, endedAt: new Date(now()).toISOString(), hosts };
      tolerate(() => {
        files.write(SIGN_INS_FILE, JSON.stringify([...ended(), signIn].slice(-MAX_REPORTS)));
        files.remove(RUNNING);
      }, undefined);
    },
    take(uid) {
      const all = ended();
      const own = all.filter(each => each.uid === uid);
      const others = all.filter(each => each.uid !== uid);
      tolerate(() => {
        if (!others.length) files.remove(SIGN_INS_FILE);
        else if (own.length) files.write(SIGN_INS_FILE, JSON.stringify(others));
      }, undefined);
      return own.map(({ uid: _, ...signIn }) => signIn);
    },
  };
  // the service was killed during a sign-in
  const left = tolerate(() => files.read(RUNNING), null);
  const running = left === null ? null : tolerate(() => JSON.parse(left) as Running, null);
  if (running) reports.end(running, 'service');
  return reports;
}

/** Hosts of one sign-in that are named; the bytes of further ones are counted together. */
export const MAX_HOSTS = 64;
/** In the place of a name. */
const OTHERS = '*';

/** The running totals of the helper. */
export function createPassed() {
  const hosts = new Map<string, PassedHost>();
  const changed = new Set<PassedHost>();
  return {
    /** A connection to a host begins. @returns adds its bytes */
    begin(name: string): (way: 'sent' | 'received', bytes: number) => void {
      const host = hosts.has(name) || hosts.size < MAX_HOSTS - 1 ? name : OTHERS;
      const total = hosts.get(host) ?? { host, sent: 0, received: 0 };
      hosts.set(host, total);
      changed.add(total);
      return (way, bytes) => {
        total[way] += bytes;
        changed.add(total);
      };
    },
    /** Totals that changed since the last call. */
    news(): PassedHost[] {
      const news = [...changed];
      changed.clear();
      return news;
    },
  };
}

/** A total as the helper gave it, which is not trusted. @returns null for anything else */
export function passedIn(value: unknown): PassedHost | null {
  const { host, sent, received } = (value ?? {}) as { [K in keyof PassedHost]?: unknown };
  const isHost = typeof host === 'string' && /^[\w.:*-]{1,253}$/.test(host);
  return isHost && isCount(sent) && isCount(received) ? { host, sent, received } : null;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
