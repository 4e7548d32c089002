// Decides how long one helper may send by one link, so that a user can sign in to a network while the kill switch blocks. It
// knows no bus, files or processes, which come in as `WindowEdges`.
import { createQueue } from '../pacing.ts';
import type { SignInEnd } from '../report.ts';
import { type Elements, quoted, SIGN_IN } from '../rules/rules.ts';
import { MAX_SIGN_IN_SECONDS } from '../rules/wanted.ts';
import { messageOf, N_, SwitchError } from '../wording.ts';
import { hasChanged, type Link } from './link.ts';

export interface SignInWindow {
  /**
   * Opens, extends or closes the window.
   * @param user `seconds` of 0 closes the window, which lasts at most `MAX_SIGN_IN_SECONDS` in total
   * @returns seconds until the window closes
   * @throws SwitchError NotEnabled, LimitsExceeded, Failed
   */
  signIn(user: { uid: number; seconds: number }): Promise<{ signIn: true; seconds: number }>;
  /** Closes the window, if it is open. Never throws. */
  close(why: SignInEnd): Promise<void>;
  /** True while a user signs in. */
  isOpen(): boolean;
}

interface Open {
  /** Unique for each window. */
  id: number;
  uid: number;
  helper: Helper;
  link: Link;
  servers: readonly string[];
  openedAt: number;
  until: number;
  /** The user's presence when the window opened. */
  presence: Presence | null;
  /** Consecutive questions about the presence that got no answer. */
  silences: number;
}

/** Silence after which the window closes: before the first heartbeat, and between two heartbeats. */
const SILENCE_SECONDS = { first: 20, next: 5 };
/** Consecutive unanswered questions that end a sign-in. */
const MAX_SILENCES = 2;
const NOTHING: Elements = { [SIGN_IN.helpers]: [], [SIGN_IN.servers]: [] };

/** @param changed called when the window was opened or closed */
export function createWindow(edges: WindowEdges, changed: () => void): SignInWindow {
  const inTurn = createQueue();
  let open: Open | null = null;
  let isBeating = false;
  let lastId = 0;

  /** @throws SwitchError */
  async function openFor(uid: number, seconds: number): Promise<Open> {
    lastId += 1;
    const id = lastId;
    try {
      const started = await start(edges, { uid, seconds, id }, eventsOf(id));
      edges.alarm(SILENCE_SECONDS.first, silent);
      open = started;
      await edges.fill(elementsOf(started));
      await started.helper.begin({ uid, servers: started.servers });
      return started;
    } catch (error) {
      await end('helper');
      if (error instanceof SwitchError) throw error;
      throw new SwitchError('Failed', `The login page could not be let through: ${messageOf(error)}`, error);
    }
  }

  const silent = () => void close('helper');

  /** Creates the event handlers of one helper; events of an earlier helper are ignored. */
  function eventsOf(id: number): HelperEvents {
    const closeOf = (why: SignInEnd) =>
      void inTurn(async () => {
        if (open?.id === id) await end(why);
      });
    return { beat: () => void beat(id), released: () => closeOf('closed'), ended: () => closeOf('helper') };
  }

  /** Repeats the elements in the kernel, unless the window must close. */
  async function beat(id: number): Promise<void> {
    if (isBeating) return;
    isBeating = true;
    try {
      await inTurn(async () => {
        if (open?.id !== id) return;
        const why = await reasonToClose(edges, open);
        if (why !== null) return end(why);
        open.link = { ...open.link, hardware: open.link.hardware ?? edges.link()?.hardware ?? null };
        await edges.fill(elementsOf(open));
        edges.alarm(SILENCE_SECONDS.next, silent);
      });
    } catch (error) {
      edges.report(`the sign-in could not be let through: ${messageOf(error)}`);
    } finally {
      isBeating = false;
    }
  }

  async function end(why: SignInEnd): Promise<void> {
    if (!open) return;
    const { uid, helper, openedAt } = open;
    open = null;
    edges.alarm(null, silent);
    // the kernel forgets the elements in any case
    await edges.fill(NOTHING).catch(() => {});
    await helper.stop(why);
    edges.report(`the sign-in of user ${uid} ended after ${Math.round(edges.now() - openedAt)} s: ${why}`);
    changed();
  }

  const close = (why: SignInEnd) => inTurn(() => end(why));

  async function signIn({
    uid,
    seconds,
  }: {
    uid: number;
    seconds: number;
  }): Promise<{ signIn: true; seconds: number }> {
    const closes = seconds === 0;
    if (open && open.uid !== uid && !(closes && uid === 0))
      throw new SwitchError('LimitsExceeded', N_('Another user is signing in to this network.'));
    if (closes) {
      await end('closed');
      return { signIn: true, seconds: 0 };
    }
    if (open) open.until = Math.min(edges.now() + seconds, open.openedAt + MAX_SIGN_IN_SECONDS);
    else {
      open = await openFor(uid, seconds);
      changed();
    }
    return { signIn: true, seconds: Math.max(0, Math.round(open.until - edges.now())) };
  }

  return {
    signIn: user => inTurn(() => signIn(user)),
    close,
    isOpen: () => open !== null,
  };
}

