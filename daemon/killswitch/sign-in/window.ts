// The time in which a user signs in to a network while the kill switch blocks: one helper may leave by one link. It knows no bus, files
// or processes; they come in as `WindowEdges`.
import type { HistorySignIn, PassedHost, SignInEnd } from '../../api/killswitch.ts';
import { createQueue } from '../pacing.ts';
import { type Elements, quoted, SIGN_IN } from '../rules/rules.ts';
import { MAX_SIGN_IN_SECONDS } from '../rules/wanted.ts';
import { messageOf, N_, SwitchError } from '../wording.ts';
import { hasChanged, type Link } from './link.ts';
import { MAX_HOSTS, passedIn, type SignInReports } from './reports.ts';
import { UNREACHABLE, type Verdict, verdictIn } from './verdict.ts';

export interface SignInWindow {
  /**
   * Opens the window, extends it, or closes it.
   * @param seconds 0 closes it. At most `MAX_SIGN_IN_SECONDS` from the beginning, however often it is extended
   * @returns seconds until it closes
   * @throws SwitchError NotEnabled, LimitsExceeded, Failed
   */
  signIn(user: { uid: number; seconds: number }): Promise<{ signIn: true; seconds: number }>;
  /**
   * Tests the network for a login page: opens the window for a helper that only fetches fixed pages.
   * @returns `UNREACHABLE` also where the window closed before
   * @throws SwitchError as `signIn`, before anything was sent
   */
  detect(): Promise<Verdict>;
  /** Closes it, where one is open. Never throws. */
  close(why: SignInEnd): Promise<void>;
  /** Removes and returns what the ended sign-ins of a user let through. */
  takeReports(user: { uid: number }): Promise<HistorySignIn[]>;
  /** True while a user signs in. */
  isOpen(): boolean;
}

interface Open {
  /** Null for a test. */
  uid: number | null;
  helper: Helper;
  link: Link;
  servers: readonly string[];
  openedAt: number;
  until: number;
  /** At the beginning. */
  presence: Presence | null;
  /** Answers about it that did not come, in a row. */
  silences: number;
  verdict: Promise<Verdict>;
  found(verdict: Verdict): void;
  passed: Map<string, PassedHost>;
}

/** The helper gives each page ten seconds. */
const DETECTION_SECONDS = 20;
/** Silence after which the helper is given up: for the command to come, and between two heartbeats. */
const SILENCE_SECONDS = { first: 20, next: 5 };
/** Questions about the user's session without an answer, in a row, that end a sign-in. */
const MOST_SILENCES = 2;
const NOTHING: Elements = { [SIGN_IN.helpers]: [], [SIGN_IN.servers]: [] };

