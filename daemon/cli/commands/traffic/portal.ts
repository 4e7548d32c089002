// Runs `culvert portal`, which opens a network's login page in a browser with a fresh profile, and then reconnects WARP.
import { setTimeout as delay } from 'node:timers/promises';
import { ApiError } from '../../../api/client.ts';
import type { Snapshot } from '../../../api/schema.ts';
import { assertOwn, makeDirectory } from '../../../core/files.ts';
import type { SignInEnd } from '../../../killswitch/report.ts';
import { MAX_SIGN_IN_SECONDS } from '../../../killswitch/rules/wanted.ts';
import { type Browser, openBrowser } from '../../../networks/portal/browser.ts';
import { findLogin, UNREACHABLE, type Verdict } from '../../../networks/portal/probe.ts';
import { openWindow, type SignInWindow } from '../../../networks/portal/sign-in-window.ts';
import { isKnownConnected } from '../../../view/states/summary.ts';
import { type Context, type Run, show } from '../../context.ts';
import { EXIT, usage } from '../../errors.ts';
import { untilProven } from '../connection/wait.ts';

/** Default time after which WARP reconnects at the latest, even if this command is killed. */
const MINUTES = 5;
const MAX_MINUTES = MAX_SIGN_IN_SECONDS / 60;
const BETWEEN_MS = 3_000;
/** Limit of the last test after the browser has ended; then the window closes, even if the network does not answer. */
const LAST_MS = 2_000;
/** Interval of the checks for the daemon; the window closes once the daemon is gone. */
const DAEMON_MS = 1_000;
const PROOF_SECONDS = 30;
/** Time after which WARP reconnects at the latest after a test without sign-in. */
const CHECK_SECONDS = 120;
/** A plain HTTP page, which the network can replace with its login page, and has no reason to let through before the login. */
const PLAIN_PAGE = 'http://example.com/';

/** Access to network and desktop. */
export interface World {
  /** Tests the network. @param connect connects through the window; default: directly */
  probe(connect?: SignInWindow['connect']): Promise<Verdict>;
  /** Opens a browser. @param port port of the window's proxy */
  browse(url: string, port: number | null): Browser | null;
  openWindow(seconds: number): Promise<SignInWindow>;
  /** Waits until a request comes through the tunnel. */
  prove(): Promise<string | null>;
  betweenMs: number;
  lastMs: number;
}

export const portal: Run = async (context, _, options) =>
  signIn(
    context,
    { onlyChecks: options.check === true, opens: options.open === true, seconds: secondsOf(options.minutes) },
    {
      probe: findLogin,
      browse(url, port) {
        assertOwn(context.paths.runtime);
        makeDirectory(context.paths.runtime);
        return openBrowser(url, context.paths.runtime, context.env, port);
      },
      openWindow,
      prove: () => untilProven(context, PROOF_SECONDS),
      betweenMs: BETWEEN_MS,
      lastMs: LAST_MS,
    },
  );

interface Request {
  /** True to open no page. */
  onlyChecks: boolean;
  /** True to open a page even if no login page is found. */
  opens: boolean;
  /** Time after which WARP reconnects. */
  seconds: number;
}

export async function signIn(context: Context, request: Request, world: World): Promise<number> {
  const snapshot = await context.client.call('GET /api/snapshot');
  if (isKnownConnected(snapshot.status)) {
    show(context, { network: 'open', signedIn: false }, () => 'WARP is connected: no sign-in needed here.');
    return EXIT.ok;
  }
  if (snapshot.killSwitch.active === true) return signInThroughWindow(context, snapshot, request, world);
  const before = await world.probe();
  if (!isToOpen(before, request)) return report(context, before);
  const isPaused = await pause(context, snapshot, { seconds: request.seconds, until: 'login' });
  try {
    return result(context, await untilThrough({ context, world, window: null, ...request }, before), null);
  } finally {
    if (isPaused) await resume(context);
  }
}

/** Signs in while the kill switch is on, through a helper of the root service: only the helper may bypass WARP. */
async function signInThroughWindow(
  context: Context,
  snapshot: Snapshot,
  request: Request,
  world: World,
): Promise<number> {
  const { onlyChecks } = request;
  const seconds = onlyChecks ? CHECK_SECONDS : request.seconds;
  // WARP's own firewall also blocks the pages
  const isPaused = await pause(context, snapshot, { seconds, until: onlyChecks ? 'test' : 'login' });
  let isThrough = false;
  try {
    const sender = onlyChecks ? 'this test' : 'the browser of the sign-in';
    context.say(`The kill switch stays on. Only ${sender} may send outside WARP, if an administrator allows it.`);
    const window = await world.openWindow(seconds);
    const watch = watchDaemon(context, window);
    let network: Verdict['network'];
    let ended: SignInEnd;
    try {
      const before = await world.probe(window.connect);
      if (!isToOpen(before, request)) return report(context, before);
      network = await untilThrough({ context, world, window, seconds }, before);
      isThrough = network === 'open';
    } finally {
      watch.stop();
      ended = await window.close();
    }
    return result(context, network, ended);
  } finally {
    if (isPaused) await resume(context);
    if (isPaused && isThrough) await prove(context, world);
  }
}

function isToOpen({ network }: Verdict, { onlyChecks, opens }: Request): boolean {
  return !onlyChecks && (opens || network === 'login');
}

/** Closes the window if the daemon is gone, because the daemon reconnects WARP. */
function watchDaemon({ client }: Context, window: SignInWindow): { stop(): void } {
  let isAsking = false;
  const timer = setInterval(() => {
    if (isAsking) return;
    isAsking = true;
    client.call('GET /api/snapshot').then(
      () => {
        isAsking = false;
      },
      () => void window.close(),
    );
  }, DAEMON_MS);
  return { stop: () => clearInterval(timer) };
}