/** Starts the helper without letting it out. @throws SwitchError, Error */
async function start(
  edges: WindowEdges,
  { uid, seconds, id }: { uid: number; seconds: number; id: number },
  events: HelperEvents,
): Promise<Open> {
  const { link, servers } = await wayOut(edges);
  const helper = await edges.startHelper(events);
  const openedAt = edges.now();
  const presence = await edges.presence(uid);
  edges.report(`the sign-in of user ${uid} began on ${link.device}`);
  return { id, uid, helper, link, servers, openedAt, until: openedAt + seconds, presence, silences: 0 };
}

/** Returns the link that the helper may use, and its name servers. @throws SwitchError NotEnabled, Failed */
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

/** Returns the reason to close the window; null while it may stay open. */
async function reasonToClose(edges: WindowEdges, current: Open): Promise<SignInEnd | null> {
  const { uid, link, until, presence } = current;
  if (!edges.isBlocking()) return 'unblocked';
  if (edges.now() >= until) return 'time';
  if (edges.hasTunnel()) return 'tunnel';
  if (hasChanged(link, edges.link())) return 'network';
  if (presence === null || presence === 'gone') return null;
  const now = await edges.presence(uid);
  current.silences = now === null ? current.silences + 1 : 0;
  if (current.silences >= MAX_SILENCES) return 'logout';
  if (now === 'gone' || (now === 'elsewhere' && presence !== 'elsewhere')) return 'logout';
  return now === 'away' && presence === 'active' ? 'away' : null;
}

function elementsOf({ helper: { uid }, link, servers }: Open): Elements {
  const device = quoted(link.device);
  return {
    // on `lo`, the rules refuse packets that match the set
    [SIGN_IN.helpers]: [`${uid} . ${device}`, `${uid} . "lo"`],
    [SIGN_IN.servers]: servers.map(server => `${uid} . ${device} . ${server}`),
  };
}

export interface Helper {
  /** The user that systemd allocated for the helper. */
  uid: number;
  /** Gives the helper its work, once it is let out. @throws Error */
  begin(work: HelperWork): Promise<void>;
  /** Makes the helper tell the user's command why the sign-in ended, and stops it within half a second. Never rejects. */
  stop(why: SignInEnd): Promise<void>;
}

/** Task of a helper. */
export interface HelperWork {
  /** The only user served. */
  uid: number;
  servers: readonly string[];
}

export interface HelperEvents {
  /** Called while the helper and the user's command are alive. */
  beat(): void;
  /** Called when the user's command releases the helper. */
  released(): void;
  ended(): void;
}

/**
 * Presence of a user at the screen: `away` while it is locked or shows another user, `elsewhere` with sessions at no screen,
 * such as a session over SSH, and `gone` without a session.
 */
export type Presence = 'active' | 'away' | 'elsewhere' | 'gone';

interface WindowEdges {
  /** Replaces the elements of the sets. The kernel forgets them after some seconds. @throws Error */
  fill(elements: Elements): Promise<void>;
  /** Returns the link to the internet outside the tunnel; null if there is none. */
  link(): Link | null;
  /** True if only IPv6 leads to the internet, which the helper does not speak. */
  isIpv6Only(): boolean;
  /** Returns the IPv4 addresses of the name servers that the link's network named. */
  servers(link: Link): Promise<readonly string[]>;
  hasTunnel(): boolean;
  /** True if the kill switch is on, and not paused. */
  isBlocking(): boolean;
  /** Returns null if the presence is not known. */
  presence(uid: number): Promise<Presence | null>;
  /** Starts the helper. @throws Error */
  startHelper(events: HelperEvents): Promise<Helper>;
  /** Seconds of a clock that also counts while the machine sleeps. */
  now(): number;
  /** Calls `ring` after some seconds, in place of an earlier alarm; null sets no alarm. */
  alarm(seconds: number | null, ring: () => void): void;
  report(what: string): void;
}
