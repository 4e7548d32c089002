// Keeps the hosts and bytes of ended sign-ins until the daemon of the user takes them. Files hold them, so that they outlive the root service.
import type { HistorySignIn, PassedHost, SignInEnd } from '../../api/killswitch.ts';
import type { Files } from '../edges.ts';
import { messageOf } from '../effects.ts';
import { SIGN_INS_FILE } from '../report.ts';

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