/** Messages for sign-ins that ended without this command. */
const ENDS: Record<Exclude<SignInEnd, 'closed'>, string> = {
  time: 'The time for the sign-in is over.',
  network: 'The sign-in ended, because this machine is on another network now.',
  tunnel: 'The sign-in ended, because WARP connected.',
  unblocked: 'The sign-in ended, because the kill switch was turned off or paused.',
  away: 'The sign-in ended, because the screen was locked or another user is at it.',
  logout: 'The sign-in ended, because the user logged out.',
  sleep: 'The sign-in ended, because the machine went to sleep.',
  helper: 'The sign-in ended, because its helper did. See: journalctl -u culvert-killswitch-sign-in',
  service: 'The sign-in ended, because the root service did. See: journalctl -u culvert-killswitch',
};

/** Prints the outcome of a sign-in. @param network result of the last test */
function result(context: Context, network: Verdict['network'], ended: SignInEnd | null): number {
  const isThrough = network === 'open';
  show(context, { ok: isThrough, network, signedIn: isThrough, ended }, () => {
    if (isThrough) return 'You are signed in to this network.';
    if (ended !== null && ended !== 'closed') return ENDS[ended];
    return network === 'login' ? 'This network still asks for a login.' : RESULTS[network];
  });
  return isThrough ? EXIT.ok : EXIT.failure;
}

const RESULTS: Record<Verdict['network'], string> = {
  open: 'This network asks for no login.',
  login: 'This network asks for a login.',
  unreachable: 'No page could be reached. Check the network itself.',
};

function report(context: Context, { network, loginPage }: Verdict): number {
  show(context, { ok: network !== 'unreachable', network, loginPage, signedIn: false }, () =>
    loginPage === null ? RESULTS[network] : `${RESULTS[network]} ${loginPage}`,
  );
  return network === 'open' ? EXIT.ok : EXIT.failure;
}

/** Pauses WARP, which may block the page while it tries to connect. @returns true if WARP was paused */
async function pause(
  { client, say }: Context,
  { status, tunnelCli }: Snapshot,
  { seconds, until }: { seconds: number; until: 'login' | 'test' },
): Promise<boolean> {
  if (status.blocked !== null || status.state === 'disconnected' || !tunnelCli.available) return false;
  await client.call('POST /api/action', { body: { action: 'disconnect', forSeconds: seconds } });
  say(`WARP is paused, and comes back after the ${until}, or in ${seconds / 60} minutes.`);
  return true;
}

async function resume({ client, say }: Context): Promise<void> {
  try {
    await client.call('POST /api/changes/revert', { body: { subject: 'connection' } });
    say('WARP connects again. Wait for it with: culvert wait --proof');
  } catch (error) {
    // the pause has already ended
    if (!(error instanceof ApiError && error.problem.code === 'nothing-pending')) throw error;
  }
}

/** Reports whether a request came through the tunnel. */
async function prove(context: Context, world: World): Promise<void> {
  try {
    const proof = await world.prove();
    if (proof !== null) context.say(proof);
  } catch (error) {
    // the sign-in itself succeeded
    context.say(error instanceof Error ? error.message : String(error));
  }
}

interface Attempt {
  context: Context;
  world: World;
  /** The window for a sign-in while the kill switch is on. */
  window: SignInWindow | null;
  seconds: number;
}

/**
 * Opens the page, and waits until two tests in a row succeed, the browser or the window is closed, or time is up. On a
 * network that was already open, waits only for the user. @returns the last result
 */
async function untilThrough(
  { context, world, window, seconds }: Attempt,
  before: Verdict,
): Promise<Verdict['network']> {
  const url = before.loginPage ?? PLAIN_PAGE;
  const waitsForUser = before.network === 'open';
  const browser = world.browse(url, window?.port ?? null);
  if (!browser) context.say(openByHand(url, window));
  let isClosed = false;
  const ended = Promise.race([browser?.ended ?? never, window?.closed ?? never]).then(() => {
    isClosed = true;
  });
  const tooLate = window
    ? ended.then(() => delay(world.lastMs, UNREACHABLE, { ref: false }))
    : new Promise<Verdict>(() => {});
  const until = performance.now() + seconds * 1000;
  try {
    for (let passes = 0; ; ) {
      const isLast = isClosed || performance.now() > until || context.signal.aborted;
      const { network } = await Promise.race([world.probe(window?.connect), tooLate]);
      passes = network === 'open' ? passes + 1 : 0;
      if (waitsForUser ? isLast : passes >= 2 || (isLast && passes === 0)) return network;
      const pause = delay(world.betweenMs, undefined, { signal: context.signal }).catch(() => {});
      await (window ? Promise.race([pause, ended]) : pause);
    }
  } finally {
    await browser?.close();
  }
}

function secondsOf(minutes: string | boolean | undefined): number {
  if (minutes === undefined) return MINUTES * 60;
  if (
    typeof minutes === 'string' &&
    /^\d{1,2}$/.test(minutes) &&
    Number(minutes) >= 1 &&
    Number(minutes) <= MAX_MINUTES
  )
    return Number(minutes) * 60;
  throw usage(`--minutes takes a number from 1 to ${MAX_MINUTES}; not "${minutes}".`);
}

const never = new Promise<void>(() => {});

function openByHand(url: string, window: SignInWindow | null): string {
  return window
    ? `Open this page in a browser with the SOCKS5 proxy 127.0.0.1:${window.port}, which also looks names up: ${url}`
    : `Open this page in a browser: ${url}`;
}