/** @param changed called when the window was opened or closed */
export function createWindow(edges: WindowEdges, changed: () => void): SignInWindow {
  const inTurn = createQueue();
  let open: Open | null = null;
  let isBeating = false;

  /** @throws SwitchError */
  async function openFor(uid: Open['uid'], seconds: number): Promise<Open> {
    try {
      const started = await start(edges, { uid, seconds }, { beat, closeOf });
      edges.alarm(SILENCE_SECONDS.first, silent);
      open = started;
      await edges.fill(elementsOf(started));
      await started.helper.begin({ uid, servers: started.servers });
      keep(started);
      return started;
    } catch (error) {
      await end('helper');
      if (error instanceof SwitchError) throw error;
      throw new SwitchError('Failed', `The login page could not be let through: ${messageOf(error)}`, error);
    }
  }

  const silent = () => void close('helper');

  function keep({ uid, passed }: Open): void {
    if (uid !== null) edges.reports.keep({ uid, hosts: [...passed.values()] });
  }

  /** Repeats the elements in the kernel, unless the window has to close. */
  async function beat(verdict: Open['verdict']): Promise<void> {
    if (isBeating) return;
    isBeating = true;
    try {
      await inTurn(async () => {
        if (open?.verdict !== verdict) return;
        const why = await reasonToClose(edges, open);
        if (why !== null) return end(why);
        open.link = { ...open.link, hardware: open.link.hardware ?? edges.link()?.hardware ?? null };
        await edges.fill(elementsOf(open));
        edges.alarm(SILENCE_SECONDS.next, silent);
        keep(open);
      });
    } catch (error) {
      edges.report(`the sign-in could not be let through: ${messageOf(error)}`);
    } finally {
      isBeating = false;
    }
  }

  async function end(why: SignInEnd): Promise<void> {
    if (!open) return;
    const { uid, helper, openedAt, found, passed } = open;
    open = null;
    edges.alarm(null, silent);
    found(UNREACHABLE);
    // the kernel forgets the elements in any case
    await edges.fill(NOTHING).catch(() => {});
    await helper.lastWords();
    // the command waits for the end of the helper, and asks for the report then
    if (uid !== null) edges.reports.end({ uid, hosts: [...passed.values()] }, why);
    helper.stop();
    edges.report(`${nameOf(uid)} ended after ${Math.round(edges.now() - openedAt)} s: ${why}`);
    if (uid !== null) changed();
  }

  const close = (why: SignInEnd) => inTurn(() => end(why));

  /** Ends the window of a helper; what an earlier helper still says is not for a later window. */
  const closeOf = (verdict: Open['verdict'], why: SignInEnd) =>
    inTurn(async () => {
      if (open?.verdict === verdict) await end(why);
    });

  async function signIn({
    uid,
    seconds,
  }: {
    uid: number;
    seconds: number;
  }): Promise<{ signIn: true; seconds: number }> {
    if (seconds === 0) {
      await end('closed');
      return { signIn: true, seconds: 0 };
    }
    if (open?.uid === null) await end('closed');
    if (open && open.uid !== uid)
      throw new SwitchError('LimitsExceeded', N_('Another user is signing in to this network.'));
    if (open) open.until = Math.min(edges.now() + seconds, open.openedAt + MAX_SIGN_IN_SECONDS);
    else {
      open = await openFor(uid, seconds);
      changed();
    }
    return { signIn: true, seconds: Math.max(0, Math.round(open.until - edges.now())) };
  }

  async function detect(): Promise<Verdict> {
    const { verdict } = await inTurn(() => {
      if (open) throw new SwitchError('LimitsExceeded', N_('Somebody is signing in to this network.'));
      return openFor(null, DETECTION_SECONDS);
    });
    try {
      return await verdict;
    } finally {
      await closeOf(verdict, 'closed');
    }
  }

  return {
    signIn: user => inTurn(() => signIn(user)),
    detect,
    close,
    takeReports: ({ uid }) => inTurn(async () => edges.reports.take(uid)),
    isOpen: () => typeof open?.uid === 'number',
  };
}

/** Effects that a helper has on its own window. */
interface Ways {
  beat(verdict: Open['verdict']): Promise<void>;
  closeOf(verdict: Open['verdict'], why: SignInEnd): Promise<void>;
}

/** Starts the helper, without letting it out. @throws SwitchError, Error */
async function start(
  edges: WindowEdges,
  { uid, seconds }: { uid: Open['uid']; seconds: number },
  { beat, closeOf }: Ways,
): Promise<Open> {
  const { link, servers } = await wayOut(edges);
  let found = (_verdict: Verdict) => {};
  const verdict = new Promise<Verdict>(resolve => {
    found = resolve;
  });
  const passed: Open['passed'] = new Map();
  const helper = await edges.startHelper({
    beat: () => void beat(verdict),
    reported(value) {
      const host = passedIn(value);
      if (uid === null) found(verdictIn(value) ?? UNREACHABLE);
      else if (host && (passed.has(host.host) || passed.size < MAX_HOSTS)) passed.set(host.host, host);
    },
    released: () => void closeOf(verdict, 'closed'),
    ended: () => void closeOf(verdict, 'helper'),
  });
  const openedAt = edges.now();
  const presence = uid === null ? null : await edges.presence(uid);
  edges.report(`${nameOf(uid)} began on ${link.device}`);
  return {
    uid,
    helper,
    link,
    servers,
    openedAt,
    until: openedAt + seconds,
    presence,
    silences: 0,
    verdict,
    found,
    passed,
  };
}

