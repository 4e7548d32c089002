// The time in which a user signs in to a network while the kill switch blocks: one helper may leave by one link. It knows no bus, files
// or processes; they come in as `WindowEdges`.
import { messageOf } from '../effects.ts';
import { MAX_SIGN_IN_SECONDS } from '../rules/request.ts';
import { quoted, SIGN_IN } from '../rules/rules.ts';
import { createQueue } from '../switch.ts';
import { SwitchError } from '../switch-error.ts';
import { N_ } from '../wording.ts';
import { hasChanged, type Link } from './link.ts';

/** Directory and file where the helper listens for the user; systemd makes the directory. */
export const SIGN_IN_DIRECTORY = '/run/culvert-sign-in';
export const SIGN_IN_SOCKET = 'socket';

export interface Helper {
  /** A user that systemd made up for it. */
  uid: number;
  stop(): void;
}

export interface HelperEvents {
  /** It lives, and so does the command of the user. */
  beat(): void;
  ended(): void;
}

/** The elements of each set of `SIGN_IN`. */
export type Elements = Readonly<Record<keyof typeof SIGN_IN, readonly string[]>>;

export interface WindowEdges {
  /** Replaces the elements of the sets. The kernel forgets them after some seconds. @throws Error */
  fill(elements: Elements): Promise<void>;
  /** The link to the internet outside the tunnel; null without one. */
  link(): Link | null;
  /** IPv4 addresses of the name servers that the link's network named. */
  servers(link: Link): Promise<readonly string[]>;
  hasTunnel(): boolean;
  /** The kill switch is on, and not paused. */
  isBlocking(): boolean;
  /** False while another user is at the screen, or it is locked. Null where that is not known. */
  isPresent(uid: number): Promise<boolean | null>;
  /** Starts the helper, which serves this user only. @throws Error */
  startHelper(config: { uid: number; servers: readonly string[] }, events: HelperEvents): Promise<Helper>;
  /** Seconds of a clock that also counts while the machine sleeps. */
  now(): number;
  report(what: string): void;
}

export interface SignInWindow {
  /**
   * Opens the window, extends it, or closes it.
   * @param seconds 0 closes it. At most `MAX_SIGN_IN_SECONDS` from the beginning, however often it is extended
   * @returns seconds until it closes
   * @throws SwitchError NotEnabled, LimitsExceeded, Failed
   */
  signIn(user: { uid: number; seconds: number }): Promise<{ signIn: true; seconds: number }>;
  /** Closes it, where one is open. Never throws. @param why for the log */
  close(why: string): Promise<void>;
  isOpen(): boolean;
}

interface Open {
  uid: number;
  helper: Helper;
  link: Link;
  servers: readonly string[];
  openedAt: number;
  until: number;
  wasPresent: boolean;
}

const NOTHING: Elements = { helpers: [], servers: [] };

/** @param changed called when the window was opened or closed */
export function createWindow(edges: WindowEdges, changed: () => void): SignInWindow {
  const inTurn = createQueue();
  let open: Open | null = null;
  let isBeating = false;

  async function start(uid: number, seconds: number): Promise<Open> {
    if (!edges.isBlocking())
      throw new SwitchError('NotEnabled', N_('The kill switch does not block, so the login page needs no window.'));
    if (edges.hasTunnel()) throw new SwitchError('Failed', N_('Disconnect WARP first. It blocks the login page too.'));
    const link = edges.link();
    const servers = link ? await edges.servers(link) : [];
    if (!link || !servers.length)
      throw new SwitchError('Failed', N_('This machine is on no network, or the network named no name server.'));
    const helper = await edges.startHelper(
      { uid, servers },
      { beat: () => void beat(), ended: () => void close('it ended') },
    );
    const openedAt = edges.now();
    const wasPresent = (await edges.isPresent(uid)) === true;
    edges.report(`user ${uid} signs in to the network of ${link.device}`);
    return { uid, helper, link, servers, openedAt, until: openedAt + seconds, wasPresent };
  }

  /** Why the window has to close; null while it may stay. */
  async function reasonToClose({ uid, link, until, wasPresent }: Open): Promise<string | null> {
    if (!edges.isBlocking()) return 'the kill switch no longer blocks';
    if (edges.now() >= until) return 'the time is over';
    if (edges.hasTunnel()) return 'the tunnel is there';
    if (hasChanged(link, edges.link())) return 'the network changed';
    return wasPresent && (await edges.isPresent(uid)) === false
      ? 'the screen is locked, or another user is at it'
      : null;
  }

  /** Repeats the elements in the kernel, unless the window has to close. */
  async function beat(): Promise<void> {
    if (isBeating) return;
    isBeating = true;
    try {
      await inTurn(async () => {
        if (!open) return;
        const why = await reasonToClose(open);
        if (why !== null) return end(why);
        open.link = { ...open.link, hardware: open.link.hardware ?? edges.link()?.hardware ?? null };
        await edges.fill(elementsOf(open));
      });
    } catch (error) {
      edges.report(`the sign-in could not be let through: ${messageOf(error)}`);
    } finally {
      isBeating = false;
    }
  }

  async function end(why: string): Promise<void> {
    if (!open) return;
    const { uid, helper, openedAt } = open;
    open = null;
    // the kernel forgets the elements in any case
    await edges.fill(NOTHING).catch(() => {});
    helper.stop();
    edges.report(`the sign-in of user ${uid} has ended after ${Math.round(edges.now() - openedAt)} s: ${why}`);
    changed();
  }

  const close = (why: string) => inTurn(() => end(why));

  async function signIn({
    uid,
    seconds,
  }: {
    uid: number;
    seconds: number;
  }): Promise<{ signIn: true; seconds: number }> {
    if (seconds === 0) {
      await end('the user closed it');
      return { signIn: true, seconds: 0 };
    }
    if (open && open.uid !== uid)
      throw new SwitchError('LimitsExceeded', N_('Another user is signing in to this network.'));
    if (open) open.until = Math.min(edges.now() + seconds, open.openedAt + MAX_SIGN_IN_SECONDS);
    else {
      try {
        open = await start(uid, seconds);
        await edges.fill(elementsOf(open));
      } catch (error) {
        await end('it could not be let through');
        if (error instanceof SwitchError) throw error;
        throw new SwitchError('Failed', `The login page could not be let through: ${messageOf(error)}`, error);
      }
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

function elementsOf({ helper: { uid }, link, servers }: Open): Elements {
  const device = quoted(link.device);
  return {
    helpers: [`${uid} . ${device}`],
    servers: servers.map(server => `${uid} . ${device} . ${server}`),
  };
}

/** One transaction for `nft -i`. */
export function renderElements(elements: Elements, table: string): string {
  return (Object.keys(SIGN_IN) as (keyof Elements)[])
    .flatMap(key => {
      const set = `inet ${table} ${SIGN_IN[key]}`;
      return [
        `flush set ${set}`,
        ...(elements[key].length ? [`add element ${set} { ${elements[key].join(', ')} }`] : []),
      ];
    })
    .join('; ');
}