/** The link that the helper may leave by, and its name servers. @throws SwitchError NotEnabled, Failed */
async function wayOut(edges: WindowEdges): Promise<Pick<Open, 'link' | 'servers'>> {
  if (!edges.isBlocking())
    throw new SwitchError('NotEnabled', N_('The kill switch does not block, so the login page needs no window.'));
  if (edges.hasTunnel()) throw new SwitchError('Failed', N_('Disconnect WARP first. It blocks the login page too.'));
  if (edges.isIpv6Only())
    throw new SwitchError('Failed', N_('This network has IPv6 alone. Pause the kill switch to sign in to it.'));
  const link = edges.link();
  const servers = link ? await edges.servers(link) : [];
  if (!link || !servers.length)
    throw new SwitchError('Failed', N_('This machine is on no network, or the network named no name server.'));
  return { link, servers };
}

/** Why the window has to close; null while it may stay. */
async function reasonToClose(edges: WindowEdges, current: Open): Promise<SignInEnd | null> {
  const { uid, link, until, presence } = current;
  if (!edges.isBlocking()) return 'unblocked';
  if (edges.now() >= until) return 'time';
  if (edges.hasTunnel()) return 'tunnel';
  if (hasChanged(link, edges.link())) return 'network';
  if (uid === null || presence === null || presence === 'gone') return null;
  const now = await edges.presence(uid);
  current.silences = now === null ? current.silences + 1 : 0;
  if (current.silences >= MOST_SILENCES) return 'logout';
  if (now === 'gone' || (now === 'elsewhere' && presence !== 'elsewhere')) return 'logout';
  return now === 'away' && presence === 'active' ? 'away' : null;
}

/** Begins a line of the log. */
function nameOf(uid: Open['uid']): string {
  return uid === null ? 'the test for a login page' : `the sign-in of user ${uid}`;
}

function elementsOf({ helper: { uid }, link, servers }: Open): Elements {
  const device = quoted(link.device);
  return {
    // by `lo` the rules refuse what is in the set
    [SIGN_IN.helpers]: [`${uid} . ${device}`, `${uid} . "lo"`],
    [SIGN_IN.servers]: servers.map(server => `${uid} . ${device} . ${server}`),
  };
}

/** Seconds between two tests. */
const APART = 30;

export interface Detection {
  /**
   * Tests the network, or repeats what was found on it moments ago.
   * @throws SwitchError as `SignInWindow.detect`; LimitsExceeded on another network than moments ago
   */
  detect(): Promise<Verdict>;
}

export function createDetection(
  window: Pick<SignInWindow, 'detect'>,
  { link, now }: Pick<WindowEdges, 'link' | 'now'>,
): Detection {
  let last: { at: number; on: Link | null; verdict: Promise<Verdict> } | null = null;
  return {
    async detect() {
      const on = link();
      if (last && now() - last.at < APART) {
        if (last.on && !hasChanged(last.on, on)) return last.verdict;
        throw new SwitchError('LimitsExceeded', N_('A network was tested moments ago. Try again in half a minute.'));
      }
      const test = { at: now(), on, verdict: window.detect() };
      last = test;
      // nothing was sent
      test.verdict.catch(() => {
        if (last === test) last = null;
      });
      return test.verdict;
    },
  };
}

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

interface WindowEdges {
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
  /** Calls back after some seconds, in place of an earlier alarm. null: no alarm. */
  alarm(seconds: number | null, ring: () => void): void;
  reports: SignInReports;
  report(what: string): void;
}
